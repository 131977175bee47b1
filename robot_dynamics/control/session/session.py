# SPDX-License-Identifier: Apache-2.0
"""The control session: everything between a joint state and an effort, with its guards.

The session has no clock and no messages: times come in with every call, commands are return
values. Every command is finite and within the effort limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.checks import exceeds, positive
from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.control.motion.trajectory import TrajectoryBuffer
from robot_dynamics.control.motion.trajectory_points import PointArrays, TrajectoryPoint
from robot_dynamics.control.session.limits import (
    CommandGate,
    EffortLimiter,
    SpeedGuard,
    all_within,
)
from robot_dynamics.control.session.modes import Cause, Command, Mode
from robot_dynamics.control.session.safe_command import (
    SafeCommand,
    SafeKind,
    SafeLevel,
    SafeMotion,
    StatesLost,
)
from robot_dynamics.control.session.start_gate import StartGate
from robot_dynamics.control.session.stop_motion import StopMotion
from robot_dynamics.control.session.supervisor import (
    POSITION,
    STILL,
    Finding,
    LatenessCounter,
    MotionSupervisor,
)
from robot_dynamics.control.states.joint_state import JointStateMonitor, Outcome, Reason, Verdict
from robot_dynamics.errors import (
    ControlError,
    ParameterError,
    StopRequestedError,
    TrajectoryError,
)
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, position_units

#: A receive time may go back this much before it counts as a jump of the clock. s.
CLOCK_TOLERANCE = 1e-3
#: Consistent states in a row after which states are accepted again after a loss.
CONFIRMING_STATES = 5
#: Positions that jumped, in a row, after which the jump is not a wrong measurement.
LASTING_JUMPS = 5
#: Largest distance of such positions from one to the next. rad or m.
SAME_PLACE = 0.1
#: How far outside the limits of the description an arm may be when control begins. rad or m.
OUTSIDE = 0.2
#: Speed up to which an arm is at rest when control begins. rad/s or m/s.
AT_REST = 0.1
#: Distance from the pose held from which on an arm at rest, which efforts do not reach, is held
#: where it is. rad or m.
ELSEWHERE = 0.02
#: Gravity at some joint, as a share of its limit, from which on reported efforts are compared with
#: it; and their correlation with it below which they oppose it.
MUCH_GRAVITY, OPPOSES = 0.05, -0.5
#: How long obedience is checked after control has begun to follow. s.
OBEDIENCE_TIME = 0.5
#: Shortest state timeout, in periods: a state that comes a little late is not lost.
SHORTEST_TIMEOUT = 1.5
_FOLLOWING = tuple(mode for mode in Mode if mode.follows)
_ACTIVE = (Mode.HOLDING, *_FOLLOWING)
#: Causes that an arm shows which efforts do not reach.
_WITHOUT_EFFORTS = (Cause.FAR_FROM_REFERENCE, Cause.NOT_FOLLOWING, Cause.TOO_FAST)


@dataclass(frozen=True)
class SessionSettings:
    """Settings of a control session.

    Parameters
    ----------
    period : float
        Nominal time between joint states. s.
    state_timeout : float
        Time without a good state after which the session goes safe. Until then the last effort
        stays. s.
    resume_after : int or None
        Good states in a row after which the session holds the arm again, at the pose measured
        then; None to wait for `ControlSession.reactivate`.
    safe_kind : SafeKind
        Kind of the safe command.
    safe_repeats : int
        Number of equal safe commands sent when joint states have stopped and the arm is braked.
    states_lost : StatesLost
        What the arm is left with then.
    max_tracking_error : float
        Largest distance of the arm from its reference. rad or m.
    max_overruns : int
        Largest number of consecutive states later than the longest step of `StepClock`.

    Examples
    --------
    >>> SessionSettings(period=0.002).state_timeout
    0.1
    """

    period: float
    state_timeout: float = 0.1
    resume_after: int | None = None
    safe_kind: SafeKind = SafeKind.GRAVITY
    safe_repeats: int = 5
    states_lost: StatesLost = StatesLost.HOLD
    max_tracking_error: float = 0.5
    max_overruns: int = 10

    def __post_init__(self) -> None:
        for name in ('period', 'state_timeout', 'safe_repeats', 'max_tracking_error',
                     'max_overruns'):
            positive(name, getattr(self, name))
        shortest = SHORTEST_TIMEOUT * self.period
        if exceeds(shortest, self.state_timeout):
            raise ParameterError(f'is {self.state_timeout:g} s, too short for states that come '
                                 f'every {self.period:g} s', subject='state_timeout',
                                 remedy=f'set it to {float(f"{1.005 * shortest:.3g}"):g} s or '
                                        'more, or raise the rate of the states')
        if self.resume_after is not None:
            positive('resume_after', self.resume_after)


class StepClock:
    """Time steps for the controller, bounded, and whether the law may learn from them.

    A step as long as a gap would move the estimates as if the last error had lasted all the time.
    A step much shorter than a period amplifies the noise of finite differences. Both are answered
    with an effort, but not learnt from. A step counts as `max_factor` nominal periods at most;
    those longer than `gap_factor` or shorter than `short_factor` periods are not learnt from.
    """

    def __init__(self, period: float, *, max_factor: float = 5.0, gap_factor: float = 3.0,
                 short_factor: float = 0.5):
        self.period = positive('period', period, 's')
        if not 0.0 < short_factor < 1.0 < gap_factor <= max_factor:
            raise ParameterError(f'are {short_factor:g}, {gap_factor:g}, {max_factor:g}',
                                 subject='short_factor, gap_factor, max_factor',
                                 remedy='give 0 < short_factor < 1 < gap_factor <= max_factor')
        self.max_dt = max_factor * period
        self._gap, self._short = gap_factor * period, short_factor * period
        #: Steps longer than `max_dt`: all, and consecutive ones up to now.
        self.overruns, self.overruns_in_row = 0, 0
        #: Steps of no or negative duration.
        self.empty_steps = 0
        #: The longest step so far. s.
        self.worst = 0.0
        #: Whether the law may learn from the last step.
        self.is_regular = False

    def step(self, dt: float) -> float:
        """Time step within [0, `max_dt`], s; 0 for NaN."""
        if not dt > 0.0:
            self.empty_steps += 1
            self.is_regular = False
            return 0.0
        self.worst = max(self.worst, dt)
        self.is_regular = self._short <= dt <= self._gap
        if dt > self.max_dt:
            self.overruns += 1
            self.overruns_in_row += 1
            return self.max_dt
        self.overruns_in_row = 0
        return dt


class ControlSession:
    """Answer joint states with efforts: wait, hold, track, stop, and go safe on a fault.

    Parameters
    ----------
    robot : Robot
        The arm.
    controller : TrackingController
        The control law.
    settings : SessionSettings
        Settings of the session.
    monitor, limiter, gate, trajectory, stop_motion, supervisor : optional
        Guards with other than default settings.

    Attributes
    ----------
    mode : Mode
        Current mode.
    reason : str
        Reason of the mode, in words.
    cause : Cause or None
        Cause of the safe mode.
    adapt_enabled : bool
        Whether the controller may learn at all; set by the caller.
    adapted : bool
        Whether the controller was allowed to learn in the last step.
    q_d, v_d, a_d : ndarray, shape (n,)
        Desired motion of the last answer.
    counts : dict of str to int
        Number of events by name.

    See Also
    --------
    JointStateMonitor, EffortLimiter, StartGate, TrajectoryBuffer, StopMotion

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.control import ControlSession, PDGravityController, SessionSettings
    >>> robot = Robot.from_urdf('arm7')
    >>> session = ControlSession(robot, PDGravityController(robot), SessionSettings(period=0.002))
    >>> command = session.on_joint_state(1.0, 1.0, robot.joint_names, [0.1] * 7, [0.0] * 7)
    >>> session.mode.value, command.effort.shape
    ('holding', (7,))
    """

    def __init__(self, robot: Robot, controller: TrackingController, settings: SessionSettings, *,
                 monitor: JointStateMonitor | None = None, limiter: EffortLimiter | None = None,
                 gate: StartGate | None = None, trajectory: TrajectoryBuffer | None = None,
                 stop_motion: StopMotion | None = None,
                 supervisor: MotionSupervisor | None = None):
        robot.require_single_coordinates('control')
        self.robot = robot
        self.controller = controller
        self.settings = settings
        self.monitor = monitor or JointStateMonitor.for_robot(robot)
        self.limiter = limiter or EffortLimiter.for_robot(robot)
        self.gate = gate or StartGate(self.limiter.limit)
        self.trajectory = trajectory or TrajectoryBuffer.for_robot(robot)
        self.stop_motion = stop_motion or StopMotion.for_robot(robot)
        self.clock = StepClock(settings.period)
        self._units = position_units(robot)
        self._speed_guard = SpeedGuard(robot.joint_names, robot.limits.velocity,
                                       units=self._units)
        self.supervisor = supervisor or MotionSupervisor(robot)
        self.lateness = LatenessCounter(controller.longest_delay - 0.5 * settings.period)
        self._safe_motion = SafeMotion(robot, controller.damping_rate, settings.period)
        self.mode: Mode = Mode.WAITING
        self.cause: Cause | None = None
        self.reason = 'no joint state yet'
        self.adapt_enabled, self.adapted = True, False
        self.q_d, self.v_d, self.a_d = (np.zeros(robot.n) for _ in range(3))
        self.counts = dict.fromkeys(('saturated', 'not_adapted', 'safe_entries', 'trajectories',
                                     'trajectories_refused'), 0)
        self.verdict: Verdict | None = None
        self._command_gate = CommandGate(
            self.limiter, SafeCommand(controller, robot.n, settings.safe_kind))
        self._error = np.zeros(robot.n)
        self._largest_error = np.full(robot.n, settings.max_tracking_error)
        self._within = all_within.load()
        self._stamp = 0.0
        self._first_step = True
        self._good_states = self._jumps = 0
        self._repeats_left = 0
        self._jumped_to = math.nan
        self._obeys_until = math.inf
        self._last_receive = self._last_sent = -math.inf
        self._last_accepted = self._last_good = -math.inf

    @property
    def last_message(self) -> str:
        """What became of the last joint state message, in words."""
        return 'no joint state was received' if self.verdict is None else self.verdict.summary

    @property
    def has_command(self) -> bool:
        """Whether a command acts on the arm, and more will follow."""
        return self._command_gate.has_sent

    @property
    def safe_has_failed(self) -> bool:
        """Whether the safe command does not stop the arm, so that its driver must."""
        safe = self._safe_motion
        return self.mode is Mode.SAFE and (safe.level is SafeLevel.ZERO
                                           or bool(safe.released.any()))

    @property
    def pose(self) -> FloatArray:
        """Pose of the last state in the coordinates of references, shape (n,), rad or m."""
        return self.monitor.q

    @property
    def commands(self) -> int:
        """Number of commands given."""
        return self._command_gate.commands

    def on_joint_state(self, receive_time: float, stamp: float | None, names: Sequence[str],
                       position: Sequence[float], velocity: Sequence[float] = (),
                       effort: Sequence[float] = (), *,
                       steady_time: float | None = None) -> Command | None:
        """Answer one joint state message.

        Parameters
        ----------
        receive_time, stamp, names, position, velocity, effort
            As for `JointStateMonitor.update`.
        steady_time : float, optional
            Receive time on the clock of `on_tick`, where that is another one. s.

        Returns
        -------
        Command or None
            Command to send, if any.
        """
        steady = receive_time if steady_time is None else steady_time
        if receive_time < self._last_receive - CLOCK_TOLERANCE:
            self.monitor.forget()
            self._good_states = 0
            if self.mode in _ACTIVE:
                self._go_safe(Cause.CLOCK_JUMPED, 'it went back by '
                              f'{self._last_receive - receive_time:.3f} s')
        self._last_receive = receive_time
        self.verdict = self.monitor.update(receive_time, stamp, names, position, velocity, effort)
        if not self.verdict.accepted:
            if self.verdict.outcome is Outcome.REJECTED \
                    and self.verdict.reason is not Reason.FOREIGN:
                self._good_states = 0
                self._count_jumps(names, position)
                if self._jumps >= LASTING_JUMPS and self.mode in _ACTIVE:
                    # Its velocity still brakes it.
                    joint = self.monitor.joint_names.index(str(self.verdict.joint))
                    self.supervisor.lies[joint] = POSITION
                    self._go_safe(Cause.POSITION_JUMPED, self.last_message)
                    self.monitor.forget()
                    return self._repeat_safe(steady)
                if self._jumps and self._is_lost(steady):
                    # The state before, which it contradicts, may be the wrong one.
                    self.monitor.forget()
            if self.verdict.reason is Reason.FROZEN:
                # The last effort answers a state that is no longer known: it is not held.
                if self.mode in _ACTIVE:
                    self._go_safe(Cause.STATES_STOPPED, self.last_message)
                if self.mode is Mode.SAFE and self._repeats_left > 0:
                    return self._repeat_safe(steady)
            return None
        self._last_accepted, self._jumps = steady, 0
        if self._is_lost(steady) and self._good_states + 1 < CONFIRMING_STATES:
            self._good_states += 1
            return None
        silence, self._last_good = steady - self._last_good, steady
        if self.mode is Mode.STOPPED:
            return None
        self._stamp, self._last_sent = self.monitor.stamp, steady
        return self._answer(silence, self.clock.step(self.monitor.dt))

    def _count_jumps(self, names: Sequence[str], position: Sequence[float]) -> None:
        """Count rejected states in a row in which a joint jumped to the same place."""
        verdict = self.verdict
        if verdict is None or verdict.reason is not Reason.JUMP:
            self._jumps = 0
            return
        place = position[list(names).index(str(verdict.joint))]
        stays = abs(place - self._jumped_to) <= SAME_PLACE
        self._jumps, self._jumped_to = self._jumps + 1 if stays else 1, place

    def time_left(self, now: float) -> float:
        """Time after `now` (steady) until missing states make `on_tick` act, s.

        Zero or less where states have stopped or never came.
        """
        return self._last_good + self.settings.state_timeout - now

    def on_tick(self, now: float) -> Command | None:
        """Watch for states that stop; to be called on a steady clock when no time is left.

        Parameters
        ----------
        now : float
            Steady time. s.

        Returns
        -------
        Command or None
            The safe command, while it is being repeated.
        """
        # Written so that NaN counts as silence.
        if self.time_left(now) > 0.0:
            return None
        if self.mode in _ACTIVE:
            self._go_safe(Cause.STATES_STOPPED, f'no good one for {now - self._last_good:.3f} s; '
                                                f'{self.last_message}')
        if self._is_lost(now) and now - self._last_accepted > self.settings.state_timeout:
            # After a permanent jump the next position counts as a first one.
            self.monitor.forget()
            self._good_states = 0
        if self.mode is not Mode.SAFE or self._repeats_left <= 0:
            return None
        return self._repeat_safe(now)

    def distrust_states(self, detail: str) -> None:
        """Go safe because states come from more publishers than the arm has.

        `on_tick` brakes the arm from now on, until states of the arm alone agree with each other;
        those of others must not come to `on_joint_state`. A later call changes the detail only.
        """
        if self.mode in _ACTIVE:
            self._go_safe(Cause.MORE_PUBLISHERS, detail)
            self._last_good = -math.inf
        elif self.mode is Mode.SAFE and self.cause is Cause.MORE_PUBLISHERS:
            self.reason = f'{self.cause.value}: {detail}'

    def return_to_gate(self, reason: str) -> None:
        """Hold the measured pose until the arm obeys again, because it does not follow now."""
        self.controller.forget_recent()
        self._begin_holding()
        self.reason = self.gate.reason = reason

    def explain(self, detail: str) -> bool:
        """Put the safe mode down to efforts that are not applied, if it may come from that.

        `detail` is why they are not; returns whether `reason` has changed.
        """
        text = f'{detail}; then activate this controller again'
        if self.mode is not Mode.SAFE or self.cause not in _WITHOUT_EFFORTS \
                or self.safe_has_failed or self.reason == text:
            return False
        self.reason = text
        return True

    def stop(self, reason: str) -> Command | None:
        """End the session and return the safe command, to be sent several times.

        None where nothing was ever sent: the arm is not under control of this session then.
        """
        self.adapted = False
        self.stop_motion.abandon()
        # The last command may act for ever: it is not delayed by the rate limit.
        self.limiter.forget()
        command = self._send_safe_at_rest(0.0)
        self.mode, self.reason = Mode.STOPPED, reason
        self._command_gate.release_arm()
        return command

    def wind_down(self, dt: float) -> Command | None:
        """Next command on the way to the safe effort within the rate limit; None at its end.

        The velocity counts as zero, as in what `stop` returns.

        Parameters
        ----------
        dt : float
            Time since the last command. s.
        """
        self.limiter.begin_ramp()
        command = self._send_safe_at_rest(dt)
        return command if self.limiter.any_saturated else None

    def take_over(self, effort: FloatArray) -> None:
        """Continue from an effort that already acts on the arm; call it after `reactivate`.

        Parameters
        ----------
        effort : ndarray, shape (n,)
            Last command of the controller that was active before. N m or N.
        """
        self.limiter.begin_at(effort)

    def reactivate(self) -> None:
        """Start over at the pose of the next good state; ends a requested stop."""
        self.mode, self.cause = Mode.WAITING, None
        self.reason = 'no joint state yet'
        self.monitor.forget()
        self.stop_motion.end()

    def halt(self) -> str:
        """Stop as fast as the acceleration bounds allow, then hold; return what happens.

        In a mode that does not move the arm, the session will go on to `Mode.HALTED` instead of
        tracking. Only `resume` and `reactivate` end it.
        """
        self.stop_motion.request()
        if self.mode is not Mode.TRACKING:
            return f'it is {self.mode.value} and will not follow a reference'
        return f'at rest in {self._begin_halt():.3f} s'

    def resume(self) -> None:
        """Follow references again, from the pose held.

        Raises
        ------
        ControlError
            Where no stop was requested, or the arm is not at rest yet.
        """
        if not self.stop_motion.is_requested:
            raise ControlError(f'was not requested: the controller is {self.mode.value}',
                               subject='stop', remedy='nothing has to be resumed')
        if self.mode is Mode.HALTED:
            if not self.stop_motion.is_over(self._stamp):
                raise ControlError('has not brought the arm to rest yet', subject='stop',
                                   remedy='call resume again when the arm is at rest')
            self.trajectory.anchor(self.q_d)
            self.mode, self.reason = Mode.TRACKING, 'resumed: the arm follows'
        self.stop_motion.end()

    def accept_trajectory(self, names: Sequence[str],
                          points: Sequence[TrajectoryPoint] | PointArrays,
                          stamp: float | None = None, *, partial: bool = False) -> float:
        """Follow a trajectory; see `TrajectoryBuffer.accept`.

        Returns
        -------
        float
            When it takes over, on the clock of the stamps. s.

        Raises
        ------
        TrajectoryError
            Where it is wrong, or the session is not tracking.
        """
        try:
            if self.mode is not Mode.TRACKING:
                raise TrajectoryError('cannot be followed, the controller is '
                                      f'{self.mode.value}: {self.reason}', subject='trajectory',
                                      remedy='send it when the mode is tracking')
            takes_over = self.trajectory.accept(names, points, stamp=stamp, now=self._stamp,
                                                measured=self.pose, partial=partial)
        except TrajectoryError:
            self.counts['trajectories_refused'] += 1
            raise
        self.counts['trajectories'] += 1
        return takes_over

    def cancel_trajectory(self) -> None:
        """Come to rest on the path of the trajectory that is followed, and go on tracking."""
        if self.mode is Mode.TRACKING:
            self.trajectory.stop(self._stamp, self.stop_motion.acceleration)

    def _is_lost(self, now: float) -> bool:
        """Whether states had stopped and none is trusted again yet.

        The first state after a loss may be as wrong as those before: it is trusted when those that
        follow agree with it.
        """
        return self.mode is Mode.SAFE and now - self._last_good > self.settings.state_timeout

    def _change_mode(self, silence: float) -> None:
        """Change the mode after a good state that came after some silence, s."""
        settings = self.settings
        finding = self._supervise()
        is_fast = self._speed_guard.is_fast(self.supervisor.speed)
        if self.mode is Mode.WAITING:
            refusal = self._outside_limits() or self._opposes_gravity()
            if refusal:
                self.reason = refusal
            else:
                self._begin_holding()
        elif self.mode is Mode.SAFE:
            self._repeats_left = settings.safe_repeats
            is_doubtful = is_fast or self.lateness.is_late or self.supervisor.lies.any()
            self._good_states = 0 if is_doubtful else self._good_states + 1
            if settings.resume_after is not None and self.cause is not None \
                    and self.cause.passes \
                    and self._good_states >= settings.resume_after:
                self._begin_holding()
        elif not silence <= settings.state_timeout:
            self._go_safe(Cause.STATES_STOPPED, f'none for {silence:.3f} s')
        elif self.monitor.dt > settings.state_timeout:
            self._go_safe(Cause.CLOCK_JUMPED, f'by {self.monitor.dt:.3f} s from one state to '
                                              'the next')
        elif is_fast:
            self._go_safe(Cause.TOO_FAST, self._speed_guard.detail)
        elif finding is not None:
            self._heed(finding)
        elif self.mode in _FOLLOWING and self.clock.overruns_in_row > settings.max_overruns:
            self._go_safe(Cause.STATES_SLOW, f'the last {self.monitor.dt:.4f} s apart, '
                                             f'{settings.period:.4f} s expected')
        elif self.mode is Mode.HOLDING and self.gate.closed_by and self._was_moved():
            self._begin_holding()
        elif self.mode is Mode.HOLDING and self.monitor.velocity_known \
                and self.gate.observe(self.monitor.stamp, self.monitor.q, self.monitor.effort):
            self._begin_tracking()

    def _was_moved(self) -> bool:
        """Whether the arm rests elsewhere than where it is held, by another hand."""
        return bool(np.all(np.abs(self.monitor.v) < STILL)
                    and np.abs(self.pose - self.q_d).max() > ELSEWHERE)

    def _lateness(self) -> float:
        """Age of the last state, s, and how long the effort before it acted beyond a period.

        A state that repeats a motion is as old as the one that it repeats.
        """
        return self._last_receive - self.supervisor.stamp \
            + max(0.0, self.monitor.dt - self.settings.period)

    def _supervise(self) -> Finding | None:
        """Feed the tests with the last state; return what is wrong."""
        monitor, supervisor = self.monitor, self.supervisor
        is_known = monitor.dt > 0.0 and monitor.velocity_known
        if is_known:
            finding = supervisor.check_state(monitor.q, monitor.v, monitor.stamp)
        else:
            supervisor.begin(monitor.q, monitor.stamp)
        is_late = self.lateness.count(self._lateness(), monitor.dt)
        if not (is_known and self.mode in _ACTIVE):
            return None
        if finding is None and is_late:
            finding = Finding(Cause.ANSWERS_LATE, -1, f'{self.lateness.age:.4f} s, it is stable '
                              f'up to {self.lateness.longest_delay:.4f} s')
        if finding is None and monitor.stamp < self._obeys_until and self.has_command:
            finding = supervisor.check_obedience(
                monitor.q, monitor.v, monitor.dt,
                self.limiter.effort + self.limiter.hardware_gravity)
        return finding

    def _heed(self, finding: Finding) -> None:
        """Go safe for a finding, or back to the start gate with an arm that stands still."""
        if finding.cause is Cause.NOT_FOLLOWING and finding.joint < 0:
            self.return_to_gate(finding.detail)
        else:
            self._go_safe(finding.cause, finding.detail)
            # A joint that moves against its commands must not be moved by them.
            self._safe_motion.released[finding.joint] = finding.cause is Cause.MOVES_AGAINST

    def _outside_limits(self) -> str:
        """Reason that an arm is not taken over where it is, empty without one."""
        pose, limits = self.pose, self.robot.limits
        outside = (pose < limits.lower - OUTSIDE) | (pose > limits.upper + OUTSIDE)
        if not outside.any():
            return ''
        joint = int(np.argmax(outside))
        return (f'{self.robot.joint_names[joint]} is at {pose[joint]:.4g} {self._units[joint]}, '
                f'outside its limits {limits.lower[joint]:.4g} to {limits.upper[joint]:.4g}; '
                'check that the driver reports SI units, or move the arm inside')

    def _opposes_gravity(self) -> str:
        """Reason that reported efforts have the wrong sign, empty without one.

        At rest they have to hold the arm, unless brakes or something below it do so.
        """
        monitor, limit = self.monitor, self.limiter.limit
        if not self.gate.compares_efforts or np.any(np.abs(monitor.v) > AT_REST):
            return ''
        sent = self.controller.safe_effort(monitor.q, np.zeros(self.robot.n))
        # What the hardware adds has been updated by the line above.
        added = self.limiter.hardware_gravity
        needed = sent + added
        reported = self.gate.as_sent(monitor.q, monitor.effort) + added
        # As shares of the limits: a reading beyond them shows a sign and no more.
        with np.errstate(over='ignore'):
            share = np.clip(needed / limit, -1.0, 1.0)
            product = np.clip(reported / limit, -1.0, 1.0) * share
        # Written so that NaN, an effort that is not reported, does not oppose.
        if not (np.abs(share).max() > MUCH_GRAVITY and product.sum() < OPPOSES * share @ share):
            return ''
        joint = int(np.argmin(product))
        return (f'{self.robot.joint_names[joint]} reports an effort of {reported[joint]:.3g}, and '
                f'gravity needs {needed[joint]:.3g}: the driver counts efforts with the other '
                'sign; change the sign of effort_scale (-1.0 where it is empty), or correct '
                'gravity and joint axes of the description')

    def _begin_holding(self) -> None:
        monitor = self.monitor
        self._command_gate.prepare(monitor.q)
        self.limiter.begin_ramp(self.settings.period)
        self.trajectory.anchor(self.pose)
        self.gate.begin(monitor.stamp, monitor.q, monitor.effort)
        self.supervisor.forget_lies()
        self._safe_motion.forget()
        # In motion, an unknown load would look like an effort of the wrong sign.
        self._obeys_until = math.inf if np.all(np.abs(monitor.v) < STILL) else -math.inf
        self.mode, self.cause, self.reason = Mode.HOLDING, None, self.gate.reason

    def _begin_tracking(self) -> None:
        # The reference starts at the pose held, not at the one measured now: the feedback
        # that carries an unknown load by a small error must not drop it.
        self.controller.reset(self.monitor.q, self.monitor.v)
        self.limiter.begin_ramp(self.settings.period)
        self._first_step = True
        self.supervisor.begin_following(self.pose, self.q_d, self.limiter.effort)
        self._obeys_until = min(self._obeys_until, self._stamp + OBEDIENCE_TIME)
        self.mode, self.reason = Mode.TRACKING, 'the arm follows'
        if self.stop_motion.is_requested:
            self._begin_halt()

    def _begin_halt(self) -> float:
        """Lead the desired motion to rest; return how long that takes, s."""
        self.mode, self.reason = Mode.HALTED, 'a stop was requested'
        self.adapted = False
        return self.stop_motion.begin(self._stamp, self.q_d, self.v_d)

    def _go_safe(self, cause: Cause, detail: str) -> None:
        self.mode, self.cause = Mode.SAFE, cause
        self.reason = f'{cause.value}: {detail}'
        self.adapted = False
        self.stop_motion.abandon()
        # Braking is not delayed.
        self.limiter.end_ramp()
        # A controller that failed may fail again; the safe command has a fallback.
        with suppress(Exception):
            self.controller.forget_recent()
        self.counts['safe_entries'] += 1
        self._good_states = 0
        self._repeats_left = self.settings.safe_repeats
        supervisor = self.supervisor
        self._safe_motion.begin(self.monitor.q + supervisor.unseen, self.monitor.v,
                                supervisor.slope, supervisor.lies)

    def _answer(self, silence: float, dt: float) -> Command | None:
        """Command of the mode; a controller that raises makes the session safe."""
        try:
            self._change_mode(silence)
            if self.mode in _ACTIVE:
                self._update_desired_motion()
            if self.mode in _FOLLOWING:
                self._check_following()
            if self.mode is Mode.HOLDING:
                return self._hold_pose(dt)
            if self.mode in _FOLLOWING:
                return self._track(dt)
        except StopRequestedError as error:
            self._go_safe(Cause.CONTROLLER_STOPS, str(error))
        # Any exception: an arm depends on the answer.
        except Exception as error:
            self._go_safe(Cause.CONTROLLER_FAILED, f'{type(error).__name__}: {error}')
        return self._send_safe(dt)

    def _hold_pose(self, dt: float) -> Command:
        monitor = self.monitor
        command = self._command_gate.send(
            self.controller.holding_effort(monitor.q, monitor.v, self.q_d), dt, self._stamp)
        self.gate.note_sent(command.effort)
        self.reason = self.gate.reason
        return command

    def _update_desired_motion(self) -> None:
        """Sample the desired motion at the stamp; go safe where the arm is far from it."""
        # While a pose is held, the trajectory rests at it.
        motion = self.stop_motion if self.mode is Mode.HALTED else self.trajectory
        motion.sample_into(self._stamp, self.q_d, self.v_d, self.a_d)
        np.subtract(self.q_d, self.pose, out=self._error)
        if not self._within(self._error, self._largest_error):
            joint = int(np.abs(self._error).argmax())
            self._go_safe(Cause.FAR_FROM_REFERENCE, f'{self.robot.joint_names[joint]} by '
                                                    f'{self._error[joint]:.3f} '
                                                    f'{self._units[joint]}')

    def _check_following(self) -> None:
        """Act on a joint that stays where it is while its reference moves."""
        monitor, supervisor = self.monitor, self.supervisor
        if monitor.velocity_known and not supervisor.is_repeated:
            finding = supervisor.check_following(self.pose, self.q_d, self.limiter.effort,
                                                 monitor.dt)
            if finding is not None:
                self._heed(finding)

    def _track(self, dt: float) -> Command:
        monitor = self.monitor
        since_update = 0.0 if self._first_step else dt
        self.adapted = (self.adapt_enabled and self.mode is Mode.TRACKING
                        and not self._first_step and self.clock.is_regular
                        and not self.limiter.any_saturated and monitor.velocity_known)
        self._first_step = False
        self.counts['not_adapted'] += not self.adapted
        tau = self.controller.update(monitor.q, monitor.v, self.q_d, self.v_d, self.a_d,
                                     since_update, adapt=self.adapted)
        command = self._command_gate.send(tau, dt, self._stamp)
        self.controller.note_applied(command.effort)
        self.counts['saturated'] += self.limiter.any_saturated
        return command

    def _repeat_safe(self, now: float) -> Command | None:
        """Safe command where the state of the arm is unknown: brake it, then hold or release it.

        The last one is repeated, the same each time.
        """
        dt, self._last_sent = now - self._last_sent, now
        # Written so that braking ends also by a clock that is NaN.
        longest = self.settings.state_timeout
        step = dt if 0.0 <= dt <= longest else longest
        safe = self._safe_motion
        if self._repeats_left == self.settings.safe_repeats:
            if not safe.coast(step):
                return self._command_gate.send_safe(safe.q, safe.v, dt, self._stamp, safe)
            if self.settings.states_lost is StatesLost.RELEASE and not safe.release(step):
                return self._send_safe_at_rest(dt)
        self._repeats_left -= 1
        return self._send_safe_at_rest(dt)

    def _send_safe_at_rest(self, dt: float) -> Command | None:
        """Safe command that may act for ever: damping of an old velocity would become a push."""
        safe = self._safe_motion
        return self._command_gate.send_safe(
            safe.q if self.mode is Mode.SAFE else self.monitor.q, np.zeros(self.robot.n), dt,
            self._stamp, safe)

    def _send_safe(self, dt: float) -> Command | None:
        """Safe command that answers the last state."""
        monitor, supervisor, safe = self.monitor, self.supervisor, self._safe_motion
        if supervisor.is_repeated:
            safe.coast(dt, self.lateness.age)
        else:
            safe.update(monitor.q, monitor.v, supervisor.slope, supervisor.lies, dt,
                        self.lateness.age)
        return self._command_gate.send_safe(safe.q, safe.v, dt, self._stamp, safe)
