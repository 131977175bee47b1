# SPDX-License-Identifier: Apache-2.0
"""``Drive``: the electronics of an arm, between effort commands and the plant.

As on a real arm, the brakes are closed until the first command. When commands stop, the last one
is held for a short time. Then gravity compensation and damping hold the arm until commands arrive
regularly again.

``Pace`` is the clock of a simulated arm. On a busy machine commands to a real arm would be late.
Simulated time can wait for them, so that the control loop does not depend on the load of the
machine.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.errors import SimulationError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.simulation.elastic_plant import ElasticPlant
from robot_dynamics.simulation.plant import Plant

#: Rate at which an arm without commands is braked, 1/s: mostly within 0.2 s.
CATCH_RATE = 10.0

#: Update period of the catching effort. s.
CATCH_PERIOD = 0.002

#: Largest share of the damping limit of a sampled loop, 2 / ((B^-1)_ii T).
_LARGEST_SHARE = 0.25

#: Function from q and v, shape (n,) each, to the effort that catches the arm.
CatchingEffort = Callable[[FloatArray, FloatArray], FloatArray]


class DriveState(Enum):
    """Action on the arm: brakes, commands, or the catching effort."""

    BRAKED = 'braked'
    COMMANDED = 'commanded'
    CAUGHT = 'caught'


class Drive:
    """Runs a plant in wall time, with commands that may be late, invalid or missing.

    Call `advance` with the current time before every use: before `command`, so that a command acts
    from its arrival on, and before a measurement.

    Parameters
    ----------
    plant : Plant or ElasticPlant
        The arm.
    catching_effort : callable
        The effort that catches the arm, such as `GravityAndDamping`.
    hold_time : float
        Time for which the last command acts without another one. s.
    release_time : float
        Time for which commands must arrive without a gap of `hold_time` before a caught arm
        follows them again. s.
    catch_up : float
        Longest time simulated at once; the remainder of a longer stall is skipped. s.

    Examples
    --------
    >>> from robot_dynamics import Dynamics, Robot
    >>> from robot_dynamics.model.shipped import resolve_robot
    >>> from robot_dynamics.simulation import Drive, GravityAndDamping, Plant
    >>> robot = Robot.from_urdf(resolve_robot('planar_2r'))
    >>> drive = Drive(Plant(robot), GravityAndDamping(Dynamics(robot)))
    >>> drive.command([0.0, 0.0])
    True
    >>> drive.state.value
    'commanded'
    >>> drive.advance(0.5)
    >>> drive.state.value
    'caught'
    """

    def __init__(self, plant: Plant | ElasticPlant, catching_effort: CatchingEffort, *,
                 hold_time: float = 0.1, release_time: float = 0.5, catch_up: float = 1.0):
        if not hold_time > 0.0 or not catch_up > hold_time or not release_time >= 0.0:
            raise SimulationError(
                'must have 0 < hold_time < catch_up and release_time >= 0, got hold_time '
                f'{hold_time}, release_time {release_time}, catch_up {catch_up}',
                subject='drive', remedy='give times in seconds')
        self._plant = plant
        self._catching_effort = catching_effort
        self._hold_time = hold_time
        self._release_time = release_time
        self._catch_up = catch_up
        self._time = 0.0
        self._last_command = -np.inf
        self._steady_since = np.inf
        self.state = DriveState.BRAKED
        #: Number of commands accepted, and of those rejected for each reason.
        self.accepted = 0
        self.refused: dict[str, int] = {}
        #: Number of times that the arm was caught, and time skipped in long stalls (s).
        self.catches = 0
        self.skipped = 0.0

    @property
    def time(self) -> float:
        """Time up to which the arm has been simulated. s."""
        return self._time

    @property
    def effort(self) -> FloatArray:
        """Effort of the drives, shape (n,): zero while the brakes hold. N m or N."""
        return self._plant.effort

    def advance(self, now: float) -> None:
        """Bring the arm to the present.

        Parameters
        ----------
        now : float
            Present time since the start, s; earlier times are ignored.
        """
        behind = now - self._time
        if behind > self._catch_up:
            # By then the arm is at rest, caught or braked.
            self._simulate_until(self._time + self._catch_up)
            self._time += behind - self._catch_up
            self.skipped += behind - self._catch_up
        self._simulate_until(now)

    def command(self, tau: ArrayLike) -> bool:
        """Process a command, joint efforts, N m or N, received at the time of the last `advance`.

        Returns whether it was accepted; it must be finite and have n values.
        """
        tau = np.asarray(tau, dtype=np.float64)
        if tau.shape != (self._plant.robot.n,):
            return self._refuse('wrong length')
        if not np.all(np.isfinite(tau)):
            return self._refuse('not finite')
        if self._time - self._last_command > self._hold_time:
            self._steady_since = self._time
        self._last_command = self._time
        self.accepted += 1
        if self.state is DriveState.CAUGHT \
                and self._time - self._steady_since < self._release_time:
            return True
        self.state = DriveState.COMMANDED
        self._plant.set_effort(tau)
        return True

    def _refuse(self, reason: str) -> bool:
        self.refused[reason] = self.refused.get(reason, 0) + 1
        return False

    def _simulate_until(self, end: float) -> None:
        """Simulate up to a time, catching the arm when the last command grows too old."""
        if self.state is DriveState.COMMANDED:
            deadline = self._last_command + self._hold_time
            self._step_until(min(end, deadline))
            if end > deadline:
                self.state = DriveState.CAUGHT
                self.catches += 1
        if self.state is DriveState.CAUGHT:
            while end - self._time >= self._plant.timestep:
                self._plant.set_effort(self._catching_effort(self._plant.q, self._plant.v))
                self._step_until(min(end, self._time + max(CATCH_PERIOD, self._plant.timestep)))
        elif self.state is DriveState.BRAKED:
            # Brakes lock the joints; nothing moves.
            steps = self._whole_steps(end)
            self._time += steps * self._plant.timestep

    def _step_until(self, end: float) -> None:
        steps = self._whole_steps(end)
        self._plant.advance(steps=steps)
        self._time += steps * self._plant.timestep

    def _whole_steps(self, end: float) -> int:
        """Number of whole steps that fit, with a tolerance of 10^-6 steps for rounding."""
        return max(0, int((end - self._time) / self._plant.timestep + 1e-6))


class GravityAndDamping:
    """The effort that catches an arm, ``tau = g(q) - rate M(q) v``.

    Parameters
    ----------
    dynamics : Dynamics
        The true equations of the arm.
    rate : float
        Decay rate of the speed. 1/s.

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> from robot_dynamics.model.shipped import resolve_robot
    >>> from robot_dynamics.simulation import GravityAndDamping
    >>> dynamics = Dynamics(Robot.from_urdf(resolve_robot('planar_2r')))
    >>> q, v = np.array([0.3, 0.2]), np.zeros(2)
    >>> bool(np.allclose(GravityAndDamping(dynamics)(q, v), dynamics.gravity_torque(q)))
    True
    """

    def __init__(self, dynamics: Dynamics, rate: float = CATCH_RATE):
        self._dynamics = dynamics
        self._rate = rate

    def __call__(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Effort at a state, shape (n,). N m or N."""
        return self._dynamics.gravity_torque(q) - self._rate * self._dynamics.mass_matrix(q) @ v


class MotorsGravityAndDamping:
    """The effort of motors that catches an arm with elastic joints, ``tau = g(q) - D theta'``.

    A drive measures its motor, not the link behind the spring: damping by the speed of the link
    would excite the spring. D damps the arm at a rate in 1/s, as `GravityAndDamping` does, limited
    by its update period.
    """

    def __init__(self, plant: ElasticPlant, rate: float = CATCH_RATE):
        self._plant = plant
        self._dynamics = ElasticDynamics(plant.elastic)
        self._rate = rate

    def __call__(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Effort at positions of the links, shape (n,). N m or N."""
        plant, n = self._plant, self._dynamics.n
        B = self._dynamics.inertia_matrix(np.concatenate([q, plant.motor_q]))
        alone = 1.0 / np.diagonal(np.linalg.inv(B))[n:]
        damping = np.minimum(self._rate * (np.diagonal(B)[:n] + np.diagonal(B)[n:]),
                             _LARGEST_SHARE * 2.0 * alone / CATCH_PERIOD)
        return self._dynamics.links.gravity_torque(q) - damping * plant.motor_v


class Pace:
    """Time of the arm: wall time minus the time for which it waited for its controller.

    While commands arrive, the time advances by one period per tick. After each published state it
    waits for the corresponding command, for at most `patience`, s; 0 means no wait. It does not
    wait before the first command, nor after a missed deadline until the next command. States are
    published at ticks, one per period, s.
    """

    def __init__(self, period: float, patience: float):
        if not period > 0.0 or not patience >= 0.0:
            raise SimulationError('must have period > 0 and patience >= 0, got period '
                                  f'{period}, patience {patience}', subject='pace',
                                  remedy='give times in seconds')
        self._period, self._patience = period, patience
        self._is_commanded = False
        self._now = 0.0
        # Time of the arm at the last tick; None while it advances with wall time.
        self._ticked: float | None = None
        self._published_at = 0.0
        #: Whether the arm waits for the command to the last state.
        self.is_waiting = False
        #: Wall time for which the arm has waited. s.
        self.waited = 0.0

    def now(self, wall: float) -> float:
        """Arm time for a wall time, both counted from the start. s."""
        self._now = wall - self.waited
        if self._ticked is not None:
            # The time does not jump, even if this is called late.
            self._set(min(self._now, self._ticked + self._period), wall)
            if self.is_waiting and wall - self._published_at > self._patience:
                self._ticked, self.is_waiting, self._is_commanded = None, False, False
        return self._now

    def tick(self, wall: float) -> float:
        """Time of the arm at a tick; it does not advance while the arm waits. s."""
        self.now(wall)
        if self._ticked is not None and not self.is_waiting:
            # A whole period even if a tick is late, so that the arm keeps its rate.
            self._set(min(self._ticked + self._period, wall), wall)
            self._ticked = self._now
        return self._now

    def tell(self, wall: float) -> None:
        """Note the publication of the present state."""
        if self._patience > 0.0 and self._is_commanded:
            self._ticked, self._published_at, self.is_waiting = self._now, wall, True

    def answer(self) -> None:
        """Note the arrival of a command."""
        self.is_waiting, self._is_commanded = False, True
        if self._ticked is None and self._patience > 0.0:
            self._ticked = self._now

    def _set(self, now: float, wall: float) -> None:
        self._now, self.waited = now, wall - now
