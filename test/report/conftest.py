# SPDX-License-Identifier: Apache-2.0
import json
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.report.recording import read_recording

rosbag2 = pytest.importorskip('rosbags.rosbag2', reason='recordings need rosbags')
typesys = pytest.importorskip('rosbags.typesys')


@dataclass
class Run:
    """A made-up run whose result is known exactly.

    The error of joint k is (1 + k) `before` sin(2 pi t) until `switch`, and
    (1 + k) `after` sin(2 pi t) from then on.
    """

    namespace: str = ''
    rate: float = 100.0
    seconds: float = 12.0
    switch: float = 6.0
    before: float = 0.02
    after: float = 0.001
    latency: float = 0.0004
    worst_latency: float = 0.0031
    adapts: bool = True
    command_order: tuple[int, ...] = (6, 5, 4, 3, 2, 1, 0)
    lost: int = 0
    #: Seconds of the recorder for one of the arm.
    slowness: float = 1.0
    commands_every: int = 1
    modes: tuple[tuple[float, str], ...] = ((0.0, 'tracking'),)
    with_description: bool = True
    with_inverse_dynamics: bool = True
    with_timing: bool = True


class BagMaker:
    """Writes messages of a run with the topics and types of the real nodes."""

    epoch = 1_700_000_000

    def __init__(self, folder: Path, run: Run):
        self.folder, self.run = folder, run
        self.store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
        self.types = self.store.types
        self.robot = Robot.from_urdf(resolve_robot('arm7'))
        self.connections = {}

    def header(self, t):
        nanoseconds = round(t * 1e9)
        time = self.types['builtin_interfaces/msg/Time'](
            self.epoch + nanoseconds // 10**9, nanoseconds % 10**9)
        return self.types['std_msgs/msg/Header'](time, '')

    def joints(self, t, order=None, **fields):
        order = list(range(self.robot.n)) if order is None else list(order)
        names = [self.robot.joint_names[i] for i in order]
        arrays = [np.asarray(fields[name], float)[order] if name in fields else np.empty(0)
                  for name in ('position', 'velocity', 'effort')]
        return self.types['sensor_msgs/msg/JointState'](self.header(t), names, *arrays)

    def vector(self, values):
        layout = self.types['std_msgs/msg/MultiArrayLayout']([], 0)
        return self.types['std_msgs/msg/Float64MultiArray'](layout, np.asarray(values, float))

    def text(self, data):
        return self.types['std_msgs/msg/String'](data)

    def write(self, writer, topic, message, t):
        name = f'{self.run.namespace}/{topic}'
        if name not in self.connections:
            self.connections[name] = writer.add_connection(name, message.__msgtype__,
                                                           typestore=self.store)
        # The recorder's clock is half a millisecond behind the stamps.
        received = self.epoch * 10**9 + round((t * self.run.slowness + 0.0005) * 1e9)
        writer.write(self.connections[name], received,
                     self.store.serialize_cdr(message, message.__msgtype__))

    def make(self) -> Path:
        run = self.run
        with rosbag2.Writer(self.folder, version=8,
                            storage_plugin=rosbag2.StoragePlugin.MCAP) as writer:
            if run.with_description:
                urdf = resolve_robot('arm7').read_text()
                self.write(writer, 'robot_description', self.text(urdf), 0.0)
            names = list(self.robot.parameter_names)
            self.write(writer, 'adaptive_controller/parameter_names',
                       self.text(json.dumps(names)), 0.0)
            for t, mode in run.modes:
                self.write(writer, 'adaptive_controller/mode', self.text(mode), t)
            for k in range(round(run.seconds * run.rate)):
                self.cycle(writer, k, k / run.rate)
        return self.folder

    def cycle(self, writer, k, t):
        run, n = self.run, self.robot.n
        size = run.before if t < run.switch else run.after
        error = size * np.arange(1, n + 1) * np.sin(2 * np.pi * t)
        desired = 0.4 * np.sin(0.5 * t + np.arange(n)) + np.array([0, 0.3, 0, -1.6, 0, 1.9, 0])
        parts = {name: (i + 1) * np.sin(t + np.arange(n)) for i, name in
                 enumerate(('gravity', 'inertial', 'coriolis', 'friction'))}
        self.write(writer, 'joint_states', self.joints(
            t, position=desired - error, velocity=0.2 * np.cos(0.5 * t + np.arange(n)),
            effort=sum(parts.values()) * (1.3 if t < run.switch else 1.0)), t)
        controller = 'adaptive_controller'
        if k % run.commands_every == 0:
            self.write(writer, 'effort_controller/commands',
                       self.vector(sum(parts.values())), t)
        self.write(writer, f'{controller}/command', self.joints(
            t, run.command_order, effort=sum(parts.values())), t)
        self.write(writer, f'{controller}/tracking_error', self.joints(
            t, run.command_order, position=error, velocity=0 * error), t)
        estimate = self.robot.parameters.copy()
        if run.adapts and t >= run.switch:
            estimate[60] += 2.0 * (1 - np.exp(run.switch - t - 1 / run.rate))
        self.write(writer, f'{controller}/parameter_estimate', self.vector(estimate), t)
        if run.with_timing:
            # Between two messages some cycle was slower.
            worst = run.worst_latency if k == 300 else 1.5 * run.latency
            self.write(writer, f'{controller}/timing',
                       self.vector([run.latency, 0.0001, worst, 0.0002]), t)
        if run.with_inverse_dynamics:
            for name, effort in parts.items():
                self.write(writer, f'inverse_dynamics/terms/{name}',
                           self.joints(t, effort=effort), t)
            self.write(writer, 'inverse_dynamics/torque',
                       self.joints(t, effort=sum(parts.values())), t)


@pytest.fixture(scope='session')
def make_bag(tmp_path_factory):
    """Write the recording of a made-up run; its options are those of `Run`."""
    def make(**options):
        return BagMaker(tmp_path_factory.mktemp('run') / 'bag', Run(**options)).make()
    return make


@pytest.fixture(scope='session')
def bag(make_bag):
    return make_bag()


@pytest.fixture(scope='session')
def run(bag):
    return read_recording(bag)


class Outline(HTMLParser):
    """Checks that tags are closed in order; collects text, ids and what is loaded."""

    void = {'meta', 'input', 'link', 'img', 'br'}

    def __init__(self, page):
        super().__init__()
        self.open, self.text, self.ids, self.loads = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if 'id' in attributes:
            self.ids.append(attributes['id'])
        self.loads += [attributes[name] for name in ('src', 'href') if name in attributes]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (['script'], ['style']):
            self.text.append(data)


@pytest.fixture
def outline_of():
    """Reads a page, see `Outline`."""
    return Outline
