# SPDX-License-Identifier: Apache-2.0
"""Run a simulated arm and a controller with a wrong model, before and after adaptation.

The arm is lighter than in the model of the controller and carries an unknown load. At first the
parameter estimates are frozen; then the controller learns. Arm, controller, reference, model
torque and recorder are separate ROS 2 processes. The arm waits for the answer to each state, so
that a busy machine slows the demo down and does not disturb it; --real-time is without that wait.
The recording, a report and its picture are written to the output folder. Other values of
--controller show controllers that do not learn. With gravity, the arm follows no reference, and
the report shows the drift of the released arm.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.bringup.arguments import DEMO_SYSTEM, add_options, parse_bool, parse_number
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.robot import check_weight
from robot_dynamics.bringup.launching.actions import node_action
from robot_dynamics.bringup.plants import NO_PLANT
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.progress import (
    Progress,
    WarningFilter,
    log_text,
    parse_progress,
    progress_line,
)
from robot_dynamics.bringup.runner import Line, end_message, run_until_stopped
from robot_dynamics.bringup.system import System, find_controller
from robot_dynamics.bringup.warmup import warm_up
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.errors import (
    BringupError,
    FileError,
    RecordingError,
    RobotDynamicsError,
)
from robot_dynamics.files import require_own_folder, require_replaceable
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes import require_ros
from robot_dynamics.report.run_page import (
    PAGE,
    PICTURE,
    Story,
    build_failure_report,
    build_report,
)
from robot_dynamics.report.summary import table, unit_of, verdict

#: Folder of recording, report and picture.
OUTPUT = Path('demo-output')
#: Period of the reference, s. Errors are compared over one period each, that is over the same
#: motion.
PERIOD = 8.0
#: Time that the reference takes to reach its first pose and full speed, s.
RAMP = 3.0
#: Shortest run with a period before and one after adaptation begins, s.
SHORTEST = RAMP + 2 * PERIOD
#: Time after which the demo ends if the arm has not moved, s; it includes the compilation of
#: kernels.
START_TIMEOUT = 90.0
#: Time after which the demo ends if the controller stops following the reference, s: with
#: --real-time, and where a busy machine slows the arm down while its controller resumes.
LOST_TIMEOUT, SLOW_LOST_TIMEOUT = 5.0, 30.0
#: Longest time for which the arm waits for the answer to a state, s.
PATIENCE = 1.5
#: The largest threshold that a node accepts. N m or N.
UNLIMITED = 1e9

#: Modes in which a controller works.
_FOLLOWS = (Mode.TRACKING.value, Mode.GUIDED.value)
#: Packages with their version in the report.
_PACKAGES = ('robot_dynamics', 'ros-rclpy', 'numba', 'numpy', 'mujoco')


@dataclass(frozen=True)
class Plan:
    """The system of the demo, the time of tracking, s, and the folder of results."""

    system: System
    seconds: float
    output: Path
    real_time: bool = False

    @property
    def recording(self) -> Path:
        """Folder of the rosbag2 recording."""
        return self.output / 'recording'

    @property
    def lost_timeout(self) -> float:
        """Time after which the demo ends if the controller stops following, s."""
        return LOST_TIMEOUT if self.real_time else SLOW_LOST_TIMEOUT

    @property
    def learns(self) -> bool:
        """Whether the controller learns."""
        return find_controller(self.system.controller).learns

    def processes(self) -> tuple[NodeProcess, ...]:
        """Processes of the system; the demo ends with its recorder, which reports progress."""
        recorder, *others = self.system.processes()
        return replace(recorder, essential=True), *others


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def make_plan(*, robot: str = 'arm7', robot_args: str = '', controller: str = 'adaptive',
              plant: str = 'loaded', rate: float = 500.0, seed: int = 0, seconds: float = 28.0,
              output: Path = OUTPUT, real_time: bool = False) -> Plan:
    """Plan of the demo; raises `BringupError` if it is too short or without motion."""
    if not seconds >= SHORTEST:
        raise BringupError(f'must be {SHORTEST:g} or more, got {seconds:g}', subject='seconds',
                           remedy=f'the reference needs {RAMP:g} s to reach full speed, and two '
                                  f'periods of {PERIOD:g} s are compared')
    if controller == 'none' or plant == NO_PLANT:
        raise BringupError('must not be none', subject='controller' if controller == 'none'
                           else 'plant', remedy='the demo needs a simulated arm and a '
                           'controller; use robot-dynamics up for anything else')
    row = find_controller(controller)
    # A simulated arm is harmless, so that arm and controller resume earlier than by default.
    resumption = {'resume_after': 100, 'max_tracking_error': 1.0}
    # In real time, a process of a busy machine may pause for some time.
    timeouts, patience = ({'state_timeout': 0.3}, {}) if real_time \
        else ({}, {'wait_for_commands': PATIENCE})
    learning = {'adapt_after': RAMP + PERIOD} if row.node == find_controller('adaptive').node \
        else {}
    # waitset is the executor with the lowest load, for five processes on two cores.
    arm = load_description(robot, robot_args).robot
    return Plan(System(
        robot=robot, robot_args=robot_args, controller=controller, plant=plant, rate=rate,
        seed=seed, spin='waitset',
        record=output / 'recording', use_sim_time=not real_time, parameters={
            row.node: {**resumption, **timeouts, **learning},
            # The arm waits where the motion starts.
            'simulated_arm': {'initial_position': first_pose(arm, seed), 'hold_time': 0.4,
                              'release_time': 0.1, **patience},
            'reference': {'trajectory': 'fourier', 'base_frequency': 1 / PERIOD},
            **({'inverse_dynamics': {'faults.thresholds': lenient_thresholds(arm)}}
               if plant == 'loaded' else {}),
            'recorder': {'progress_period': 1.0},
        }), seconds, output, real_time)


def lenient_thresholds(robot: Robot) -> tuple[float, ...]:
    """Thresholds for faults of an arm with a wrong model, N m or N.

    1.5 times the largest efforts, because two kilograms are nearly the limit of the wrist of a
    Panda.
    """
    effort = 1.5 * robot.limits.effort
    return tuple(np.where(np.isnan(effort), UNLIMITED, np.minimum(effort, UNLIMITED)).tolist())


def first_pose(robot: Robot, seed: int) -> tuple[float, ...]:
    """First pose of the periodic reference, rad or m."""
    motion = exciting_fourier(robot, seed, base_frequency=1 / PERIOD)
    return tuple(motion.sample(0.0)[0].tolist())


#: Default and help of the arguments of the demo, beside those of its system.
DEMO_ARGUMENTS = {
    'seconds': (28.0, 'Time for which the arm follows its reference.'),
    'output': (OUTPUT, 'Folder for the recording and the report.'),
    'real_time': (False, 'Run in wall time: the arm does not wait for its controller.'),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the demo to a parser."""
    add_options(parser, {**DEMO_SYSTEM, **DEMO_ARGUMENTS})


def run(options: argparse.Namespace) -> int:
    """Run the demo with parsed options; return the exit status.

    After the start there is a report in any case. Raises the `BringupError` that ended the demo
    early, after its report.
    """
    plan = make_plan(**{name: getattr(options, name)
                        for name in (*DEMO_SYSTEM, *DEMO_ARGUMENTS)})
    description = plan.system.description
    say(f'{description.robot.name}, {description.robot.n} joints, plant {plan.system.plant}, '
        f'controller {plan.system.controller}, {plan.system.rate:g} Hz, seed {plan.system.seed}')
    check_plan(plan)
    require_ros()
    # Nodes would compile missing kernels, too; here the user sees the reason of the delay.
    processes = plan.processes()
    warm_up(processes)
    watch = Watch(plan, unit=unit_of(description.robot))
    try:
        finished = run_until_stopped(processes, on_line=watch.on_line, is_over=watch.is_over)
    except BringupError as failure:
        report_failure(plan, failure, watch)
        raise
    if not finished:
        say(f'stopped; the recording so far is in {plan.recording}' if watch.has_begun
            else 'stopped before the arm moved')
        return 130
    say('reading the recording ...')
    report(plan, watch.messages)
    return 0


def check_plan(plan: Plan) -> None:
    """Raise a `RobotDynamicsError` for what is wrong before anything runs."""
    check_output(plan)
    check_arm(plan.system.description.robot)
    make_story(plan)  # of a payload that can be, for example


def check_arm(robot: Robot) -> None:
    """Raise the error of the doctor for an arm that cannot hold itself, and print its warnings."""
    for result in check_weight(robot):
        if result.level is Level.ERROR:
            raise BringupError(result.message, subject=result.subject, remedy=result.remedy)
        if result.level is Level.WARNING:
            say(f'  doctor: warning: {result}')


def check_output(plan: Plan) -> None:
    """Raise `FileError` where results cannot be written, before anything runs."""
    folder = plan.output
    require_replaceable(folder, (PAGE, PICTURE))
    require_own_folder(plan.recording)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise FileError(f'cannot be written ({error.strerror})', subject=str(folder),
                          remedy='name another folder with --output') from error


def report(plan: Plan, messages: Sequence[str] = ()) -> None:
    """Write the report of a recorded demo and print its results."""
    result = build_report(plan.recording, plan.output, story=make_story(plan, messages),
                          period=PERIOD)
    say(f'\n{table(result.summary)}\n\n{verdict(result.summary)}\n')
    if plan.learns and result.summary.adaptation_start is None:
        say(f'The controller learns after {RAMP + PERIOD:g} s of uninterrupted tracking, which '
            'did not happen'
            + (': run it without --real-time.\n' if plan.real_time else '.\n'))
    say_files({result.page: 'open it in a browser', result.picture: 'the picture',
               plan.recording: 'for ros2 bag, PlotJuggler, Foxglove, robot-dynamics identify'})


def report_failure(plan: Plan, failure: BringupError, watch: Watch) -> None:
    """Write the report of a demo that ended early: its reason and what was recorded."""
    story = make_story(plan, watch.messages, str(failure))
    try:
        try:
            page = build_report(plan.recording, plan.output, story=story, period=PERIOD).page
        except RecordingError:  # nothing, or too little
            name = plan.system.description.robot.name
            page = build_failure_report(plan.output, name, story)
    except RobotDynamicsError as error:  # a full disk, for example
        say(f'no report: {error}')
    else:
        say_files({page: 'what happened until then'})


def say_files(uses: Mapping[Path | None, str]) -> None:
    """Print written files and what they are for."""
    left = {str(path): use for path, use in uses.items() if path is not None}
    width = max(map(len, left))
    for path, use in left.items():
        say(f'{path:<{width}}  {use}')


def make_story(plan: Plan, messages: Sequence[str] = (), failure: str = '') -> Story:
    """Description of the demo for its report, with the true masses.

    `messages` are warnings of its nodes; `failure` is why it ended early.
    """
    system = plan.system
    robot = system.description.robot
    plant = system.plant_parameters()
    payload, scale = plant.get('payload_mass', 0.0), plant.get('mass_scale', 1.0)
    differences = []
    if scale != 1.0:
        error = 100 * (1 / scale - 1)
        differences.append(f'has a model with links {abs(error):.0f} % '
                           f'{"heavier" if error > 0 else "lighter"} than the real ones')
    if payload:
        differences.append(f'has no information on the payload of {payload:g} kg')
    text = f'The controller {" and ".join(differences)}. ' if differences else ''
    if plan.learns:
        wait = system.parameters.get('adaptive_controller', {}).get('adapt_after', 0.0)
        text += f'Its estimates are frozen for {wait:g} s of uninterrupted tracking; then it ' \
                'learns from its own tracking error.'
    elif find_controller(system.controller).tracks:
        text += 'It does not learn.'
    else:
        text += 'It compensates gravity, follows no reference, and holds the arm where it is ' \
                'released.'
    facts = [
        ('robot', f'{robot.name}, {robot.n} joints'),
        ('plant', f'{system.plant}: ' + ', '.join(f'{k} {v:g}' if isinstance(v, float) else
                                                  f'{k} {v}' for k, v in plant.items())),
        ('controller', f'{system.controller}, at {system.rate:g} Hz'),
        ('time', 'wall time' if plan.real_time else
         'simulated: the arm waits for the answer to each state'),
        ('seed', str(system.seed)),
        ('processes', ', '.join(process.node for process in plan.processes())),
        ('versions', ', '.join(f'{name} {found}' for name in _PACKAGES
                               if (found := _version(name)))
         + f', Python {platform.python_version()}'),
    ]
    return Story(text, facts, true_masses(robot, plant), messages, failure)


def true_masses(robot: Robot, plant: Mapping[str, Any]) -> dict[str, float]:
    """Masses of the plant's links by parameter name, kg."""
    true = with_scaled_masses(robot, plant.get('mass_scale', 1.0))
    if plant.get('payload_mass'):
        true = with_payload(true, plant['payload_mass'], plant.get('payload_com', (0.0, 0.0, 0.0)),
                            frame=plant.get('payload_frame') or None)
    return {f'{body}/m': float(mass)
            for body, mass in zip(true.body_names, true.inertial_parameters[:, 0], strict=True)}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


class Watch:
    """Prints the progress of the demo by `write`, and detects its end.

    `unit` is that of a thousandth of a tracking error.
    """

    def __init__(self, plan: Plan, write: Callable[[str], None] = say, *,
                 unit: str = 'mrad') -> None:
        self._plan = plan
        self._write = write
        self._unit = unit
        #: Whether the arm has begun to follow its reference.
        self.has_begun = False
        self._now = self._tracked = 0.0
        self._phase, self._second = '', 0
        self._lost_since: float | None = None
        self._is_over = False
        self._warnings = WarningFilter()
        #: Why the controller stopped following the reference; empty while it follows.
        self._reason = ''

    @property
    def messages(self) -> Sequence[str]:
        """Warnings and errors of the nodes."""
        return self._warnings.all

    def on_line(self, line: Line) -> None:
        """Print progress of the recorder, and warnings of all nodes."""
        progress = parse_progress(line.text) if line.process.node == 'recorder' else None
        if progress is None:
            text = self.note(line)
            if text is not None:
                self._write(text)
            return
        # At the end nodes stop one by one, which is not printed.
        if self._is_over:
            return
        self._now, self._tracked = progress.time, progress.tracked
        self.has_begun = self.has_begun or progress.error is not None
        if not self._is_lost(progress.mode):
            self._lost_since = None
        elif self._lost_since is None:
            self._lost_since = progress.time
        phase = self._phase_of(progress)
        # Before the motion, only new phases are printed, and then one line a second of the arm.
        second = int(progress.tracked)
        if phase != self._phase or second != self._second:
            error = None if self._is_lost(progress.mode) else progress.error
            self._write(progress_line(progress.tracked, phase, error, unit=self._unit,
                                      columns=shutil.get_terminal_size().columns))
        self._phase, self._second = phase, second

    def note(self, line: Line) -> str | None:
        """Remember a line of a node; return what to print if it is a warning or an error."""
        text = self._warnings.read(line)
        if line.process.node == find_controller(self._plan.system.controller).node:
            mode, _, reason = log_text(line.text).partition(': ')
            if mode in _FOLLOWS:
                self._reason = ''
            elif mode == Mode.SAFE.value and not self._reason:
                self._reason = reason
        return text

    def is_over(self) -> bool:
        """Whether the arm has followed its reference long enough, and still follows it.

        Raises
        ------
        BringupError
            If it did not begin to follow it, or stopped.
        """
        if self._lost_since is not None and \
                self._now - self._lost_since > self._plan.lost_timeout:
            raise BringupError(
                f'stopped following the reference: {self._why()}',
                subject='the controller',
                remedy='run it without --real-time, if this machine is busy'
                if self._plan.real_time else None)
        if self.has_begun:
            self._is_over = self._lost_since is None and self._tracked >= self._plan.seconds
            return self._is_over
        if self._now > START_TIMEOUT:
            raise BringupError(f'did not move within {START_TIMEOUT:g} s: {self._why()}',
                               subject='the arm', remedy=None)
        return False

    def _why(self) -> str:
        """First reason of the controller, or the last warning of any node."""
        return self._reason or (self.messages[-1] if self.messages else 'no reason was logged')

    def _is_lost(self, mode: str) -> bool:
        """Whether the controller has stopped for good; at the start it may stop temporarily."""
        if self.has_begun:
            return mode not in _FOLLOWS
        return mode == 'safe' or (mode == 'stopped' and self._lost_since is not None)

    def _phase_of(self, progress: Progress) -> str:
        if not self.has_begun:
            return progress.mode or 'starting'
        if progress.mode not in _FOLLOWS:
            return progress.mode
        if progress.mode == Mode.GUIDED.value:
            return 'released'
        if not self._plan.learns:
            return 'tracking'
        return 'adapting' if progress.learns else 'estimates frozen'


def demo_actions(system: System, seconds: str, output: str, real_time: str) -> list[Any]:
    """Actions of ROS 2's ``launch`` for a system and the values of `DEMO_ARGUMENTS`.

    The recorder is stopped at the end of the demo, before the other nodes, so that its recording
    is complete when the report is written. A demo that ends early leaves its report, and the
    launch prints the reason and fails.
    """
    from launch.actions import EmitEvent, OpaqueCoroutine, RegisterEventHandler
    from launch.event_handlers import OnProcessExit, OnProcessIO
    from launch.events import Shutdown, matches_action
    from launch.events.process import ShutdownProcess
    plan = make_plan(robot=system.robot, robot_args=system.robot_args,
                     controller=system.controller, plant=system.plant,
                     rate=system.rate, seed=system.seed, seconds=parse_number('seconds', seconds),
                     output=Path(output), real_time=parse_bool('real_time', real_time))
    check_plan(plan)
    recorder, *others = plan.processes()
    actions = {process.node: node_action(replace(process, essential=False))
               for process in (replace(recorder, output='log'), *others)}
    watch = Watch(plan)
    last_lines: dict[str, str] = {}
    failure: BringupError | None = None
    is_stopping = False

    def stop(reason: BringupError | None = None) -> list[Any]:
        """Stop the recorder, and with it the demo."""
        nonlocal failure, is_stopping
        if is_stopping:
            return []
        failure, is_stopping = reason, True
        return [EmitEvent(event=ShutdownProcess(
            process_matcher=matches_action(actions[recorder.node])))]

    def reader(process: NodeProcess, stream: str, read: Callable[[Line], Any]
               ) -> Callable[[Any], None]:
        pending = ''

        def on_output(event: Any) -> None:
            nonlocal pending
            *lines, pending = (pending + event.text.decode('utf-8', 'replace')).split('\n')
            for text in lines:
                read(Line(process, stream, text))

        return on_output

    read_progress = reader(recorder, 'stdout', watch.on_line)

    def on_progress(event: Any) -> list[Any]:
        read_progress(event)
        try:
            return stop() if watch.is_over() else []
        except BringupError as reason:
            return stop(reason)

    def on_error_line(line: Line) -> None:
        watch.note(line)
        if line.text.strip():
            last_lines[line.process.node] = line.text

    def on_exit(process: NodeProcess) -> Callable[[Any, Any], list[Any]]:
        def ended(event: Any, context: Any) -> list[Any]:
            is_early = not is_stopping and not context.is_shutdown
            stopped = stop(BringupError(
                end_message(event.returncode, last_lines.get(process.node, '')),
                subject=process.full_name, remedy=None)) if is_early else []
            if process is recorder:
                return [OpaqueCoroutine(coroutine=finish)] if is_stopping else []
            return stopped

        return ended

    async def finish(context: Any) -> None:
        run = asyncio.get_running_loop().run_in_executor
        if failure is not None:
            await run(None, report_failure, plan, failure, watch)
            raise failure  # launch prints it, stops all nodes and returns 1
        await run(None, report, plan, watch.messages)
        await context.emit_event(Shutdown(reason='the demo is over'))

    return [
        RegisterEventHandler(OnProcessIO(target_action=actions[recorder.node],
                                         on_stdout=on_progress)),
        *(RegisterEventHandler(OnProcessIO(target_action=actions[process.node],
                                           on_stderr=reader(process, 'stderr', on_error_line)))
          for process in (recorder, *others)),
        *(RegisterEventHandler(OnProcessExit(target_action=actions[process.node],
                                             on_exit=on_exit(process)))
          for process in (recorder, *others)),
        *actions.values()]
