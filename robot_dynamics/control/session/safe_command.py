# SPDX-License-Identifier: Apache-2.0
r"""The safe command: what an arm is sent when its states can no longer be trusted.

It must not need the signal that failed. If position and velocity of a joint contradict each other,
the one that `MotionSupervisor` found wrong is replaced: a velocity by that of the
positions, a position by the integral of its velocity. Where both are wrong, or no state comes any
more, the speed is the last one known, decaying as the damping makes it. Otherwise the lower of
both velocities is damped.

Late states would turn damping into excitation: its rate k is reduced to
:math:`k (T/2 + t_{age}) \le` `SAFE_MARGIN`, which is stable at any age.

The kinetic energy judges the result. If it rises by more than `ENERGY_SHARE` of what it was and a
bound, damping is given up, then gravity: an arm without command falls, but takes no energy from
its drives. A rise between two states that exceeds the work which all efforts can do shows that a
velocity was wrong before, and the energy is compared with the new one from then on.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.control.session.supervisor import BOTH, POSITION, VELOCITY
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import BoolArray, FloatArray, IntArray
from robot_dynamics.model.robot import Robot

#: Largest rate of the damping times the dead time.
SAFE_MARGIN = 0.3
#: Allowed rise of the kinetic energy, as a share; and all joints at this share of their limits.
ENERGY_SHARE, ENERGY_SPEED = 0.2, 0.3
#: Effort that can do work on a joint, commanded and gravity, as a share of its limit; and the
#: limit of joints without one, N m or N.
POWER_SHARE, UNLIMITED = 2.0, 1e6
#: Share of these speeds below which an arm is at rest.
REST_SHARE = 0.02
#: States in a row with too much energy before the next level.
JUDGED_STATES = 5
#: Longest time for which an arm without states is braked, and time in which its effort falls to
#: zero after that where it is released. s.
LONGEST_BRAKING, RELEASE_TIME = 1.0, 1.0


class SafeKind(Enum):
    """Kind of the safe command; the value is its name in parameters."""

    #: Gravity compensation and damping.
    GRAVITY = 'gravity'
    #: Damping only: for an arm with a driver that compensates gravity.
    DAMPING = 'damping'
    #: No effort: only for an arm with brakes, or one that cannot fall.
    ZERO = 'zero'


class StatesLost(Enum):
    """What a braked arm without states is left with; the value is its name in parameters."""

    #: Gravity at the last pose, for drives that go on with the last command.
    HOLD = 'hold'
    #: No effort, within `RELEASE_TIME`: for an arm with brakes, or one that cannot fall.
    RELEASE = 'release'


class SafeLevel(Enum):
    """What of the safe command is left; the value is its name in messages."""

    FULL = 'gravity and damping'
    UNDAMPED = 'gravity without damping'
    ZERO = 'no effort'


class SafeMotion:
    """Pose and velocity that the safe command answers, and its level by the kinetic energy.

    Parameters
    ----------
    robot : Robot
        The arm.
    damping_rate : float
        Fastest rate at which the safe effort damps a motion. 1/s.
    period : float
        Nominal time between states. s.

    Attributes
    ----------
    q, v : ndarray, shape (n,)
        Pose for gravity, and velocity to damp, already reduced for late states. rad or m, rad/s or
        m/s.
    level : SafeLevel
        What is left of the safe command.
    share : float
        Share of the safe command of an arm that is released.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.control.session.supervisor import NONE, VELOCITY
    >>> motion = SafeMotion(Robot.from_urdf('planar_2r'), damping_rate=50.0, period=0.002)
    >>> q, v, slope = np.zeros(2), np.array([-1.0, 0.5]), np.array([1.0, 0.5])
    >>> motion.begin(q, v, slope, lies=np.array([VELOCITY, NONE]))
    >>> motion.v.tolist()
    [1.0, 0.5]
    """

    def __init__(self, robot: Robot, damping_rate: float, period: float):
        n = robot.n
        self._dynamics = Dynamics(robot)
        self._damping_rate, self._period = damping_rate, period
        self._speed = ENERGY_SPEED * np.nan_to_num(robot.limits.velocity, nan=1.0)
        self._power = POWER_SHARE * np.nan_to_num(robot.limits.effort, nan=UNLIMITED)
        self.q, self.v, self._known = np.zeros((3, n))
        self.level = SafeLevel.FULL
        #: Joints without effort.
        self.released: BoolArray = np.zeros(n, dtype=np.bool_)
        self.share = 1.0
        self._energy, self._energy_before, self._in_row = 0.0, 0.0, 0
        self._coasted, self._brakes = 0.0, False
        #: Share of the damping that the last command had.
        self._acting = np.ones(n)

    def begin(self, q: FloatArray, v: FloatArray, slope: FloatArray, lies: IntArray) -> None:
        """Begin at a state; arguments as for `update`.

        Where both measurements of a joint are wrong, slope is the best guess of its speed.
        """
        self.forget()
        self.q[:] = q
        self._known = np.where(lies == BOTH, slope, _trusted(v, slope, lies))
        self.v[:] = self._known
        self._in_row, self._brakes, self._coasted = 0, False, 0.0
        self._energy = self._kinetic_energy()

    def forget(self) -> None:
        """Have the whole safe command again."""
        self.level, self.share = SafeLevel.FULL, 1.0
        self.released[:] = False

    def update(self, q: FloatArray, v: FloatArray, slope: FloatArray, lies: IntArray, dt: float,
               age: float) -> None:
        """Take a state.

        Parameters
        ----------
        q, v, slope : ndarray, shape (n,)
            Position, reported velocity, and velocity of the positions.
        lies : ndarray of int, shape (n,)
            Which of them are wrong; see `MotionSupervisor`.
        dt, age : float
            Time since the state before, and its age. s.
        """
        self.share, self._coasted = 1.0, 0.0
        rate = self._stable_rate(age)
        decayed = self._decayed(rate * dt if self.level is SafeLevel.FULL else 0.0)
        self._brakes = True
        self._known = np.where(lies == BOTH, decayed, _trusted(v, slope, lies))
        self.q[:] = np.where(lies >= POSITION, self.q + self._known * dt, q)
        self._judge(dt)
        self._damp(rate)

    def coast(self, dt: float, age: float = 0.0) -> bool:
        """Continue without a state for some time, s; return whether the arm is at rest by then.

        The first time it counts from the last state, when nothing braked the arm yet. After
        `LONGEST_BRAKING` it is taken to be at rest. `age` is that of the last state, s.
        """
        rate = self._stable_rate(age)
        if self._brakes:
            self._known = self._decayed(rate * dt)
        self._brakes = True
        self._coasted += dt
        self.q += self._known * dt
        self._damp(rate)
        return self._coasted > LONGEST_BRAKING \
            or bool(np.all(np.abs(self._known) <= REST_SHARE * self._speed))

    def release(self, dt: float) -> bool:
        """Reduce the effort for some time, s; return whether it is zero by then."""
        self.share = max(0.0, self.share - dt / RELEASE_TIME)
        return self.share == 0.0

    def note_limits(self, wanted: FloatArray, sent: FloatArray) -> None:
        """Note that limits reduced the damping, shape (n,) both, N m or N: it brakes less."""
        reduced = np.abs(sent) < np.abs(wanted)
        self._acting[reduced] = sent[reduced] / wanted[reduced]

    def _stable_rate(self, age: float) -> float:
        """Rate of a damping that is stable with states of some age, s. 1/s."""
        return min(self._damping_rate, SAFE_MARGIN / (0.5 * self._period + max(age, 0.0)))

    def _damp(self, rate: float) -> None:
        """Have the safe command damp the known speeds at a rate, 1/s."""
        share = rate / self._damping_rate if self.level is SafeLevel.FULL else 0.0
        self.v[:] = share * self._known

    def _decayed(self, exponent: float) -> FloatArray:
        """Speeds after the last command, which may have been reduced by limits."""
        decayed = self._known * np.exp(-exponent * np.maximum(self._acting, 0.0))
        self._acting[:] = 1.0
        return decayed

    def _judge(self, dt: float) -> None:
        """Give up damping, then gravity, where the energy rises."""
        before, energy = self._energy_before, self._kinetic_energy()
        if energy - before > self._power @ np.abs(self._known) * dt:
            self._energy = energy
        bound = 0.5 * self._speed @ self._inertia @ self._speed
        if energy <= (1.0 + ENERGY_SHARE) * self._energy + bound:
            self._energy, self._in_row = min(self._energy, energy), 0
            return
        self._in_row += 1
        if self._in_row >= JUDGED_STATES and self.level is not SafeLevel.ZERO:
            self.level = SafeLevel.UNDAMPED if self.level is SafeLevel.FULL else SafeLevel.ZERO
            self._energy, self._in_row = energy, 0

    def _kinetic_energy(self) -> float:
        self._inertia = self._dynamics.mass_matrix(self.q)
        self._energy_before = float(0.5 * self._known @ self._inertia @ self._known)
        return self._energy_before


class SafeCommand:
    """Safe effort of an arm, from gravity and damping of its controller."""

    def __init__(self, controller: TrackingController, n: int, kind: SafeKind):
        self.kind = kind
        self._controller = controller
        self._still = np.zeros(n)
        self._effort = np.zeros(n)

    def effort(self, q: FloatArray, v: FloatArray, motion: SafeMotion | None = None) -> FloatArray:
        """Safe effort at a pose and velocity, shape (n,), N m or N; NaN or inf where it has none.

        A command that may act for ever, because no state will be answered, takes zero velocity:
        damping of an old one would become a push. `motion` has the level, FULL by default.
        """
        self._effort[:] = 0.0
        if self.kind is SafeKind.ZERO or (motion and motion.level is SafeLevel.ZERO):
            return self._effort
        self._effort += self._controller.safe_effort(q, v)
        if self.kind is SafeKind.DAMPING:
            self._effort -= self._controller.safe_effort(q, self._still)
        if motion:
            self._effort[motion.released] = 0.0
            self._effort *= motion.share
        return self._effort


def _trusted(v: FloatArray, slope: FloatArray, lies: IntArray) -> FloatArray:
    """Velocities without those that are wrong; of two that may be right the lower."""
    lower = np.where(np.sign(v) == np.sign(slope), np.sign(v) * np.minimum(np.abs(v),
                                                                         np.abs(slope)), 0.0)
    return np.where(lies == VELOCITY, slope, np.where(lies == POSITION, v, lower))
