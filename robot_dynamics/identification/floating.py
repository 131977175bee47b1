# SPDX-License-Identifier: Apache-2.0
"""Identification of robots with a floating base: humanoids, and arms on a drone.

The equations have six rows more than the robot has joints::

    Y(q, v, a) pi + friction = [0; tau] + J^T w

The first six are those of the base, on which no motor acts; w are the known external wrenches:
contacts, or the thrust of rotors. In free fall without them, only ratios of parameters of bodies
would follow from the base, and joint efforts give the scale. All columns and efforts are low-pass
filtered alike (J. Jovic, A. Escande, K. Ayusawa, E. Yoshida, A. Kheddar and G. Venture, "Humanoid
and human inertia parameter identification using hierarchical optimization", IEEE Transactions on
Robotics 32(3), 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import BaseParameters, base_parameters
from robot_dynamics.errors import DimensionError, ModelError, ParameterError, RecordingError
from robot_dynamics.identification.consistent import prior_of
from robot_dynamics.identification.friction import LOADED, check_terms, columns_of, options_of
from robot_dynamics.identification.least_squares import (
    CORRELATION,
    Equations,
    LinearFit,
    estimate,
    triangles,
)
from robot_dynamics.identification.model_selection import USUAL_PRIOR_WEIGHT, Fit, fit
from robot_dynamics.identification.observation_matrix import row_rate
from robot_dynamics.identification.signals import (
    SAMPLES,
    TRIM,
    WIDER,
    derivative,
    evenly,
    low_pass,
)
from robot_dynamics.model.arrays import BoolArray, FloatArray, real_array
from robot_dynamics.model.inertia import parameters_from_pseudo_inertia
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot

#: Number of velocities of the base.
BASE = 6
#: Relative residual below which a column of a recording is dependent.
TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class FloatingIdentification:
    """Result of `identify_floating`."""

    #: Robot with the identified bodies.
    robot: Robot
    #: Names and values of all parameters: ``link/m`` etc., then ``joint/term``.
    names: tuple[str, ...]
    values: FloatArray
    #: Base parameters of the recording, by least squares without a prior.
    base: BaseParameters
    linear: LinearFit
    #: RMS errors of all rows, first those of the base, shape (n,), N, N m.
    rmse: FloatArray
    #: RMS error of each half of the recording predicted from the other, shape (n,), N, N m.
    held_out: FloatArray

    @property
    def parameters(self) -> dict[str, float]:
        """All parameters by name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))


def identify_floating(robot: Robot, time: ArrayLike, q: ArrayLike, twist: ArrayLike,
                      effort: ArrayLike, *, cutoff: float, external: ArrayLike | None = None,
                      friction: str | Sequence[str] = 'coulomb',
                      strength: float = USUAL_PRIOR_WEIGHT) -> FloatingIdentification:
    """Identify bodies and joint friction of a robot with a floating base.

    Parameters
    ----------
    robot : Robot
        Its description, with ``floating_base=True``.
    time : array_like, shape (N,)
        Evenly spaced, s.
    q : array_like, shape (N, nq)
        Position and unit quaternion of the base, then positions of the joints. The position of
        the base has no effect.
    twist : array_like, shape (N, 6)
        Linear and angular velocity of the base in its own axes, m/s and rad/s.
    effort : array_like, shape (N, n - 6)
        Efforts of the joints, N m or N.
    cutoff : float
        Cut-off of the equations, Hz.
    external : array_like, shape (N, n), optional
        J^T w of the known external wrenches, first the six of the base: zero in free flight.
    friction : str or sequence of str
        Friction of the joints: a family or terms without load, see
        `robot_dynamics.identification.friction`.
    strength : float
        Prior weight of the description.

    Returns
    -------
    FloatingIdentification
        Consistent bodies, friction, and base parameters with covariance.

    See Also
    --------
    identify

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> from robot_dynamics.identification.floating import identify_floating
    >>> robot = Robot.from_urdf('planar_2r', floating_base=True)
    >>> t, w = np.arange(0.0, 10.0, 0.01)[:, None], np.array([1.0, 1.7])
    >>> q, v, a = (np.zeros((1000, size)) for size in (robot.nq, robot.n, robot.n))
    >>> q[:, 6] = 1.0
    >>> q[:, 7:], v[:, 6:], a[:, 6:] = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    >>> tau = Dynamics(robot).inverse_dynamics(q, v, a)
    >>> external = np.concatenate([tau[:, :6], np.zeros((1000, 2))], axis=1)
    >>> found = identify_floating(robot, t[:, 0], q, v[:, :6], tau[:, 6:], cutoff=5.0,
    ...                           external=external)
    >>> bool(np.max(found.rmse) < 0.05)
    True
    """
    joints = robot.n - BASE
    types = [JointType(kind) for kind in robot.joint_types]
    if types[0] != JointType.FLOATING or not all(one.has_one_coordinate for one in types[1:]):
        raise ModelError('must have a floating base, and joints of one coordinate',
                         subject=robot.name,
                         remedy='read it with Robot.from_urdf(..., floating_base=True)')
    terms = check_terms(friction)
    if any(term in LOADED for term in terms):
        raise ParameterError('must not depend on load', subject='friction',
                             remedy='leave out ' + ', '.join(LOADED))
    clock = real_array(time, 'time')
    arrays = {'q': real_array(q, 'q'), 'twist': real_array(twist, 'twist'),
              'effort': real_array(effort, 'effort'),
              'external': real_array(np.zeros((len(clock), robot.n)) if external is None
                                     else external, 'external')}
    for (name, array), width in zip(arrays.items(), (robot.nq, BASE, joints, robot.n),
                                    strict=True):
        if array.shape != (len(clock), width):
            raise DimensionError(f'must have shape ({len(clock)}, {width}), got {array.shape}',
                                 subject=name, remedy='give one row for each time')
    equations, rate = _equations(robot, clock, arrays, cutoff, terms)
    names = robot.parameter_names + tuple(
        f'{name}/{term}' for term in terms for name in robot.body_joint_names[1:])
    values, errors, weights = _fitted(equations, robot, strength)
    half = equations.order < np.median(equations.order)
    held = [_errors(_rows(equations, other), _fitted(_rows(equations, own), robot, strength)[0])
            for own, other in ((half, ~half), (~half, half))]
    R, owner = triangles(equations.W, equations.joint)
    base = base_parameters(np.linalg.qr(R * np.sqrt(weights)[owner, np.newaxis], mode='r'), names,
                           tolerance=TOLERANCE)
    linear = estimate('wls', Equations(equations.W[:, base.independent], equations.y,
                                       equations.joint, equations.order),
                      correlation=CORRELATION * rate)
    counts = np.bincount(equations.joint)
    return FloatingIdentification(
        robot.with_parameters(values[:10 * robot.n_bodies]), names, values, base, linear,
        np.sqrt(errors / counts), np.sqrt((held[0] + held[1]) / counts))


def _equations(robot: Robot, time: FloatArray, arrays: dict[str, FloatArray], cutoff: float,
               terms: Sequence[str]) -> tuple[Equations, float]:
    """Filtered equations of all rows, row by row, and their rate, Hz."""
    period = float(np.median(np.diff(time)))
    step = max(1, int(1.0 / (period * SAMPLES * cutoff)))
    rate = 1.0 / (period * step)
    q, twist, effort, external = (evenly(time, one, period) for one in arrays.values())
    # Quaternions of either sign are one orientation.
    signs = np.cumprod(np.where(np.sum(q[1:, 3:7] * q[:-1, 3:7], axis=1) < 0.0, -1.0, 1.0))
    q = q.copy()
    q[1:, 3:7] *= signs[:, np.newaxis]
    q = low_pass(q, 1.0 / period, WIDER * cutoff)
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    v = np.concatenate([low_pass(twist, 1.0 / period, WIDER * cutoff),
                        derivative(q[:, 7:], 1.0 / period)], axis=1)
    a = derivative(v, 1.0 / period)[::step].copy()
    tau = external + np.concatenate([np.zeros((len(q), BASE)), effort], axis=1)
    if step > 1:
        tau = low_pass(tau, 1.0 / period, 0.4 * rate)
    q, v, tau = q[::step].copy(), v[::step].copy(), tau[::step]
    trim = int(np.ceil(TRIM * rate))
    kept = np.arange(trim, len(q) - trim, round(rate / row_rate(rate, cutoff)))
    if len(kept) < BASE:
        raise RecordingError(f'is too short: {time[-1] - time[0]:.3g} s', subject='recording',
                             remedy='record some more seconds, and give times in s')
    Y = Dynamics(robot).regressor(q, v, a)
    joints = robot.n - BASE
    columns = np.zeros((len(q), robot.n, len(terms) * joints))
    for k, term in enumerate(terms):
        for j in range(joints):
            speed = float(np.sqrt(np.mean(v[:, BASE + j] ** 2)))
            # The width of a tenth of the usual speed, or the middle length.
            options = options_of(term, speed)
            columns[:, BASE + j, k * joints + j] = columns_of(
                term, (options[len(options) // 2],), q[:, 7 + j], v[:, BASE + j],
                a[:, BASE + j])[:, 0]
    rows = np.concatenate([Y, columns, tau[..., np.newaxis]], axis=-1)
    rows = low_pass(rows, rate, cutoff)[kept].transpose(1, 0, 2)
    flat = rows.reshape(-1, rows.shape[-1])
    return Equations(flat[:, :-1], flat[:, -1], np.repeat(np.arange(robot.n), len(kept)),
                     np.tile(np.arange(len(kept)), robot.n)), row_rate(rate, cutoff)


def _rows(equations: Equations, mask: BoolArray) -> Equations:
    return Equations(equations.W[mask], equations.y[mask], equations.joint[mask],
                     equations.order[mask])


def _fitted(equations: Equations, robot: Robot, strength: float
            ) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Parameters of consistent bodies, squared errors and inverse variances of the rows."""
    columns = np.column_stack([equations.W, equations.y])
    products = np.stack([columns[equations.joint == j].T @ columns[equations.joint == j]
                         for j in range(robot.n)])
    counts = np.bincount(equations.joint).astype(float)
    prior = prior_of(robot.inertial_parameters)
    # All rows begin with one weight: those of the base may have zero efforts.
    variance = np.sum(products[:, -1, -1]) / np.sum(counts)
    described = np.zeros(equations.W.shape[1])
    described[:10 * robot.n_bodies] = parameters_from_pseudo_inertia(prior).ravel()
    start = Fit(described, np.full(robot.n, 100.0 / variance), np.zeros(robot.n))
    found = fit(products, prior, strength, counts, start)
    return found.x, _errors(equations, found.x), found.weights


def _errors(equations: Equations, x: FloatArray) -> FloatArray:
    """Sum of squared errors of each row, shape (n,)."""
    return np.bincount(equations.joint, (equations.y - equations.W @ x) ** 2).astype(np.float64)
