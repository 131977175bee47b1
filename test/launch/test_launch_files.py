# SPDX-License-Identifier: Apache-2.0
"""Every launch file, started by ROS 2's own launch system, with real processes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

launch_pytest = pytest.importorskip(
    'launch_pytest', reason='launch_pytest comes with ROS 2 only; test/bringup runs the same '
                            'systems through the process runner')
rclpy = pytest.importorskip('rclpy')

from launch import LaunchDescription  # noqa: E402
from launch.actions import IncludeLaunchDescription, RegisterEventHandler  # noqa: E402
from launch.event_handlers import OnProcessExit  # noqa: E402
from launch.launch_description_sources import PythonLaunchDescriptionSource  # noqa: E402
from launch_pytest.actions import ReadyToTest  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from robot_dynamics.bringup import cli  # noqa: E402
from robot_dynamics.bringup.launching.actions import node_action  # noqa: E402
from robot_dynamics.bringup.processes import child_environment  # noqa: E402
from robot_dynamics.bringup.ros_environment import private_domain  # noqa: E402
from robot_dynamics.bringup.system import System  # noqa: E402
from robot_dynamics.bringup.warmup import every_node, warm_up  # noqa: E402
from robot_dynamics.nodes.ros.transports import without_shared_memory  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.timeout(180, func_only=True)]

FOLDER = Path(__file__).resolve().parents[2] / 'launch'
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                     durability=rclpy.qos.DurabilityPolicy.TRANSIENT_LOCAL)


#: Exit statuses of the processes of the running test.
STATUSES = {}

RUN_TO_THE_END = """
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


def alone():
    """Let the processes of a test, and the test itself, be the only ones in their domain."""
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ['ROS_DOMAIN_ID'] = str(private_domain())


def system(*actions):
    """Return actions that a test runs, in a domain of their own, with their statuses noted."""
    alone()
    STATUSES.clear()
    note = OnProcessExit(on_exit=lambda event, context: STATUSES.update(
        {event.process_name: event.returncode}))
    return LaunchDescription([RegisterEventHandler(note), *actions, ReadyToTest()])


def include(name, **arguments):
    return IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(FOLDER / f'{name}.launch.py')),
        launch_arguments=arguments.items())


def simulated_arm():
    """An arm with a running driver."""
    return [node_action(process)
            for process in System(controller='none', inverse_dynamics=False).processes()]


@pytest.fixture(scope='module', autouse=True)
def warm():
    """Compile before any time-out counts."""
    warm_up(every_node())


class Ear:
    """A node that listens in a context of its own."""

    def __enter__(self):
        self.context = Context()
        with without_shared_memory():
            rclpy.init(context=self.context)
        self.node = Node('ear', context=self.context, enable_rosout=False)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        return self

    def __exit__(self, *_):
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()

    def wait(self, message_type, topic, accept=lambda message: True, *, qos=10, seconds=60.0):
        """Return the first message that is accepted."""
        heard = []
        # A function, because rclpy asks callbacks for their signature.
        subscription = self.node.create_subscription(
            message_type, topic, lambda message: heard.append(message), qos)
        deadline = time.monotonic() + seconds
        try:
            while time.monotonic() < deadline:
                self.executor.spin_once(timeout_sec=0.1)
                while heard:
                    message = heard.pop(0)
                    if accept(message):
                        return message
        finally:
            self.node.destroy_subscription(subscription)
        raise AssertionError(f'nothing on {topic} that would do')


def tracking(message):
    return message.data == 'tracking'


@launch_pytest.fixture
def simulation():
    return system(include('simulation', plant='loaded', namespace='left', rate='200'))


@pytest.mark.launch(fixture=simulation)
def test_simulation_tracks_under_its_namespace():
    with Ear() as ear:
        state = ear.wait(JointState, '/left/joint_states', qos=qos_profile_sensor_data)
        assert list(state.name) == [f'joint{i}' for i in range(1, 8)]
        ear.wait(String, '/left/adaptive_controller/mode', tracking, qos=LATCHED)
        error = ear.wait(JointState, '/left/adaptive_controller/tracking_error')
        assert max(map(abs, error.position)) < 0.5
        command = ear.wait(Float64MultiArray, '/left/effort_controller/commands')
        assert len(command.data) == 7
        ear.wait(JointState, '/left/inverse_dynamics/terms/gravity')
    yield
    assert list(STATUSES.values()) == [0, 0, 0, 0], STATUSES


@launch_pytest.fixture
def adaptive():
    return system(*simulated_arm(), include('adaptive'))


@pytest.mark.launch(fixture=adaptive)
def test_the_controller_takes_over_an_arm_that_runs():
    with Ear() as ear:
        ear.wait(String, '/adaptive_controller/mode', tracking, qos=LATCHED)
        command = ear.wait(Float64MultiArray, '/effort_controller/commands')
        assert any(abs(effort) > 1.0 for effort in command.data)  # it carries the arm
    yield
    assert list(STATUSES.values()) == [0, 0, 0], STATUSES


@launch_pytest.fixture
def inverse_dynamics():
    return system(*simulated_arm(), include('inverse_dynamics'))


@pytest.mark.launch(fixture=inverse_dynamics)
def test_torque_by_its_parts_of_an_arm_that_runs():
    with Ear() as ear:
        parts = {part: ear.wait(JointState, f'/inverse_dynamics/terms/{part}')
                 for part in ('gravity', 'coriolis', 'inertial', 'friction')}
        assert all(len(message.effort) == 7 for message in parts.values())
    yield
    assert list(STATUSES.values()) == [0, 0], STATUSES


@launch_pytest.fixture
def hardware(tmp_path):
    parameters = tmp_path / 'mine.yaml'
    parameters.write_text('adaptive_controller:\n  ros__parameters:\n    state_timeout: 1.0\n'
                          '    max_age: 2.0\n    resume_after: 20\n')
    return system(*simulated_arm(), include('hardware', hardware=str(parameters), robot='arm7'))


@pytest.mark.launch(fixture=hardware)
def test_an_arm_behind_a_driver_is_commanded_and_its_torque_published():
    with Ear() as ear:
        ear.wait(String, '/adaptive_controller/mode', tracking, qos=LATCHED)
        command = ear.wait(Float64MultiArray, '/effort_controller/commands')
        assert len(command.data) == 7
        ear.wait(JointState, '/inverse_dynamics/residual')
    yield
    assert list(STATUSES.values()) == [0, 0, 0, 0], STATUSES


@launch_pytest.fixture
def excitation(tmp_path):
    plan = tmp_path / 'plan.yaml'
    assert cli.main(['excite', 'rpr', '--output', str(plan), '--seconds', '4', '--restarts', '1',
                     '--iterations', '2', '--workers', '1']) == 0
    return system(include('excitation', plan=str(plan), robot='rpr', rate='200',
                          controller='computed_torque', output=str(tmp_path / 'run')))


@pytest.mark.launch(fixture=excitation)
def test_a_plan_is_played_by_a_controller():
    """That it ends by itself with a recording is tested below."""
    with Ear() as ear:
        ear.wait(String, '/excitation/state', lambda message: '"playing"' in message.data,
                 qos=LATCHED)
        reference = ear.wait(JointTrajectory, '/computed_torque_controller/reference')
        assert len(reference.points) > 2
    yield
    assert STATUSES and set(STATUSES.values()) == {0}, STATUSES


@launch_pytest.fixture
def in_gazebo(gazebo, patient, monkeypatch):
    for name, value in gazebo.environment().items():
        monkeypatch.setenv(name, value)
    return system(include('gazebo', robot='arm7', namespace='left', rate='200', headless='true',
                          reference='none', hardware=patient))


@pytest.mark.launch(fixture=in_gazebo)
def test_gazebo_and_a_controller_that_holds_its_arm():
    with Ear() as ear:
        ear.wait(String, '/left/adaptive_controller/mode', tracking, qos=LATCHED, seconds=120.0)
        command = ear.wait(Float64MultiArray, '/left/effort_controller/commands')
        assert len(command.data) == 7
    yield
    assert STATUSES and set(STATUSES.values()) == {0}, STATUSES


@launch_pytest.fixture
def demo(tmp_path):
    return system(include('demo', seconds='19', rate='200', output=str(tmp_path / 'out')))


@pytest.mark.launch(fixture=demo)
def test_the_demo_records_an_arm_that_is_led():
    """That it ends by itself with a report is tested below."""
    with Ear() as ear:
        ear.wait(String, '/adaptive_controller/mode', tracking, qos=LATCHED)
        ear.wait(JointState, '/adaptive_controller/tracking_error')
    yield
    assert STATUSES and set(STATUSES.values()) == {0}, STATUSES


def run_to_the_end(name, **arguments):
    """Run a launch file in a process of its own until it ends by itself."""
    alone()
    return subprocess.run(
        [sys.executable, '-c', RUN_TO_THE_END, str(FOLDER / f'{name}.launch.py'),
         *(f'{key}:={value}' for key, value in arguments.items())],
        capture_output=True, text=True, timeout=150,
        env=child_environment(os.environ))


@pytest.mark.parametrize(('arguments', 'words'), [
    ({'robot': 'no_such_robot'}, 'no_such_robot is neither a file nor a robot'),
    ({'plant': 'no_such_plant'}, 'no_such_plant is neither a file nor a plant'),
    ({'rate': 'fast'}, "rate must be a number, got 'fast'"),
    ({'use_sim_time': 'perhaps'}, "use_sim_time must be true or false, got 'perhaps'"),
    ({'controller': 'pid'}, 'pid is not a controller; choose one of'),
    ({'controler': 'gravity'}, 'controler is not an argument of simulation.launch.py; did you '
                               'mean controller?')])
def test_wrong_arguments_start_nothing(arguments, words):
    done = run_to_the_end('simulation', **arguments)
    assert done.returncode != 0
    assert words in done.stdout + done.stderr
    assert 'process started' not in done.stdout


def test_an_excitation_ends_by_itself_and_leaves_its_recording(tmp_path):
    plan, output = tmp_path / 'plan.yaml', tmp_path / 'run'
    assert cli.main(['excite', 'rpr', '--output', str(plan), '--seconds', '4', '--restarts', '1',
                     '--iterations', '2', '--workers', '1']) == 0
    done = run_to_the_end('excitation', plan=plan, robot='rpr', rate='200', output=output,
                          controller='computed_torque')
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'the motion is complete' in done.stdout + done.stderr
    assert list(output.glob('*.mcap'))


def test_an_excitation_without_a_plan_starts_nothing():
    done = run_to_the_end('excitation', robot='rpr')
    assert done.returncode != 0
    assert 'plan is not given' in done.stdout + done.stderr
    assert 'process started' not in done.stdout


def test_the_demo_ends_by_itself_and_leaves_its_report(tmp_path):
    output = tmp_path / 'out'
    done = run_to_the_end('demo', seconds='19', rate='200', output=output)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'RMS tracking error' in done.stdout
    assert (output / 'report.html').stat().st_size > 100_000
    assert (output / 'report.png').exists()
    assert list((output / 'recording').glob('*.mcap'))


def test_a_demo_that_fails_leaves_its_reason_and_a_report_and_fails_the_launch(tmp_path):
    plant, output = tmp_path / 'plant.yaml', tmp_path / 'out'
    plant.write_text('/**:\n  ros__parameters:\n    payload_mass: 1.0\n    mass_scale: 1.0\n'
                     '    position_noise: -1.0\n')
    done = run_to_the_end('demo', plant=plant, output=output)
    assert done.returncode == 1
    reason = 'simulated_arm ended with status 1: parameter position_noise must be'
    text = done.stdout + done.stderr
    errors = [line for line in text.splitlines() if '[ERROR] [launch]' in line]
    assert errors and reason in errors[-1], text
    assert reason in (output / 'report.html').read_text()


def test_a_controller_that_refuses_its_configuration_fails_the_launch(tmp_path):
    done = run_to_the_end('simulation', rate='30')
    assert done.returncode == 1
    assert '/adaptive_controller ended with status 1' in done.stdout + done.stderr
