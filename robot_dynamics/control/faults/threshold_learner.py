# SPDX-License-Identifier: Apache-2.0
"""Learning of fault thresholds, friction and armature from a run without faults.

The largest unexplained parts of the motion without faults are friction and rotors that are not in
the description. They depend on the velocity, direction and acceleration of the joint, so that they
follow by least squares on the momentum residual. The remainder is noise.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.control.faults.fault_detector import SLOW, UnexplainedAcceleration, weigh
from robot_dynamics.control.faults.motion_predictor import MotionPredictor
from robot_dynamics.control.faults.residuals import MOVING, SINCE, MomentumObserver
from robot_dynamics.control.faults.tolerances import Tolerances
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray
from robot_dynamics.model.robot import Robot

#: Ratio of a limit to the largest share expected in an hour.
MARGIN = 1.25
#: Time for which a joint must move before its friction and armature are estimated. s.
FRICTION_TIME = 3.0
#: Time for which every joint must not be slow, because limits from an arm at rest would be far too
#: low in motion. s.
MOVED_TIME = 1.0
#: Rate of the low-pass of the residual and of those of friction and armature. Noise of velocities
#: is in both, and would bias the armature. 1/s.
SMOOTHING = 10.0
#: States between two estimates.
INTERVAL = 50
#: Number of states before the shares are used.
LEAST = 50
#: Statistics restart after FIRST states, and then after GROWTH times as many, because friction and
#: armature are unknown at first.
FIRST, GROWTH = 500, 4
#: Weight of the prior, the description: a joint that always moves at one speed cannot distinguish
#: viscous from Coulomb friction.
PRIOR_WEIGHT = 1e-3
#: Least spread of efforts, as a share of that of their noise.
FLOOR = 0.1
#: Time for which the limits are extrapolated. s.
HORIZON = 3600.0
#: Number of separate sections, and states of each; further ones are merged in pairs.
STRETCHES = 64
LENGTH = 500


class ThresholdLearner:
    """Learner of tolerances, friction and armature from a run without faults, of `samples` states.

    The predictor uses the friction and armature estimated so far. `margin` is the ratio of a limit
    to the largest share expected in an hour.
    """

    def __init__(self, robot: Robot, predictor: MotionPredictor, *, margin: float = MARGIN):
        self._margin = positive('margin', margin)
        if self._margin < 1.0:
            raise ParameterError(f'must be at least 1, got {margin:g}', subject='margin',
                                 remedy='a smaller margin would cause false alarms')
        n = robot.n
        self._names = robot.joint_names
        # An axis that is never faster always counts as slow.
        self._can_move = ~(robot.limits.velocity <= 2.0 * SLOW)
        self._predictor, self._period = predictor, predictor.filter.period
        self._least = -np.stack([robot.damping, robot.friction, robot.armature])
        # Normal equations of friction and armature of each joint.
        self._squares, self._products = np.zeros((n, 3, 3)), np.zeros((n, 3))
        self._moved, self._joints = np.zeros(n), np.zeros((3, n))
        # Low-passed residual, and those of one unit of friction and armature.
        self._smooth = np.zeros((4, n))
        self._since = np.zeros(n)
        self._unexplained = UnexplainedAcceleration(predictor)
        # The last begun, and the one before.
        self._tallies = [_Tally(self._unexplained, 0)]
        self._next = FIRST
        predictor.correct_joints(self._joints)
        self.samples = 0

    def update(self, observer: MomentumObserver, v: FloatArray, *, counts: bool) -> None:
        """Add a state: the observer after its update, and the measured velocity, shape (n,).

        `counts` is whether the predictor's last innovation is valid.
        """
        self._unexplained.update(counts=counts)
        self._since = np.where(np.abs(v) > MOVING, self._since + self._period, 0.0)
        self._fit(observer.residual, observer.joint_residual, self._since > SINCE)
        for tally in self._tallies:
            tally.take()
        self.samples += 1
        if self.samples == self._next:
            self._tallies = [self._tallies[-1], _Tally(self._unexplained, self.samples)]
            self._next *= GROWTH

    def begin_anew(self) -> None:
        """Note a gap: the next state does not continue the last one."""
        self._smooth[:] = 0.0
        self._unexplained.reset()

    @property
    def joints(self) -> FloatArray:
        """Viscous friction, Coulomb friction and armature beyond the description, shape (3, n).

        Zero for a joint that has hardly moved. N m s/rad or N s/m, N m or N, kg m^2 or kg.
        """
        return np.where(self._moved >= FRICTION_TIME, self._joints, 0.0)

    @property
    def tolerances(self) -> Tolerances:
        """Tolerances with that friction and armature.

        The largest share of N states grows with the root of log N; limits are extrapolated to an
        hour. Raises a ParameterError if the run is too short or a joint has not moved.
        """
        # The statistics of at least three quarters of the run.
        tally = next(tally for tally in reversed(self._tallies)
                     if GROWTH * tally.begin <= self.samples)
        limit, whole = tally.largest()
        if tally.count <= 2 * LEAST or not (tally.is_complete and np.all(limit > 0.0)
                                            and np.all(whole > 0.0)):
            raise ParameterError('has too little motion of every joint', subject='the run to '
                                 'learn from', remedy='move all joints, without faults, for a '
                                                      'minute or more')
        rested = self._can_move & (tally.moving * self._period < MOVED_TIME)
        if rested.any():
            raise ParameterError(
                'must move while thresholds are learnt', subject=', '.join(
                    name for name, rests in zip(self._names, rested, strict=True) if rests),
                remedy='move all joints: thresholds of an arm at rest would raise alarms as '
                       'soon as it moves')
        states = max(HORIZON / self._period, tally.count)
        factor = self._margin * np.sqrt(np.log(states) / np.log(tally.count - LEAST))
        return Tolerances(tally.noise, tally.effort, factor * limit, factor * whole)

    def _fit(self, residual: FloatArray, basis: FloatArray, moving: BoolArray) -> None:
        """Estimate friction and armature by least squares, from joints that move."""
        self._smooth += SMOOTHING * self._period * (np.vstack([residual, basis]) - self._smooth)
        seen, shown = self._smooth[0], (self._smooth[1:] * moving).T
        self._squares += shown[:, :, None] * shown[:, None, :]
        self._products += shown * seen[:, None]
        self._moved += self._period * moving
        if self.samples % INTERVAL == 0:
            regularised = self._squares * (1.0 + PRIOR_WEIGHT * np.eye(3)) + 1e-12 * np.eye(3)
            solved = np.linalg.solve(regularised, self._products[:, :, None])[:, :, 0].T
            self._joints = np.maximum(solved, self._least)
            self._predictor.correct_joints(self.joints)


class _Tally:
    """Spreads (noise and effort as in `Tolerances`) and largest shares, from a state on."""

    def __init__(self, unexplained: UnexplainedAcceleration, begin: int):
        self._unexplained, self.begin = unexplained, begin
        w, n = unexplained.acceleration.shape
        self.count = 0
        self._accelerations, self._efforts = np.zeros((w, n)), np.zeros((2, w, n))
        self._inertias, self._counts = np.zeros((2, n, n)), np.zeros((2, n))
        self.noise, self.effort = np.zeros((w, n)), np.zeros((2, w, n))
        self._extremes = LargestShares(w, n)
        self._shares, self._of_all = np.zeros((w, n)), np.zeros(w)
        self._work = np.zeros((3, n, n))
        self._weigh = weigh.load()

    @property
    def moving(self) -> FloatArray:
        """Number of states in which each joint was not slow, shape (n,)."""
        return self._counts[0]

    @property
    def is_complete(self) -> bool:
        """Whether every joint has a spread in every window."""
        return bool(np.all(self.noise > 0.0) and np.all(self.effort > 0.0))

    def largest(self) -> tuple[FloatArray, FloatArray]:
        """Largest shares by the present spreads: limits without margin."""
        return self._extremes.largest(self.noise, self.effort)

    def take(self) -> None:
        """Add the present accelerations."""
        unexplained = self._unexplained
        inertia, acceleration = unexplained.predictor.inertia, unexplained.acceleration
        if unexplained.count < unexplained.size:
            return
        effort = acceleration @ inertia
        self._accelerations += acceleration**2
        for kind in (0, 1):
            of_kind = unexplained.slow == kind
            self._efforts[kind] += of_kind * effort**2
            self._inertias[kind] += of_kind[:, None] * inertia**2
            self._counts[kind] += of_kind
        self.count += 1
        if self.count % INTERVAL == 0:
            self._spread()
        if self.count > LEAST:
            self._weigh(acceleration, inertia, self.noise, self.effort, unexplained.slow,
                        self._work, self._shares, self._of_all)
            self._extremes.take(self._shares, self._of_all, acceleration, inertia,
                                unexplained.slow, self.noise, self.effort)

    def _spread(self) -> None:
        """Estimate spreads: those of efforts without the noise of accelerations."""
        self.noise = np.sqrt(self._accelerations / self.count)
        for kind in (0, 1):
            counts = np.maximum(self._counts[kind], 1.0)
            from_noise = self.noise**2 @ (self._inertias[kind] / counts[:, None]).T
            rest = self._efforts[kind] / counts - from_noise
            self.effort[kind] = np.sqrt(np.maximum(rest, FLOOR**2 * from_noise))
        # For a joint that was never slow or never moved, the other statistics are used for both.
        for kind in (0, 1):
            seen = self._counts[kind] > 0.0
            self.effort[kind] = np.where(seen, self.effort[kind], self.effort[1 - kind])


class LargestShares:
    """The states with the largest shares, to be weighted by the final spreads.

    Shares are in standard deviations, which are estimated during the run, so that early shares are
    too large. Therefore the state with the largest share, by the estimates of that time, is stored
    for each section of the run, each window and joint, and for all joints together.
    """

    def __init__(self, windows: int, n: int):
        self._n, self._length, self._in_stretch = n, LENGTH, 0
        self._largest = np.zeros((windows, n + 1))
        # For each section: acceleration, inertia and slow joints of the state with the largest
        # share.
        self._kept: list[tuple[FloatArray, FloatArray, IntArray]] = []
        self._weigh = weigh.load()
        self._work = np.zeros((3, n, n))
        self._shares, self._whole = np.zeros((1, n)), np.zeros(1)

    def take(self, shares: FloatArray, whole: FloatArray, acceleration: FloatArray,
             inertia: FloatArray, slow: IntArray, noise: FloatArray,
             effort: FloatArray) -> None:
        """Add a state, with its shares by the present spreads; arguments as for `weigh`."""
        if self._in_stretch == 0:
            self._begin(noise, effort)
        now = np.abs(np.column_stack([shares, whole]))
        accelerations, inertias, slows = self._kept[-1]
        for w, j in np.argwhere(now > self._largest):
            accelerations[w, j], inertias[w, j], slows[w, j] = acceleration[w], inertia, slow
        np.fmax(self._largest, now, out=self._largest)
        self._in_stretch = (self._in_stretch + 1) % self._length

    def largest(self, noise: FloatArray, effort: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Largest shares by these spreads: of joints (w, n), of all together (w,).

        By the final spreads, a state that was kept for one joint may have the largest share of all
        together.
        """
        weighed = [self._weighed(kept, noise, effort) for kept in self._kept]
        if not weighed:
            return 0.0 * self._largest[:, :-1], 0.0 * self._largest[:, -1]
        shares, whole = np.max(weighed, axis=0)
        return shares[:, :-1].copy(), whole.max(axis=1)

    def _begin(self, noise: FloatArray, effort: FloatArray) -> None:
        """Begin a section; if there are too many, merge them in pairs."""
        if len(self._kept) == STRETCHES:
            self._kept = [self._merged(*pair, noise, effort)
                          for pair in zip(self._kept[::2], self._kept[1::2], strict=True)]
            self._length *= 2
        windows, n = self._largest.shape[0], self._n
        self._largest[:] = 0.0
        self._kept.append((np.zeros((windows, n + 1, n)),
                           np.broadcast_to(np.eye(n), (windows, n + 1, n, n)).copy(),
                           np.zeros((windows, n + 1, n), dtype=np.int64)))

    def _merged(self, first, second, noise: FloatArray, effort: FloatArray):
        """Larger ones of two sections, by the present spreads."""
        later = self._weighed(second, noise, effort)[0] > self._weighed(first, noise, effort)[0]
        return tuple(np.where(later.reshape(later.shape + (1,) * (one.ndim - 2)), two, one)
                     for one, two in zip(first, second, strict=True))

    def _weighed(self, kept, noise: FloatArray, effort: FloatArray) -> FloatArray:
        """Shares of the states kept of a section for each column, and those of all together.

        Shape (2, w, n + 1).
        """
        weighed, (accelerations, inertias, slows) = np.zeros((2, *self._largest.shape)), kept
        for w, j in np.ndindex(self._largest.shape):
            self._weigh(accelerations[w, j:j + 1], inertias[w, j], noise[w:w + 1],
                        np.ascontiguousarray(effort[:, w:w + 1]), slows[w, j], self._work,
                        self._shares, self._whole)
            whole = self._whole[0]
            weighed[:, w, j] = whole if j == self._n else abs(self._shares[0, j]), whole
        return weighed
