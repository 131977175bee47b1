# SPDX-License-Identifier: Apache-2.0
"""A session in Python and its controller in C beside each other, with the same states."""

import hashlib
import subprocess
from pathlib import Path

import numpy as np

from benchmark.fault_parts.runs import GUIDED, LAWS, Bench
from robot_dynamics.control import ControlSession
from robot_dynamics.control.motion.trajectory import TrajectoryBuffer
from robot_dynamics.control.motion.trajectory_points import PointArrays
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.errors import ControlError, TrajectoryError
from robot_dynamics.real_time.generate import core_files
from test.real_time.compiling import compile_c, write_core

MODES = tuple(Mode)
#: Largest difference of efforts, N m or N.
EQUAL = 1e-9
#: Largest number of points of a trajectory.
POINTS = 1000


def limited_buffer(robot):
    return TrajectoryBuffer.for_robot(robot, max_points=POINTS)


class Beside:
    """Records what a session is asked and answers; `compare` asks the C the same.

    Times are those of ros2_control: a state is received at its stamp.
    """

    def __init__(self, session):
        self.session, self.names = session, session.robot.joint_names
        self.texts = core_files(session)
        self.script, self.expected = ['a'], [(Mode.WAITING, '', None, None, None)]

    def state(self, t, q, v, effort):
        session = self.session
        command = session.on_joint_state(t, t, self.names, q, v, effort) or session.on_tick(t)
        self._note('s', [t, *q, *v, *effort], command=command)
        return command

    def reference(self, times, q, v=None, a=None, stamp=0.0):
        try:
            self.session.accept_trajectory(self.names, PointArrays(
                np.array(times, float), *(None if x is None else np.array(x, float)
                                          for x in (q, v, a))), stamp)
            followed = True
        except TrajectoryError:
            followed = False
        rows = [row for row in (q, v, a) if row is not None]
        self._note('r', [len(rows) - 1, stamp, len(times), *times, *np.ravel(rows)],
                   result=followed)
        return followed

    def pose(self, law, position, quaternion):
        law.setpoint.follow_pose(position, quaternion)
        self._note('p', [*position, *quaternion])

    def reactivate(self):
        self.session.reactivate()
        self._note('a')

    def take_over(self, effort):
        self.session.take_over(effort)
        self._note('e', effort)

    def cancel(self):
        self.session.cancel_trajectory()
        self._note('c')

    def halt(self):
        self.session.halt()
        self._note('h')

    def resume(self):
        try:
            self.session.resume()
            resumed = True
        except ControlError:
            resumed = False
        self._note('u', result=not resumed)

    def wind_down(self, dt):
        command = self.session.wind_down(dt)
        self._note('w', [dt], command=command)
        return command

    def stop(self):
        self._note('x', command=self.session.stop('not needed'))

    def compare(self, programs):
        """Play the script to the controller, and compare every step; the modes seen."""
        text = ''.join(self.texts.values())
        folder = programs / hashlib.sha256(text.encode()).hexdigest()[:16]
        program = folder / 'driver'
        if not program.exists():
            write_core(folder, self.texts)
            compile_c(program, Path(__file__).with_name('driver.c'),
                      *sorted(folder.glob('*.c')), f'-I{folder}')
        done = subprocess.run([program], input='\n'.join(self.script), capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) == len(self.expected)
        for step, (line, (mode, reason, result, effort, adapted)) in enumerate(
                zip(lines, self.expected, strict=True)):
            *words, joint, cause = line.split(maxsplit=5 + len(self.names))
            where = f'step {step}: {self.script[step][:100]}'
            assert MODES[int(words[0])] is mode, f'{where}: {mode}, {reason}'
            if mode in (Mode.HOLDING, Mode.SAFE):
                assert reason.startswith(cause), f'{where}: {cause}, {reason}'
                assert joint == '-1' or self.names[int(joint)] in reason, where
            assert result is None or (words[1] == '0') == result, where
            assert (words[2] == '1') == (effort is not None), where
            assert adapted is None or (words[3] == '1') == adapted, where
            if effort is not None:
                got = np.array(words[4:], float)
                np.testing.assert_allclose(got, effort, rtol=0.0, atol=EQUAL, err_msg=where)
        return {mode for mode, *_ in self.expected}

    def _note(self, call, numbers=(), result=None, command=None):
        self.script.append(' '.join([call, *(f'{x:.17g}' for x in numbers)]))
        self.expected.append((self.session.mode, self.session.reason, result,
                              None if command is None else command.effort.copy(),
                              self.session.adapted if call == 's' else None))


class BesideBench(Bench):
    """The bench of the fault matrix under ros2_control: a state in every cycle.

    Hardware without a new state repeats the last one. Where `skips`, the machine is late instead:
    there is no cycle.
    """

    def __init__(self, arm, law, rate, skips=False, make_session=None, **options):
        super().__init__(arm, law, rate, **options)
        self.session = GUIDED.get(law, ControlSession)(
            self.model, self.law, self.session.settings, trajectory=limited_buffer(self.model)) \
            if make_session is None else make_session(self.model, self.law, self.period)
        self.beside = Beside(self.session)
        self.skips, self._last = skips, None

    def follow(self, points):
        if self.mode is Mode.GUIDED:
            super().follow(points)
            return
        self.beside.reference([point.time_from_start for point in points],
                              *([getattr(point, name) for point in points]
                                for name in ('positions', 'velocities', 'accelerations')))

    def answers(self, states):
        command = None
        if (pose := self.lead()) is not None:
            self.beside.pose(self.law, *pose)
        if states:
            self._last = states[-1]
        if self._last is not None and (states or not self.skips):
            last = self._last
            command = self.beside.state(self.time + 1.0, last.q, last.v, last.effort)
        yield self.period, self.effort if command is None else command.effort.copy()


def laws():
    """Laws that are written as C."""
    from robot_dynamics.real_time.laws import LAWS as WRITTEN
    return [name for name in LAWS if name in WRITTEN]
