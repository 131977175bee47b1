# SPDX-License-Identifier: Apache-2.0
r"""Estimate of an unknown payload from the residual of the momentum.

A payload with mass m and first moment h (mass times centre, in the frame of the last link) needs
the efforts Y (m, h), with Y four columns of the regressor of that link. The residual of a
`MomentumObserver` is the opposite of what the model lacks of them, by the same low-pass. Weighted
least squares with forgetting give m and h: an effort that four numbers explain at all joints, and
in all poses of the last half second, is a payload. A faulty joint or a push to the side leaves
more of the residual.

From then on the estimate improves by the joints that move, because friction at rest takes any
value. Its covariance P gives the standard deviation of the efforts that are still unknown, the
root of the diagonal of :math:`Y P Y^T`, which the thresholds of faults have to allow.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.faults.motion_predictor import MotionPredictor
from robot_dynamics.control.faults.residuals import MOVING, SINCE, MomentumObserver
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import check_body, parameters_from_com
from robot_dynamics.model.robot import Robot

#: Time between two samples, and time constant of forgetting. s.
INTERVAL, MEMORY = 0.02, 0.5
#: Samples before a payload is used.
LEAST = 5
#: Share of the squared residual that a payload may leave; and no more than a variance per joint.
LEFT = 0.25
#: Standard deviation of efforts missing in the model beside friction, as a share of the limits.
SPREAD = 0.02
#: Standard deviations of mass and first moment before any measurement. kg, kg m.
PRIOR = np.array([5.0, 1.0, 1.0, 1.0])
#: Largest distance of the centre from the origin of the last link. m.
FARTHEST = 0.4
#: Least number of joints: a payload explains nearly every effort of fewer.
LEAST_JOINTS = 6


class LoadEstimator:
    """Estimator of a payload of the last link, taken for a point mass.

    Parameters
    ----------
    observer : MomentumObserver
        Source of the residual; it gets the equations with the payload.
    predictor : MotionPredictor
        Predictor that uses the matrices of the observer; it starts over with another payload.

    Attributes
    ----------
    spread : ndarray, shape (n, 4)
        Efforts of one standard deviation of mass and first moment without any measurement, at the
        last sample. N m or N.
    doubt : ndarray, shape (n,)
        Standard deviation of the efforts of the payload in use, zero without one. N m or N.
    refines : bool
        Whether states improve a payload in use; those of faults and contacts must not.

    Examples
    --------
    >>> from robot_dynamics import Robot, with_payload
    >>> from robot_dynamics.control.faults.motion_predictor import MotionFilter
    >>> robot = Robot.from_urdf('arm7')
    >>> observer = MomentumObserver(robot, Dynamics(robot))
    >>> estimator = LoadEstimator(observer, MotionPredictor(robot, MotionFilter(0.002)))
    >>> laden = Dynamics(with_payload(robot, 2.0, [0.05, 0.0, 0.1]))
    >>> q, rest = np.full(7, 0.5), np.zeros(7)
    >>> for _ in range(200):
    ...     residual = observer.update(q, rest, laden.gravity_torque(q), 0.002)
    ...     estimator.update(q, rest, 0.002)
    >>> round(estimator.mass, 1)  # in a single pose
    1.8
    >>> bool(np.abs(residual).max() < 1.0)
    True
    """

    def __init__(self, observer: MomentumObserver, predictor: MotionPredictor):
        self._observer, self._predictor = observer, predictor
        self._dynamics = dynamics = observer.dynamics
        robot = dynamics.robot
        self._body = _carrier(robot) if robot.n >= LEAST_JOINTS else None
        limit = np.where(np.isfinite(robot.limits.effort), robot.limits.effort, np.inf)
        # Coulomb friction of a joint at rest takes any value.
        self._weight = (SPREAD * limit + robot.friction)**-2.0
        self._load, self._v = np.zeros(4), np.zeros(robot.n)
        self.spread, self.doubt = np.zeros((robot.n, 4)), np.zeros(robot.n)
        self.refines = True
        self.begin_anew()

    @property
    def mass(self) -> float:
        """Mass of the payload in use, beyond the description. kg."""
        return float(self._load[0])

    def begin_anew(self) -> None:
        """Forget the measurements, but not the payload in use."""
        self._squares, self._products = np.zeros((4, 4)), np.zeros(4)
        self._whole, self._elapsed, self._count = 0.0, 0.0, 0
        self._has_begun = False
        # The regressor by the low-pass of the residual; for how long each joint has moved.
        self._regressor, self._since = np.zeros((len(self._v), 4)), np.zeros(len(self._v))

    def update(self, q: FloatArray, v: FloatArray, dt: float) -> None:
        """Add a state after the update of the observer; change the payload where that is better.

        Parameters
        ----------
        q, v : ndarray, shape (n,)
            Measured state.
        dt : float
            Time since the last state, as for the observer. s.
        """
        v_before, self._v = self._v, v.copy()
        if self._body is None or not self._has_begun or not dt > 0.0:
            self._has_begun = True
            return
        columns = slice(10 * self._body, 10 * self._body + 4)
        gain = dt * self._observer.gain[:, None]
        now = self._dynamics.regressor(q, v, (v - v_before) / dt)[:, columns]
        self._regressor = (self._regressor + gain * now) / (1.0 + gain)
        self._since = np.where(np.abs(v) > MOVING, self._since + dt, 0.0)
        self._elapsed += dt
        if self._elapsed >= INTERVAL:
            self._sample(self._regressor, self._elapsed)
            self._elapsed = 0.0

    def _sample(self, Y: FloatArray, elapsed: float) -> None:
        """Add the residual and its regressor after some time, s."""
        self._count += 1
        share = max(elapsed / MEMORY, 1.0 / self._count)
        self.spread = Y * PRIOR
        effort = Y @ self._load - self._observer.residual
        weighted = Y.T * self._weight
        self._squares += share * (weighted @ Y - self._squares)
        self._products += share * (weighted @ effort - self._products)
        self._whole += share * (float(effort @ (self._weight * effort)) - self._whole)
        left = self._left(self._load)
        if self._load.any():
            self._refine(Y, effort, weighted * (self._since > SINCE))
        # Below 1 the present payload is as good as the model.
        if self._count < LEAST or left < 1.0:
            return
        regularised = self._squares + np.diag(PRIOR**-2.0)
        for load in np.array([np.zeros(4), np.linalg.solve(regularised, self._products)]):
            if self._left(load) <= min(LEFT * left, len(Y)) and self._carry(load, Y):
                self._all_squares = LEAST * self._squares
                self._all_products = LEAST * self._products
                return

    def _refine(self, Y: FloatArray, effort: FloatArray, weighted: FloatArray) -> None:
        """Improve the payload in use; change the model where it was off by its deviation."""
        if self.refines:
            self._all_squares += weighted @ Y
            self._all_products += weighted @ effort
        covariance = np.linalg.inv(self._all_squares + np.diag(PRIOR**-2.0))
        load = covariance @ self._all_products
        self.doubt = np.sqrt(np.sum(Y @ covariance * Y, axis=1))
        if np.any(np.abs(Y @ (load - self._load)) > self.doubt):
            self._carry(load, Y)

    def _carry(self, load: FloatArray, Y: FloatArray) -> bool:
        """Use a payload, if it is plausible; return whether it is."""
        robot = self._carrying(load)
        if robot is None:
            return False
        self._observer.change_model(Dynamics(robot), Y @ (self._load - load))
        self._predictor.reset()
        self._load = load
        if not load.any():
            self.doubt = np.zeros_like(self.doubt)
        return True

    def _left(self, load: FloatArray) -> float:
        """Mean squared residual with a payload, in variances."""
        return float(self._whole - 2.0 * load @ self._products + load @ self._squares @ load)

    def _carrying(self, load: FloatArray) -> Robot | None:
        """The arm with a payload, None for one that is not plausible."""
        mass, moment, robot = load[0], load[1:], self._dynamics.robot
        if not mass:
            return robot
        if float(np.linalg.norm(moment)) > FARTHEST * abs(mass):
            return None
        parameters = np.array(robot.inertial_parameters)
        parameters[self._body] += parameters_from_com(mass, moment / mass, np.zeros((3, 3)))
        is_consistent = check_body(parameters[self._body]).is_consistent
        return robot.with_parameters(parameters) if is_consistent else None


def _carrier(robot: Robot) -> int | None:
    """The last body between the base and every tip, None where the base has several arms."""
    def line(body: int) -> list[int]:
        return [] if body < 0 else [body, *line(int(robot.parents[body]))]

    first, *others = map(line, set(range(robot.n_bodies)) - set(robot.parents.tolist()))
    return next((body for body in first if all(body in other for other in others)), None)
