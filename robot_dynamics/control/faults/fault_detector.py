# SPDX-License-Identifier: Apache-2.0
"""Detection of actuator faults and contacts, and of the faulty joint."""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from robot_dynamics.control.checks import positive
from robot_dynamics.control.faults.fault_isolator import FaultIsolator
from robot_dynamics.control.faults.load_estimator import MEMORY, LoadEstimator
from robot_dynamics.control.faults.motion_predictor import MotionPredictor
from robot_dynamics.control.faults.tolerances import Tolerances
from robot_dynamics.dynamics.kernels.loading import kernel, routine
from robot_dynamics.dynamics.kernels.solve import SOLVED, factorise, substitute

#: Time from an alarm to the decision between fault and contact. s.
WINDOW = 0.01
#: Difference between the residuals of the second-best and the best joint for a decision, per state
#: in variances; otherwise the decision takes up to `PATIENCE` times as long.
LEAD = 3.0
PATIENCE = 3.0
#: Residual of a single faulty joint above which the event is a contact: in variances, and as a
#: share of the whole, because the model may have errors.
UNEXPLAINED = 1.33
SPREAD = 0.05
#: Time for which a payload may explain an event before it is a fault all the same: a
#: `LoadEstimator` needs twice its memory to accept one. s.
LOAD_TIME = 3.0 * MEMORY
#: Distance from a position limit within which a joint is at its stop. rad or m.
AT_STOP = 0.02
#: Predicted speed up to which a joint is slow. rad/s or m/s.
SLOW = 0.02


class Event(Enum):
    """Finding of a detector; the name in lower case is shown to users."""

    NOTHING = 0
    #: A limit has been exceeded; not yet decided.
    UNDECIDED = 1
    #: One joint explains the motion, and neither a payload nor a stop: an actuator fault.
    FAULT = 2
    #: No single joint explains the motion: a contact.
    CONTACT = 3
    #: One joint explains the motion, and is pushed back from its position limit.
    STOP = 4


class FaultDetector:
    """Detector of faults and contacts from the innovations of a `MotionPredictor`.

    An external effort at joint i accelerates all joints, by row i of the inverse of M, whereas
    noise of velocities is independent. The statistic of each joint is therefore the likelihood
    ratio of an effort at this joint alone, given noise and unknown efforts (`weigh_window`).
    Several windows are checked, and also all joints together, because a contact acts on several.

    After an alarm a `robot_dynamics.control.faults.fault_isolator.FaultIsolator` compares the
    joints. The decision follows when one joint is clearly best: an actuator fault if that joint
    explains the motion, otherwise a contact. (A contact that acts on one joint alone, such as a
    twist of the last link about its axis, cannot be distinguished from a fault of that joint.) A
    joint that is pushed back from its position limit is at its stop. Where a payload explains the
    motion as well, the event is undecided until the estimator has accepted the payload, which ends
    the event, or until `LOAD_TIME` has passed.

    Parameters
    ----------
    predictor : MotionPredictor
        Predictor of the motion.
    tolerances : Tolerances
        Limits of an arm without faults.
    load : LoadEstimator, optional
        Estimator of the payload; without it, every payload is known.
    window : float
        Time from alarm to decision (up to three times as long if no joint is clearly best), and
        time without an alarm after which an event is over. s.

    Attributes
    ----------
    tolerances : Tolerances
        Tolerances in use; may be replaced.
    excess : ndarray, shape (n + 1,)
        Largest ratio of a share to its limit, for each joint and for all together.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> from robot_dynamics.control.faults.motion_predictor import MotionFilter, MotionPredictor
    >>> from robot_dynamics.control.faults.tolerances import default_tolerances
    >>> robot = Robot.from_urdf('arm7')
    >>> dynamics, q, rest = Dynamics(robot), np.full(7, 0.3), np.zeros(7)
    >>> noise_filter = MotionFilter(0.002)
    >>> predictor = MotionPredictor(robot, noise_filter)
    >>> detector = FaultDetector(predictor, default_tolerances(robot, noise_filter))
    >>> matrices, gravity = dynamics.matrices(q, rest), dynamics.gravity_torque(q)
    >>> for k in range(100):
    ...     counts = predictor.update(matrices, q, rest, gravity, 0.002)
    ...     event = detector.update(0.002 * k, counts=counts)
    >>> event
    <Event.NOTHING: 0>
    """

    def __init__(self, predictor: MotionPredictor, tolerances: Tolerances,
                 load: LoadEstimator | None = None, *, window: float = WINDOW):
        n = predictor.velocity.size
        self._predictor = predictor
        self._unexplained = UnexplainedAcceleration(predictor)
        self._isolator, self._load = FaultIsolator(predictor, load), load
        self.tolerances = tolerances
        self._window = positive('window', window, 's')
        self._judge = judge.load()
        self._work = np.zeros((3, n, n))
        self._shares = np.zeros_like(tolerances.limit)
        self._whole = np.zeros_like(tolerances.whole)
        self.excess = np.zeros(n + 1)
        # Begin of the event; last time at which a limit was exceeded.
        self._begin = self._loud = -np.inf
        self._event, self._joint = Event.NOTHING, -1

    @property
    def event(self) -> Event:
        """Present event."""
        return self._event

    @property
    def joint(self) -> int:
        """Joint of the event, -1 without one; final with the decision."""
        return self._joint

    @property
    def present_tolerances(self) -> Tolerances:
        """Tolerances with the unknown part of a payload."""
        load = self._load
        return self.tolerances if load is None or not load.mass \
            else self.tolerances.widened(np.outer(self._predictor.filter.lasting, load.doubt))

    def update(self, now: float, *, counts: bool) -> Event:
        """Check the last innovation of the predictor; return the event.

        Parameters
        ----------
        now : float
            s.
        counts : bool
            Whether the innovation is valid, as returned by the predictor.
        """
        unexplained, tolerances = self._unexplained, self.present_tolerances
        unexplained.update(counts=counts)
        if not counts:
            # An event does not end without valid innovations.
            self._loud = now
            self._isolator.reset()
            return self._event
        self._isolator.remember()
        window = self._judge(unexplained.acceleration, self._predictor.inertia,
                             tolerances.noise, tolerances.effort, unexplained.slow,
                             tolerances.limit, tolerances.whole, self._work, self._shares,
                             self._whole, self.excess)
        if window >= 0:
            self._loud = now
        if self._event is Event.UNDECIDED:
            self._isolator.go_on(tolerances)
            self._decide(now)
        elif self._event is not Event.NOTHING:
            if now - self._loud > self._window:
                self._event, self._joint = Event.NOTHING, -1
        elif window >= 0:
            self._event, self._begin = Event.UNDECIDED, now
            self._isolator.begin(int(self._predictor.filter.lengths[window]), tolerances)
            self._joint = self._isolator.joint
        if self._load is not None:
            self._load.refines = self._event in (Event.NOTHING, Event.UNDECIDED)
        return self._event

    def reset(self) -> None:
        """Reset to the state without an event."""
        self._unexplained.reset()
        self._isolator.reset()
        self.excess[:] = 0.0
        self._event, self._joint = Event.NOTHING, -1

    def _decide(self, now: float) -> None:
        """Update the joint, and decide when the time has passed."""
        isolator, elapsed = self._isolator, now - self._begin
        self._joint = isolator.joint
        if elapsed < self._window or (isolator.lead < LEAD
                                      and elapsed < PATIENCE * self._window):
            return
        if isolator.left > UNEXPLAINED and isolator.share > SPREAD:
            self._event = Event.CONTACT
        elif self._is_at_stop():
            self._event = Event.STOP
        elif isolator.lead_of_load >= LEAD or elapsed >= LOAD_TIME:
            self._event = Event.FAULT
        elif now - self._loud > self._window:
            self._event, self._joint = Event.NOTHING, -1

    def _is_at_stop(self) -> bool:
        """Whether an effort pushes the joint back from its position limit."""
        joint, position = self._joint, self._predictor.position[self._joint]
        lower, upper = self._predictor.position_limits[:, joint]
        push = self._predictor.inertia[joint] @ self._unexplained.acceleration[0]
        return bool(position < lower + AT_STOP if push > 0.0 else position > upper - AT_STOP)


class UnexplainedAcceleration:
    """Acceleration that the model does not explain, shape (w, n), over windows of several lengths.

    A fault is most significant in a window of its own duration: a hard block in the shortest, a
    gradual fault in a long one, in which noise is averaged. `slow` is 1 for low predicted speed.
    """

    def __init__(self, predictor: MotionPredictor):
        self.predictor = predictor
        motion_filter, n = predictor.filter, predictor.velocity.size
        self._lengths, self._weights = motion_filter.lengths, motion_filter.weights
        self.size = int(self._lengths[-1])
        self._ring = np.zeros((self.size, 2, n))
        self._place = np.zeros(2, dtype=np.int64)
        self.acceleration = np.zeros((self._lengths.size, n))
        self.slow = np.zeros(n, dtype=np.int64)
        self._explain = explain.load()

    @property
    def count(self) -> int:
        """States since the last gap, at most those of the longest window."""
        return int(self._place[1])

    def update(self, *, counts: bool) -> None:
        """Add the last innovation; start over if it is not valid."""
        if not counts:
            self.reset()
            return
        self._explain(self.predictor.innovation, self._lengths, self._weights, self._ring,
                      self._place, self.acceleration)
        self.slow[:] = np.abs(self.predictor.velocity) < SLOW

    def reset(self) -> None:
        """Forget the past."""
        self._place[:] = 0
        self.acceleration[:] = 0.0


@kernel('void(f8[:, ::1], i8[::1], f8[:, :, ::1], f8[:, :, ::1], i8[::1], f8[:, ::1])')
def explain(innovation, lengths, weights, ring, place, acceleration):
    """Add an innovation (2, n), and write the accelerations (w, n) that explain the last ones.

    Each of the w windows has a length and weights (w, length, 2), the newest innovation first; its
    acceleration is 0 where innovations are too few. `ring` has the past innovations, `place` the
    index of the next one and the number stored.
    """
    size, n = ring.shape[0], ring.shape[2]
    at = place[0]
    for j in range(n):
        ring[at, 0, j], ring[at, 1, j] = innovation[0, j], innovation[1, j]
    count = min(place[1] + 1, size)
    for w in range(lengths.size):
        for j in range(n):
            acceleration[w, j] = 0.0
        if lengths[w] > count:
            continue
        for k in range(lengths[w]):
            row = at - k if at >= k else at - k + size
            for j in range(n):
                acceleration[w, j] += weights[w, k, 0] * ring[row, 0, j] \
                    + weights[w, k, 1] * ring[row, 1, j]
    place[0], place[1] = (at + 1) % size, count


@routine
def weigh_window(acceleration, inertia, noise, effort, slow, work, share):
    """Write the share of each joint in one window; return that of all together, squared.

    With f = M a and its covariance R the fault f_i of joint i alone has its maximum likelihood at
    f_i = (R^-1 f)_i / (R^-1)_ii, and twice the logarithm of the likelihood ratio is (R^-1 f)_i^2 /
    (R^-1)_ii. Its root, with the sign of f_i, is the share of the joint. That of all is f^T R^-1
    f; 0 if a value is not finite.
    """
    n = acceleration.size
    R, inverse, f = work[0], work[1], work[2, 0]
    for i in range(n):
        f[i] = 0.0
        for k in range(n):
            f[i] += inertia[i, k] * acceleration[k]
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += inertia[i, k] * inertia[j, k] * noise[k] * noise[k]
            R[i, j] = total
        R[i, i] += effort[slow[i], i] ** 2
        share[i] = 0.0
        for j in range(n):
            inverse[i, j] = 1.0 if i == j else 0.0
    if factorise(R) != SOLVED:
        return 0.0
    whole = 0.0
    for i in range(n):
        substitute(R, inverse[i])
        total = 0.0
        for j in range(n):
            total += inverse[i, j] * f[j]
        whole += f[i] * total
        share[i] = total / math.sqrt(inverse[i, i])
    if math.isfinite(whole):
        return max(whole, 0.0)
    for i in range(n):
        share[i] = 0.0
    return 0.0


@kernel('void(f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, :, ::1], i8[::1], f8[:, :, ::1], '
        'f8[:, ::1], f8[::1])')
def weigh(acceleration, inertia, noise, effort, slow, work, shares, whole):
    """Write the shares of the joints in each window (w, n), and those of all together (w,).

    In standard deviations, for accelerations (w, n) as `explain` writes them, M, noise (w, n) and
    effort (2, w, n) of `robot_dynamics.control.faults.tolerances.Tolerances`, and slow joints
    (n,).
    """
    for w in range(acceleration.shape[0]):
        whole[w] = math.sqrt(weigh_window(acceleration[w], inertia, noise[w], effort[:, w], slow,
                                          work, shares[w]))


@kernel('i8(f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, :, ::1], i8[::1], f8[:, ::1], f8[::1], '
        'f8[:, :, ::1], f8[:, ::1], f8[::1], f8[::1])')
def judge(acceleration, inertia, noise, effort, slow, limit, limit_whole, work, shares, whole,
          excess):
    """Write the largest ratio of share and limit, of each joint and of all, shape (n + 1,).

    Arguments as for `weigh`, with limits of shapes (w, n) and (w,). Returns the window with the
    largest excess, -1 where no limit is exceeded.
    """
    windows, n = acceleration.shape
    first, largest = -1, 1.0
    excess[:] = 0.0
    for w in range(windows):
        whole[w] = math.sqrt(weigh_window(acceleration[w], inertia, noise[w], effort[:, w], slow,
                                          work, shares[w]))
        of_window = whole[w] / limit_whole[w]
        excess[n] = max(excess[n], of_window)
        for j in range(n):
            share = abs(shares[w, j]) / limit[w, j]
            excess[j] = max(excess[j], share)
            of_window = max(of_window, share)
        if of_window > largest:
            first, largest = w, of_window
    return first
