# SPDX-License-Identifier: Apache-2.0
"""A simulated arm whose controller has a wrong model of it, tracked better and better.

The arm is lighter than its controller believes and carries a load nobody told it of. At
first the estimates are frozen; then the controller learns. Arm, controller, reference, model
torque and recorder are separate ROS 2 processes. The recording, a report and its picture are
left in the output folder. With another --controller the same is seen of one that does not
learn; gravity is led by no reference, and it is seen how far the arm drifts from where it
was let go.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.bringup.arguments import DEMO_SYSTEM
from robot_dynamics.bringup.controllers import find_controller
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.bringup.progress import (
    Complaints,
    Progress,
    parse_progress,
    progress_line,
)
from robot_dynamics.bringup.runner import Line
from robot_dynamics.bringup.session import require_ros, run_until_stopped
from robot_dynamics.bringup.system import NO_PLANT, System
from robot_dynamics.bringup.warmup import warm_up
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.errors import BringupError
from robot_dynamics.report.summary import unit_of

#: Where recording, report and picture go.
OUTPUT = Path('demo-output')

#: Period of the reference, s. Errors are compared over one period each: the same motion.
PERIOD = 8.0

#: What the reference takes to get up to speed, the way to its first pose included, s.
RAMP = 3.0

#: Shortest run with a period before and one after adaptation begins, s.
SHORTEST = RAMP + 2 * PERIOD

#: What never moves is given up after so long, s: cold kernels take a while to compile.
START_TIMEOUT = 90.0

#: A controller that stopped following the reference gets so long to begin again, s.
LOST_TIMEOUT = 5.0

#: The largest threshold that a node takes. N m or N.
UNLIMITED = 1e9

#: Modes in which a controller does what it is there for.
_FOLLOWS = (Mode.TRACKING.value, Mode.GUIDED.value)


@dataclass(frozen=True)
class Plan:
    """What the demo runs and for how long.

    Parameters
    ----------
    system : System
        The arm and its controller; records into `recording`.
    seconds : float
        How long the arm follows its reference, s.
    output : Path
        Where everything is left.
    """

    system: System
    seconds: float
    output: Path

    @property
    def recording(self) -> Path:
        """Folder of the rosbag2 recording."""
        return self.output / 'recording'

    def processes(self) -> tuple[NodeProcess, ...]:
        """Return what runs."""
        return self.system.processes()


def make_plan(*, robot: str = 'arm7', controller: str = 'adaptive', plant: str = 'loaded',
              rate: float = 500.0, seed: int = 0, seconds: float = 28.0,
              output: Path = OUTPUT) -> Plan:
    """Return the demo for these choices.

    Raises
    ------
    BringupError
        When it would be too short to compare anything, or nothing would move.
    """
    if not seconds >= SHORTEST:
        raise BringupError(f'is {seconds:g}', subject='seconds',
                           remedy=f'give {SHORTEST:g} or more: {RAMP:g} s to get up to speed and '
                                  f'two periods of {PERIOD:g} s that are compared')
    if controller == 'none' or plant == NO_PLANT:
        raise BringupError('is none', subject='controller' if controller == 'none' else 'plant',
                           remedy='the demo needs a simulated arm and a controller; use '
                                  'robot-dynamics up for anything else')
    node = find_controller(controller).node
    # On a busy machine a process may stand still for a while. Nobody gets hurt here, so arm
    # and controller then go on sooner than they would by default.
    patience = {'state_timeout': 0.3, 'resume_after': 100, 'max_tracking_error': 1.0}
    learning = {'adapt_after': RAMP + PERIOD} if node == find_controller('adaptive').node else {}
    # Five processes, two cores: the way of waiting that costs least.
    return Plan(System(
        robot=robot, controller=controller, plant=plant, rate=rate, seed=seed, spin='waitset',
        record=output / 'recording', parameters={
            node: {**patience, **learning},
            # The arm waits where the motion starts.
            'simulated_arm': {'initial_position': first_pose(robot, seed), 'hold_time': 0.4,
                              'release_time': 0.1},
            'reference': {'trajectory': 'fourier', 'base_frequency': 1 / PERIOD},
            **({'inverse_dynamics': {'faults.thresholds': lenient_thresholds(robot)}}
               if plant == 'loaded' else {}),
            'recorder': {'progress_period': 1.0},
        }), seconds, output)


def lenient_thresholds(robot: str) -> tuple[float, ...]:
    """Return what nobody may explain of an arm that is wrong on purpose, N m or N.

    Half as much again as the largest efforts: two kilograms are nearly all that the wrist of a
    Panda has.
    """
    effort = 1.5 * load_description(robot).robot.limits.effort
    return tuple(np.where(np.isnan(effort), UNLIMITED, np.minimum(effort, UNLIMITED)).tolist())


def first_pose(robot: str, seed: int) -> tuple[float, ...]:
    """Return where the periodic reference starts, rad or m."""
    motion = exciting_fourier(load_description(robot).robot, seed, base_frequency=1 / PERIOD)
    return tuple(motion.sample(0.0)[0].tolist())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the demo to a parser."""
    defaults = make_plan()
    for argument in DEMO_SYSTEM:
        value = getattr(defaults.system, argument.name)
        parser.add_argument(f'--{argument.name}', type=type(value), default=value,
                            metavar=argument.name.upper(), help=argument.text)
    parser.add_argument('--seconds', type=float, default=defaults.seconds, metavar='SECONDS',
                        help='How long the arm follows its reference.')
    parser.add_argument('--output', type=Path, default=defaults.output, metavar='FOLDER',
                        help='Where the recording and the report are left.')


def run(options: argparse.Namespace) -> int:
    """Run the demo with parsed options; return the exit status."""
    plan = make_plan(seconds=options.seconds, output=options.output, **{
        argument.name: getattr(options, argument.name) for argument in DEMO_SYSTEM})
    description = load_description(plan.system.robot)
    say(f'{description.robot.name}, {description.robot.n} joints, plant {plan.system.plant}, '
        f'controller {plan.system.controller}, {plan.system.rate:g} Hz, seed {plan.system.seed}')
    check_writable(plan.output)
    require_ros()
    # Nodes compile what is missing, too; done before, the user sees what takes so long.
    processes = plan.processes()
    warm_up(processes)
    watch = Watch(plan, unit=unit_of(description.robot))
    finished = run_until_stopped(processes, on_line=watch.on_line, is_over=watch.is_over)
    if not finished:
        say('stopped; the recording so far is in ' + str(plan.recording))
        return 130
    say('reading the recording ...')
    return report(plan)


def check_writable(folder: Path) -> None:
    """Refuse a folder that nothing can be left in, before anything runs."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BringupError(f'cannot be written ({error.strerror})', subject=str(folder),
                           remedy='name another folder with --output') from error


def report(plan: Plan) -> int:
    """Read the recording of a demo, print what it shows and leave the report."""
    from robot_dynamics.bringup.demo_story import tell
    from robot_dynamics.report.run_page import build_report
    from robot_dynamics.report.summary import table, verdict
    result = build_report(plan.recording, plan.output, story=tell(plan), period=PERIOD)
    say(f'\n{table(result.summary)}\n\n{verdict(result.summary)}\n')
    if plan.system.controller == 'adaptive' and result.summary.adaptation_start is None:
        say(f'It learns once it has been led for {RAMP + PERIOD:g} s without a break, and it was '
            'not: end what else keeps this machine busy, or try a lower --rate.\n')
    left = {str(result.page): 'open it in a browser', str(result.picture): 'the picture',
            str(plan.recording): 'for ros2 bag, PlotJuggler, Foxglove, robot-dynamics identify'}
    width = max(map(len, left))
    for path, what in left.items():
        say(f'{path:<{width}}  {what}')
    return 0


class Watch:
    """Shows how the demo goes, and knows when it is over.

    Parameters
    ----------
    plan : Plan
        The demo.
    write : callable of str
        Where lines go.
    unit : str
        Unit of a thousandth of a tracking error.
    """

    def __init__(self, plan: Plan, write: Callable[[str], None] | None = None, *,
                 unit: str = 'mrad') -> None:
        self._plan = plan
        self._write = say if write is None else write
        self._unit = unit
        self._begin: float | None = None
        self._now = 0.0
        self._phase = ''
        self._lost_since: float | None = None
        self._is_over = False
        self._complaints = Complaints()

    def on_line(self, line: Line) -> None:
        """Take a line of a process: progress is shown, complaints are passed on."""
        progress = parse_progress(line.text) if line.process.node == 'recorder' else None
        if progress is None:
            complaint = self._complaints.read(line)
            if complaint is not None:
                self._write(complaint)
            return
        # That nodes stop one by one at the end is no news.
        if self._is_over:
            return
        self._now = progress.time
        if self._begin is None and progress.error is not None:
            self._begin = progress.time
        if not self._is_lost(progress.mode):
            self._lost_since = None
        elif self._lost_since is None:
            self._lost_since = progress.time
        self._show(progress)

    def is_over(self) -> bool:
        """Whether the arm has followed its reference long enough, and still does.

        Raises
        ------
        BringupError
            When it never began to, or no longer does.
        """
        if self._lost_since is not None and self._now - self._lost_since > LOST_TIMEOUT:
            raise BringupError('the controller no longer follows the reference', subject='demo',
                               remedy=f'it said: {self._complaints.last or "nothing"}; where this '
                                      'machine is busy with other things, try a lower --rate')
        if self._begin is not None:
            self._is_over = self._lost_since is None \
                and self._now - self._begin >= self._plan.seconds
            return self._is_over
        if self._now > START_TIMEOUT:
            raise BringupError('the arm did not begin to move', subject='demo',
                               remedy='look at what the nodes said above')
        return False

    def _is_lost(self, mode: str) -> bool:
        """Whether the controller gave up; at the start it stands still for other reasons, too."""
        if self._begin is not None:
            return mode not in _FOLLOWS
        return mode == 'safe' or (mode == 'stopped' and self._lost_since is not None)

    def _show(self, progress: Progress) -> None:
        """Write a line, while nothing moves only where something is new."""
        tracking = 0.0 if self._begin is None else progress.time - self._begin
        phase = self._phase_of(progress)
        if self._begin is not None or phase != self._phase:
            self._write(progress_line(tracking, phase, progress.error, unit=self._unit,
                                      columns=shutil.get_terminal_size().columns))
        self._phase = phase

    def _phase_of(self, progress: Progress) -> str:
        if self._begin is None:
            return progress.mode or 'starting'
        if progress.mode not in _FOLLOWS:
            return progress.mode
        if progress.mode == Mode.GUIDED.value:
            return 'let go'
        if self._plan.system.controller != 'adaptive':
            return 'tracking'
        return 'adapting' if progress.learns else 'estimates frozen'


def say(text: str) -> None:
    """Write to the terminal at once."""
    print(text, file=sys.stdout, flush=True)
