# SPDX-License-Identifier: Apache-2.0
"""Speed of an arm when what controls it ends: a generated controller and the Python node.

    python -m benchmark.real_time_stops --generate FOLDER [--law adaptive] [--rate 1000]
    python -m benchmark.real_time_stops --plugin CLASS --controller TYPE [--law adaptive]
        [--rate 1000] [--runs 3] [--priority 50] [--write]

The arm and its hardware are those of `benchmark/driver_stops.py`, with brakes that close 20 ms
after its efforts end. Behind the real controller manager it is controlled by a generated
controller of type TYPE or by the Python node of the same law. Each is ended while the arm follows
a reference, with and without an unknown payload. The first command writes the package of the
generated controller, to be built with colcon before the second one.

The hardware writes each of its steps into the file of its parameter `log`, as doubles: time, s,
whether efforts act, then position, velocity and effort of the joints. Where it ends with its
process, the last effort acts on for 20 ms, and the brakes close: that is simulated here.

The same file shows the tracking of the generated controller, beside that of the Python session in
a simulation without ROS. A third table has ends without brakes, one run each.
`--write` puts the tables into docs/real_time.md.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
import yaml
from controller_manager_msgs.srv import SwitchController
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from benchmark.driver_stops import (
    BRAKE_DELAY,
    CATCH_RATE,
    CONTROLLERS,
    FASTEST,
    LOG,
    MJCF,
    NAMES,
    PAYLOAD,
    POSE,
    SLOWEST,
    TRIES,
    Bench,
    descendants,
    manager_programs,
    plant_urdf,
    send,
)
from benchmark.sections import DOCS, write_section
from robot_dynamics.control import ControlSession, SessionSettings
from robot_dynamics.control.motion.trajectory_points import sample_points
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.reference import TABLE, make_motion
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import trajectory_message, write_stamp
from robot_dynamics.real_time.generate import write_package
from robot_dynamics.real_time.laws import LAWS

STOPS, TRACKING, FALLS = 'stops', 'tracking', 'without brakes'
#: Name of the generated controller in the controller manager.
GENERATED = 'generated_controller'
#: How long the arm is watched after an end, and the stall. s.
WATCHED, STALL = 3.0, 0.2
#: Each run ends later in the motion, by this time. s.
LATER = 1.7
#: Time from a trajectory to its start, and the part of it whose errors count. s.
LEAD, FIRST, LAST = 0.1, 8.0, 28.0
#: Parameters of the node of the reference.
VALUES = {row.name: row.default for row in TABLE}


class NodeBench(Bench):
    """The processes of one run under the Python node, with a reference from this process.

    The node of the reference has no real-time priority: a busy machine would delay it.
    """

    reference = 'none'

    def __init__(self, *arguments: Any, **keywords: Any):
        super().__init__(*arguments, **keywords)
        self._motion = make_motion(Robot.from_urdf('arm7'), VALUES, np.array(POSE))
        self._chunks = self.node.create_publisher(
            JointTrajectory, f'{self.controller}/reference', qos.command())
        self.start = 0.0
        self.stream = self.node.create_timer(VALUES['chunk_period'], self._send_chunk)

    def _send_chunk(self) -> None:
        """Send the next part of the motion, from when the arm follows on."""
        if self.mode != 'tracking':
            return
        self.start = self.start or time.time() + LEAD
        elapsed = max(0.0, time.time() - self.start)
        message = trajectory_message(NAMES, sample_points(
            self._motion, elapsed, VALUES['horizon'], VALUES['point_period']))
        write_stamp(message.header.stamp, round(1e9 * (self.start + elapsed)))
        self._chunks.publish(message)


class RealTimeBench(NodeBench):
    """The same under a generated controller: nothing else runs beside the controller manager."""

    def start_driver(self) -> Any:
        """Start the controller manager with the generated controller."""
        content = yaml.safe_load(CONTROLLERS.read_text())
        manager = content['controller_manager']['ros__parameters']
        manager['update_rate'] = round(self._options.rate)
        manager[GENERATED] = {'type': self._options.controller}
        content[GENERATED] = {'ros__parameters': {'telemetry_rate': 200.0}}
        parameters = self._folder / 'generated.yaml'
        parameters.write_text(yaml.safe_dump(content))
        programs = manager_programs()
        first = self.processes.start(str(programs / 'ros2_control_node'), '--ros-args',
                                     '--params-file', str(parameters))
        self.processes.run(str(programs / 'spawner'), 'joint_state_broadcaster')
        self.processes.run(str(programs / 'spawner'), GENERATED, '--inactive', '--param-file',
                           str(parameters))
        return first

    def start_launch(self) -> Any:
        """Start nothing beside the controller manager."""
        return self.manager

    def begin(self) -> None:
        """Activate the controller: it holds the arm, and follows when the arm obeys."""
        if not self.wait(60.0, lambda: bool(self._states)):
            raise RuntimeError('there are no joint states')
        self.activate(GENERATED)


def processes_of(bench: Bench) -> list[int]:
    """Process ids of everything."""
    return [pid for process in bench.processes.running if process.poll() is None
            for pid in (process.pid, *descendants(process.pid))]


def manager_of(bench: Bench) -> list[int]:
    """Process ids of the controller manager."""
    return [bench.manager.pid, *descendants(bench.manager.pid)]


def kill_others(bench: NodeBench) -> None:
    """Kill every process but the controller manager; the reference ends, too."""
    bench.stream.cancel()
    kept = manager_of(bench)
    for pid in processes_of(bench):
        if pid not in kept:
            send(pid, signal.SIGKILL)


def interrupt(bench: NodeBench) -> None:
    """Press Ctrl-C in the terminal of all processes; the reference ends, too."""
    bench.stream.cancel()
    for pid in processes_of(bench):
        send(pid, signal.SIGINT)


def stall(bench: Bench) -> None:
    """Stop all processes for some time."""
    pids = processes_of(bench)
    for pid in pids:
        send(pid, signal.SIGSTOP)
    time.sleep(STALL)
    for pid in reversed(pids):
        send(pid, signal.SIGCONT)


def deactivate(bench: Bench) -> None:
    """Deactivate the controller, as its kind is deactivated."""
    if isinstance(bench, RealTimeBench):
        bench.call(SwitchController, 'controller_manager/switch_controller',
                   SwitchController.Request(deactivate_controllers=[GENERATED],
                                            strictness=SwitchController.Request.STRICT))
    else:
        bench.call(ChangeState, f'{bench.controller}/change_state', ChangeState.Request(
            transition=Transition(id=Transition.TRANSITION_DEACTIVATE)))


CASES: dict[str, Callable[[NodeBench], None]] = {
    'kill -9 of every other process': kill_others,
    'Ctrl-C of everything': interrupt,
    f'everything stalls for {STALL:g} s': stall,
    'deactivation': deactivate,
}


class Log(NamedTuple):
    """Steps of the hardware: time, s, and whether efforts act, shape (m,), and joints, (m, n)."""

    time: np.ndarray
    acts: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


def read_log(folder: Path) -> Log:
    """Steps that the hardware has written."""
    n = len(NAMES)
    values = np.fromfile(folder / LOG)
    rows = values[:len(values) // (2 + 3 * n) * (2 + 3 * n)].reshape(-1, 2 + 3 * n)
    return Log(rows[:, 0], rows[:, 1] > 0.0,
               *(rows[:, 2 + k * n:2 + (k + 1) * n] for k in range(3)))


def without_manager(log: Log, folder: Path, *, brakes: bool) -> np.ndarray:
    """Speeds of the arm after its controller manager has ended, shape (m, n), rad/s."""
    model = mujoco.MjModel.from_xml_path(str(folder / MJCF))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = log.position[-1], log.velocity[-1]
    data.qfrc_applied[:] = log.effort[-1]
    speeds = []
    for step in range(round(WATCHED / model.opt.timestep)):
        if step * model.opt.timestep >= BRAKE_DELAY:
            data.qfrc_applied[:] = 0.0
        if brakes and step * model.opt.timestep >= BRAKE_DELAY:
            data.qvel *= np.exp(-CATCH_RATE * model.opt.timestep)
        else:
            mujoco.mj_step(model, data)
        speeds.append(data.qvel.copy())
    return np.array(speeds)


class Motion(NamedTuple):
    """Speed of the fastest joint, as a share of its limit."""

    #: At an end, the largest after it, and the largest while efforts act.
    before: float
    peak: float
    controlled: float


def motion(bench: NodeBench, folder: Path, end: Callable[[NodeBench], None],
           later: float) -> Motion:
    """What the arm does after an end of its control, some time, s, after it has begun to move."""
    bench.begin()

    def moves() -> bool:
        if bench.mode == 'safe':
            raise RuntimeError('it went safe on a machine with other load')
        return bench.mode == 'tracking' and bool(
            SLOWEST < np.abs(bench.states(1)[0].velocity).max() < FASTEST)

    for _ in range(3):  # The reference begins, and moves.
        if not bench.wait(20.0, moves):
            raise RuntimeError(f'it does not move: {bench.mode}')
        bench.wait(0.3)
    bench.wait(later)
    if not bench.wait(20.0, moves):
        raise RuntimeError(f'it does not move: {bench.mode}')
    begin = time.time()
    end(bench)
    bench.wait(WATCHED)
    log, limit = read_log(folder), Robot.from_urdf('arm7').limits.velocity
    share, after = (np.abs(log.velocity) / limit).max(axis=1), log.time >= begin
    peak = share[after].max(initial=0.0)
    if bench.manager.poll() is not None:
        speeds = without_manager(log, folder, brakes=bench.brakes)
        peak = max(peak, (np.abs(speeds) / limit).max())
    return Motion(float(share[~after][-1]), float(peak),
                  float(share[after & log.acts].max(initial=0.0)))


def track(bench: NodeBench, folder: Path) -> float:
    """Error of the position while the arm follows, root of the mean square over joints, rad."""
    errors: list[tuple[float, np.ndarray]] = []
    bench.listen(JointState, f'{bench.controller}/tracking_error',
                 lambda data, _: errors.append(read_error(data)))
    bench.begin()
    if not bench.wait(20.0, lambda: bench.start > 0.0):
        raise RuntimeError(f'it does not follow: {bench.mode}')
    if bench.wait(LEAD + LAST, lambda: bench.mode != 'tracking'):
        raise RuntimeError(f'it stopped following: {bench.mode}')
    return rms([error for stamp, error in errors
                if bench.start + FIRST < stamp < bench.start + LAST])


def read_error(data: bytes) -> tuple[float, np.ndarray]:
    """Stamp, s, and position error, rad, of a serialised message of ``tracking_error``."""
    message = deserialize_message(data, JointState)
    stamp = message.header.stamp
    return stamp.sec + 1e-9 * stamp.nanosec, np.array(message.position)


def make_session(options: argparse.Namespace) -> ControlSession:
    """Session in Python, and the one that is generated."""
    robot, period = Robot.from_urdf('arm7'), 1.0 / options.rate
    return ControlSession(robot, LAWS[options.law].kind(robot, period=period),
                          SessionSettings(period=period))


def track_in_process(options: argparse.Namespace, payload: float) -> float:
    """Error of the position as that of `track`, of the Python session without ROS, rad."""
    period = 1.0 / options.rate
    with tempfile.TemporaryDirectory() as folder:
        plant_urdf('', Path(folder), brakes=True, payload=payload)
        model = mujoco.MjModel.from_xml_path(str(Path(folder) / MJCF))
    data = mujoco.MjData(model)
    data.qpos[:] = POSE
    session = make_session(options)
    motion = make_motion(session.robot, VALUES, np.array(POSE))
    errors, begin, cycle = [], math.inf, 0
    while cycle * period < begin + LAST:
        cycle += 1
        t = cycle * period
        command = session.on_joint_state(t, t, NAMES, data.qpos, data.qvel, data.qfrc_applied)
        assert command is not None
        data.qfrc_applied[:] = command.effort
        mujoco.mj_step(model, data, round(period / model.opt.timestep))
        if session.mode is Mode.TRACKING:
            if begin == math.inf:
                begin = t + LEAD
                session.accept_trajectory(NAMES, sample_points(
                    motion, 0.0, LAST, VALUES['point_period']), begin)
            if t > begin + FIRST:
                errors.append(session.q_d - session.pose)
        elif t > 10.0:
            raise RuntimeError(f'it does not follow: {session.mode.value}, {session.reason}')
    return rms(errors)


def rms(errors: list[np.ndarray]) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


def measure(options: argparse.Namespace, act: Callable[[Any, Path], Any],
            make: type[NodeBench], payload: float, *, brakes: bool = True) -> Any:
    """One run; a system that does not come up on a busy machine is started again."""
    name = f'{options.law}_controller' if make is NodeBench else GENERATED
    for attempt in range(TRIES):
        with tempfile.TemporaryDirectory() as folder:
            bench = make(options, Path(folder), brakes=brakes, controller=name, payload=payload)
            try:
                return act(bench, Path(folder))
            except RuntimeError as error:
                print(error, file=sys.stderr, flush=True)
                if attempt + 1 == TRIES:
                    raise
            finally:
                bench.close()
    raise AssertionError


#: Columns of the table of ends: controller, and the payload, kg.
COLUMNS = [(make, payload) for make in (RealTimeBench, NodeBench) for payload in (0.0, PAYLOAD)]


def stops(options: argparse.Namespace) -> str:
    """Table of the ends: largest speed of all runs, as a share of the limit of the joint."""
    lines = ['| end | ' + ' | '.join(
        f'{"Python node" if make is NodeBench else "generated"}, '
        + (f'{payload:g} kg unknown' if payload else 'as its model')
        for make, payload in COLUMNS) + ' |', '|---|' + '---:|' * len(COLUMNS)]
    for title, end in CASES.items():
        cells = []
        for make, payload in COLUMNS:
            runs = [measure(options, partial(motion, end=end, later=LATER * run), make, payload)
                    for run in range(options.runs)]
            print(title, make.__name__, payload, runs, flush=True)
            cells.append(f'{max(run.peak for run in runs):.0%} '
                         f'({statistics.median(run.before for run in runs):.0%} before)')
        lines.append(f'| {title} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def falls(options: argparse.Namespace) -> str:
    """Table of the ends of the generated controller without brakes, one run each."""
    columns = [f'{payload}, {time}' for payload in ('as its model', f'{PAYLOAD:g} kg unknown')
               for time in ('while efforts act', 'with the fall')]
    lines = ['| end | ' + ' | '.join(columns) + ' |', '|---|' + '---:|' * len(columns)]
    for title, end in CASES.items():
        runs = [measure(options, partial(motion, end=end, later=0.0), RealTimeBench, payload,
                        brakes=False) for payload in (0.0, PAYLOAD)]
        lines.append(f'| {title} | ' + ' | '.join(
            f'{run.controlled:.0%} | {run.peak:.0%}' for run in runs) + ' |')
        print(lines[-1], flush=True)
    return '\n'.join(lines)


def tracking(options: argparse.Namespace) -> str:
    """Table of the tracking."""
    lines = ['| payload | generated, mrad | Python session without ROS, mrad | ratio |',
             '|---|---:|---:|---:|']
    for payload in (0.0, PAYLOAD):
        real = measure(options, track, RealTimeBench, payload)
        study = track_in_process(options, payload)
        lines.append(f'| {f"{payload:g} kg unknown" if payload else "none"} | {1e3 * real:.2f} '
                     f'| {1e3 * study:.2f} | {real / study:.3f} |')
        print(lines[-1], flush=True)
    return '\n'.join(lines)


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument('--generate', type=Path, metavar='FOLDER', help='write the package')
    parser.add_argument('--plugin', help='class of the simulated hardware')
    parser.add_argument('--controller', help='type of the generated controller')
    parser.add_argument('--law', choices=LAWS, default='adaptive', help='its law')
    parser.add_argument('--only', choices=(STOPS, TRACKING, FALLS))
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--rate', type=float, default=1000.0)
    parser.add_argument('--priority', type=int, default=0, help='real-time priority of all '
                        'processes, on a machine with other load; 0 for none')
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args()
    if options.generate:
        write_package(options.generate, options.generate.name, make_session(options))
        return
    if not options.plugin or not options.controller:
        parser.error('--plugin and --controller are missing')
    if options.priority:
        # What is measured must not wait for this process.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(max(options.priority - 1, 1)))
    for section, make in ((TRACKING, tracking), (STOPS, stops), (FALLS, falls)):
        if options.only in (None, section):
            table = make(options)
            print(table)
            if options.write:
                command = 'python -m benchmark.real_time_stops --plugin CLASS --controller TYPE' \
                    f' --law {options.law} --runs {options.runs} --rate {options.rate:g}' \
                    + (f' --priority {options.priority}' if options.priority else '') + ' --write'
                write_section(DOCS / 'real_time.md', section, f'{table}\n\nMade by `{command}`.')


if __name__ == '__main__':
    main()
