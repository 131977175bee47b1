# SPDX-License-Identifier: Apache-2.0
"""Stability of a delayed feedback, for the arm as modelled and for arms that differ from it.

With the gain K of the model and Phi, Gamma of the arm, both at a point of a trajectory::

    x(k + 1) = Phi x(k) + Gamma u(k)        u(k) = -K x(k)

is stable if all eigenvalues of Phi - Gamma K are within the unit circle; with a delay, past
torques are further states (`robot_dynamics.control.feedback.sampled_loop`). Each point is checked
by itself. This is sufficient in practice for motions that are slow compared with the feedback, but
it is not a proof.

References
----------
J. C. Van Winssen and C. W. deSilva, "Accurate trajectory control of robotic manipulators",
Carnegie Mellon University, CMU-RI-TR-85-15, 1985, section 2.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.checks import check_fields, finite_array, not_negative, positive
from robot_dynamics.control.feedback.gains import dead_time
from robot_dynamics.control.feedback.loaded_model import FeedforwardModel
from robot_dynamics.control.feedback.sampled_loop import closed_loop, dominant_eigenvalues
from robot_dynamics.control.lq.rules import GainRule
from robot_dynamics.errors import ControlError, DimensionError, ParameterError, RobotDynamicsError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import parameters_from_com
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot

#: Phase over the dead time above which an unstable loop is too fast (it oscillates at about
#: pi/2) and below which it is too soft. rad.
SWINGS = 0.5
#: Largest delay, in samples.
MOST_SAMPLES_LATE = 50


@dataclass(frozen=True, eq=False)
class Verdict:
    """Stability of one arm, named by its difference from the model, with the gains of the model.

    `dominant`, shape (k,), is the largest eigenvalue at each point; nan if the arm has no linear
    model there.
    """

    arm: str
    dominant: NDArray[np.complex128]

    @property
    def radii(self) -> FloatArray:
        """Spectral radius at each point, shape (k,)."""
        return np.abs(self.dominant)

    @property
    def radius(self) -> float:
        """The largest spectral radius."""
        return float(self.radii.max())

    @property
    def is_stable(self) -> bool:
        """Whether all are below 1."""
        return self.radius < 1.0


@dataclass(frozen=True, eq=False)
class Certificate:
    """Stability of a feedback along a motion, for arms that differ from the model.

    The first verdict is that of the arm as modelled. `period` and `delay` (from a state to the
    effort that answers it) are in s, `q`, shape (k, n), are the positions at the points.
    """

    verdicts: tuple[Verdict, ...]
    period: float
    delay: float
    q: FloatArray

    @property
    def worst(self) -> Verdict:
        """The verdict with the largest spectral radius."""
        # NaN counts as the worst.
        return max(self.verdicts, key=lambda verdict: np.nan_to_num(verdict.radius, nan=np.inf))

    @property
    def is_stable(self) -> bool:
        """Whether every arm is stable at every point."""
        return all(verdict.is_stable for verdict in self.verdicts)

    def require(self) -> None:
        """Raise a ControlError with arm, radius and pose if the feedback is not stable."""
        if self.is_stable:
            return
        worst = self.worst
        point = int(np.argmax(worst.radii))
        pose = ', '.join(f'{x:.2f}' for x in self.q[point])
        # Phase over the dead time: a late feedback oscillates, a soft one does not.
        late = abs(np.angle(worst.dominant[point])) * dead_time(1.0, self.delay / self.period)
        wanted = ('lower bandwidth or disturbance_rate, raise time_constant, or lower delay or '
                  'period of the loop' if late > SWINGS else
                  'raise bandwidth or lower time_constant, or describe the rotors of light joints')
        errors = '' if worst is self.verdicts[0] else ', or allow for smaller model errors'
        raise ControlError(
            f'is unstable with a period of {1e3 * self.period:g} ms and a delay of '
            f'{1e3 * self.delay:g} ms: spectral radius {worst.radius:.4f} of the arm '
            f'"{worst.arm}" at ({pose})', subject='feedback',
            remedy=f'{wanted}{errors}')

    def __str__(self) -> str:
        radii = ', '.join(f'{verdict.arm} {verdict.radius:.4f}' for verdict in self.verdicts)
        return (f'largest spectral radius of {len(self.q)} points, {1e3 * self.delay:g} ms late '
                f'(below 1 is stable): {radii}')


def certify(rule: GainRule, robot: Robot, q: FloatArray, v: FloatArray, a: FloatArray, *,
            period: float, delay: float, errors: ModelErrors | None = None,
            gains: FloatArray | None = None) -> Certificate:
    """Check a feedback along a motion, at points q, v, a of shape (k, n).

    `errors` are the largest differences between arm and model; `gains` may be given if they exist
    already. period and delay in s.
    """
    period = positive('period', period, 's')
    delay = not_negative('delay', delay, 's')
    if delay > MOST_SAMPLES_LATE * period:
        raise ControlError(f'must be at most {MOST_SAMPLES_LATE} periods, got {delay:g} s',
                           subject='delay', remedy='give it in seconds, or lower the rate')
    q, v, a = (np.atleast_2d(finite_array(name, x))
               for name, x in (('q', q), ('v', v), ('a', a)))
    if not q.size or q.shape != v.shape or q.shape != a.shape or q.shape[1] != robot.n:
        raise DimensionError(f'must have shape (k, {robot.n}), k > 0, got {q.shape}, {v.shape} '
                             f'and {a.shape}', subject='q, v and a',
                             remedy='give one row per point')
    if gains is None:
        gains = rule.gains_at(FeedforwardModel(robot).linearise(q, v, a))
    arms: Mapping[str, Robot] = (errors or ModelErrors()).arms(robot)
    verdicts = tuple(
        Verdict(name, _dominant(FeedforwardModel(arm), (q, v, a), gains, period, delay))
        for name, arm in arms.items())
    return Certificate(verdicts, period, delay, q)


def _dominant(model: FeedforwardModel, motion: tuple[FloatArray, FloatArray, FloatArray],
              gains: FloatArray, period: float, delay: float) -> NDArray[np.complex128]:
    try:
        return dominant_eigenvalues(closed_loop(model.linearise(*motion), gains, period, delay))
    except (RobotDynamicsError, np.linalg.LinAlgError):
        # An arm without a linear model counts as unstable.
        return np.full(len(gains), np.nan, dtype=np.complex128)


@dataclass(frozen=True)
class ModelErrors:
    """Largest differences between an arm and its model.

    Parameters
    ----------
    masses : float
        Relative error of masses and inertias of all links, either sign. %.
    lengths : float
        Relative error of distances between joints, either sign. %.
    payload : float
        Unknown mass on every last link, as a share of the mass of all moving links: a point mass
        twice as far from the link frame as the centre of mass. %.
    """

    masses: float = 30.0
    lengths: float = 5.0
    payload: float = 2.0

    def __post_init__(self) -> None:
        check_fields(self, not_negative, masses='%', lengths='%', payload='%')
        for name in ('masses', 'lengths'):
            if getattr(self, name) >= 100.0:
                raise ParameterError(f'must be below 100 %, got {getattr(self, name):g} %',
                                     subject=name, remedy='give the error as a share of the model')

    def arms(self, robot: Robot) -> dict[str, Robot]:
        """Robots at the limits of the model errors, by their difference from the model."""
        arms = {'as modelled': robot}
        for sign in (1.0, -1.0):
            if self.masses > 0.0:
                arms[f'masses {sign * self.masses:+g} %'] = self._weighed(robot, sign)
            if self.lengths > 0.0:
                arms[f'lengths {sign * self.lengths:+g} %'] = self._stretched(robot, sign)
        if self.payload > 0.0:
            arms[f'payload {self.payload:+g} %'] = self._loaded(robot)
        if len(arms) > 2:
            arms['all more'] = self._loaded(self._stretched(self._weighed(robot, 1.0), 1.0))
            arms['all less'] = self._stretched(self._weighed(robot, -1.0), -1.0)
        return arms

    def _weighed(self, robot: Robot, sign: float) -> Robot:
        return with_scaled_masses(robot, 1.0 + 0.01 * sign * self.masses)

    def _stretched(self, robot: Robot, sign: float) -> Robot:
        factor = 1.0 + 0.01 * sign * self.lengths
        placements = np.array(robot.placements)
        placements[:, :3, 3] *= factor
        return replace(robot, placements=placements, link_offsets=factor * robot.link_offsets)

    def _loaded(self, robot: Robot) -> Robot:
        parameters = np.array(robot.inertial_parameters)
        tips = np.setdiff1d(np.arange(robot.n_bodies), robot.parents)
        mass = 0.01 * self.payload * float(parameters[:, 0].sum())
        if mass > 0.0:
            for tip in tips:
                own = parameters[tip]
                centre = own[1:4] / own[0] if own[0] > 0.0 else np.zeros(3)
                parameters[tip] = own + parameters_from_com(mass, 2.0 * centre, np.zeros((3, 3)))
        return robot.with_parameters(parameters)
