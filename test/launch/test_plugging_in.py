# SPDX-License-Identifier: Apache-2.0
"""Launch files for Gazebo and for hardware, by ROS 2's own launch system.

Gazebo and ros2_control are not there: stand-ins note in which order they are started
and how, and the simulated arm plays the arm.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip('launch_ros', reason='launch_ros comes with ROS 2 only; test/bringup checks '
                                         'what the launch files are made of')
rclpy = pytest.importorskip('rclpy')

from launch import LaunchContext  # noqa: E402
from launch.launch_description_sources import PythonLaunchDescriptionSource  # noqa: E402

from robot_dynamics.bringup.processes import child_environment  # noqa: E402
from robot_dynamics.bringup.ros_environment import private_domain  # noqa: E402
from robot_dynamics.bringup.warmup import every_node, warm_up  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.timeout(180, func_only=True)]

FOLDER = Path(__file__).resolve().parents[2] / 'launch'

RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService()
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
    PythonLaunchDescriptionSource(sys.argv[1]),
    launch_arguments=[argument.split(':=', 1) for argument in sys.argv[2:]])]))
sys.exit(service.run())
"""


@pytest.fixture(scope='module', autouse=True)
def warm():
    """Compile before any time-out counts."""
    warm_up(every_node())


class Launched:
    """A launch file that runs in a process of its own, and what it writes."""

    def __init__(self, name, log, environment, **arguments):
        self._log = log
        self._output = log.open('w')
        domain = str(private_domain())
        self.process = subprocess.Popen(
            [sys.executable, '-c', RUN, str(FOLDER / f'{name}.launch.py'),
             *(f'{key}:={value}' for key, value in arguments.items())],
            stdout=self._output, stderr=subprocess.STDOUT, start_new_session=True,
            env=child_environment({
                **os.environ, 'ROS_DOMAIN_ID': domain, 'ROS_LOG_DIR': str(log.parent),
                'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', **environment}))

    @property
    def text(self):
        return self._log.read_text()

    def wait_for(self, words, seconds=120.0):
        end = time.monotonic() + seconds
        while words not in self.text:
            assert self.process.poll() is None, self.text
            assert time.monotonic() < end, f'{words!r} not in:\n{self.text}'
            time.sleep(0.05)

    def stop(self):
        """Press Ctrl-C; return the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(30.0)


@pytest.fixture
def launched(tmp_path):
    running = []

    def start(name, environment=None, **arguments):
        running.append(Launched(name, tmp_path / 'log', environment or {}, **arguments))
        return running[-1]

    yield start
    for item in running:
        try:
            item.stop()
        finally:
            item.process.kill()
            item.process.wait()


def journal(workspace):
    return [json.loads(line) for line in workspace.journal.read_text().splitlines()]


def call_of(entries, name, *words):
    """The one entry of a program with these words in its arguments, and where it is."""
    (found,) = [(index, entry) for index, entry in enumerate(entries)
                if entry[0] == name and all(word in entry for word in words)]
    return found


def test_gazebo_starts_in_order_and_the_arm_is_led(launched, gazebo, patient):
    running = launched('gazebo', gazebo.environment(), robot='arm7', namespace='left', rate='200',
                       headless='true', height='0.7', hardware=patient)
    running.wait_for('the motion starts')
    text = running.text
    entries = journal(gazebo)
    assert entries[call_of(entries, 'gz')[0]][1:] == ['-r -s empty.sdf', 'true']
    created, create = call_of(entries, 'create')
    assert create[create.index('-topic') + 1] == 'robot_description'
    assert create[create.index('-name') + 1] == 'arm7'
    assert create[create.index('-z') + 1] == '0.7'
    assert '__ns:=/left' in create
    manager = '/left/controller_manager'
    broadcast, _ = call_of(entries, 'spawner', 'joint_state_broadcaster', manager)
    configured, spawner = call_of(entries, 'spawner', 'effort_controller', '--inactive', manager)
    activated, _ = call_of(entries, 'ros2', 'switch_controllers', '--activate',
                           'effort_controller', manager)
    assert created < broadcast < configured < activated
    # Our controller sends before the arm is given to it, and the motion begins after that.
    assert text.index('holding: ') < text.index('process started with pid', text.index('holding:'))
    controllers = Path(spawner[spawner.index('--param-file') + 1])
    assert '/left/effort_controller' in controllers.read_text()
    bridge = call_of(entries, 'parameter_bridge')[1]
    assert '/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock' in bridge
    call_of(entries, 'robot_state_publisher', '__ns:=/left')
    assert running.stop() == 0
    # What was made for it is gone with it, and nothing of it is left.
    assert not controllers.exists()
    assert running.text.count('process has finished cleanly') == text.count(
        'process started with pid')


def test_an_arm_that_is_not_led_is_held(launched, gazebo, patient):
    running = launched('gazebo', gazebo.environment(), robot='arm7', namespace='left', rate='200',
                       reference='none', hardware=patient)
    running.wait_for('tracking: the arm follows')
    time.sleep(1.0)
    assert '[reference]' not in running.text
    assert running.stop() == 0


@pytest.mark.parametrize(('package', 'executable', 'words'), [
    ('ros_gz_sim', 'create', 'the arm could not be created (status 3)'),
    ('controller_manager', 'spawner', 'joint_state_broadcaster could not be started, or the arm '
                                      'is not in the world (status 3)')])
def test_what_fails_ends_all_with_its_name(launched, gazebo, package, executable, words):
    gazebo.executable(gazebo.folder / 'lib' / package / executable, executable, 'sys.exit(3)')
    running = launched('gazebo', gazebo.environment(), robot='arm7')
    assert running.process.wait(90.0) == 1
    assert words in running.text
    assert 'adaptive_controller' not in running.text
    assert 'switch_controllers' not in gazebo.journal.read_text()


@pytest.mark.parametrize(('distro', 'words'), [
    ('jazzy', 'sudo apt install ros-jazzy-ros-gz-sim ros-jazzy-ros-gz-bridge '),
    (None, 'source a ROS 2 installation first')])
def test_missing_packages_are_named_in_one_line(launched, monkeypatch, distro, words):
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    running = launched('gazebo', {'ROS_DISTRO': distro} if distro else {}, robot='arm7')
    assert running.process.wait(90.0) == 1
    text = running.text
    assert 'gazebo.launch.py needs' in text and 'gz_ros2_control' in text
    assert words in text
    assert 'Traceback' not in text
    assert 'process started' not in text


@pytest.mark.parametrize(('name', 'arguments', 'words'), [
    ('gazebo', {'robot': 'no_such_robot'}, 'no_such_robot is neither a file nor a robot'),
    ('gazebo', {'height': 'high'}, "height must be a number, got 'high'"),
    ('gazebo', {'headless': 'maybe'}, "headless must be true or false, got 'maybe'"),
    ('gazebo', {'hardware': 'no_such'}, 'no_such is neither a file nor a known driver'),
    ('hardware', {'hardware': 'no_such'}, 'no_such is neither a file nor a known driver'),
    ('hardware', {'hardware': 'ur', 'robot': 'no_such_robot'},
     'no_such_robot is neither a file nor a robot')])
def test_wrong_arguments_start_nothing(launched, gazebo, name, arguments, words):
    running = launched(name, gazebo.environment(), **arguments)
    assert running.process.wait(90.0) == 1
    assert words in running.text
    assert 'process started' not in running.text


def test_hardware_that_runs_is_taken_over(launched, workspace, tmp_path):
    """Its states, its commands and its description have names of its own."""
    parameters = tmp_path / 'mine.yaml'
    parameters.write_text('adaptive_controller:\n  ros__parameters:\n    rate: 200.0\n'
                          '    command_topic: elsewhere\n    state_timeout: 1.0\n'
                          '    max_age: 2.0\n    resume_after: 20\n')
    domain = str(private_domain())
    environment = {'ROS_DOMAIN_ID': domain}
    arm = subprocess.Popen(
        [sys.executable, '-m', 'robot_dynamics.nodes.simulated_arm', '--ros-args',
         '-r', '__ns:=/left', '-r', 'joint_states:=driver/joint_states', '-p', 'robot:=arm7',
         '-p', 'rate:=200', '-p', 'publish_description:=true', '-p',
         'command_topic:=forward_effort_controller/commands'],
        env=child_environment({**os.environ, **environment,
                               'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}))
    try:
        running = launched('hardware', environment, hardware=str(parameters), namespace='left',
                           command_topic='forward_effort_controller/commands',
                           joint_states='driver/joint_states')
        running.wait_for('tracking: the arm follows')
        assert running.stop() == 0
    finally:
        arm.send_signal(signal.SIGINT)
        assert arm.wait(10.0) == 0


def test_a_simulated_arm_has_a_robot_state_publisher_where_there_is_one(launched, gazebo):
    running = launched('simulation', gazebo.environment(), robot='planar_2r', rate='100',
                       namespace='left')
    running.wait_for('holding: ')
    call_of(journal(gazebo), 'robot_state_publisher', '__ns:=/left')
    assert running.stop() == 0


@pytest.mark.parametrize('path', sorted(FOLDER.glob('*.launch.py')), ids=lambda path: path.name)
def test_every_launch_file_lists_its_arguments(path):
    description = PythonLaunchDescriptionSource(str(path)).get_launch_description(LaunchContext())
    arguments = description.get_launch_arguments()
    assert arguments
    for argument in arguments:
        assert argument.description.endswith('.'), argument.name
        assert argument.default_value is not None, argument.name
    assert len(description.entities) == len(arguments) + 1
