# SPDX-License-Identifier: Apache-2.0
"""An arm with elastic joints and its controller: real processes."""

from __future__ import annotations

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ControlError, ModelError, ParameterError, SimulationError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes import elastic_pd_controller, simulated_arm
from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.description import Described, load_elastic_robot
from robot_dynamics.nodes.simulated_arm import ArmStates, build_elastic_plant, build_plant
from robot_dynamics.simulation.faults import Fault, FaultKind

CONTROLLER = 'elastic_pd_controller'
START, GOAL = [-0.6, 0.4], np.array([0.3, -0.5])
#: Slow enough for a machine that does other things, too.
RATE = 200.0
DEEP = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)


@pytest.fixture(scope='module')
def elastic():
    return ElasticRobot.from_yaml('planar_2r', Robot.from_urdf(resolve_robot('planar_2r')))


def defaults(*tables, **changes):
    """Values of parameters as a node has them."""
    return {**{row.name: row.default for table in tables for row in table}, **changes}


def test_settles_at_the_set_point_without_a_steady_state_error(start_in_lock_step, observer,
                                                              elastic):
    links = observer.collect(JointState, 'joint_states', DEEP)
    motors = observer.collect(JointState, 'motor_states', DEEP)
    modes = observer.collect(String, f'{CONTROLLER}/mode', qos.latched())
    errors = observer.collect(JointState, f'{CONTROLLER}/tracking_error', RELIABLE)
    told = {'robot': 'planar_2r', 'elastic_joints': 'planar_2r', 'rate': RATE}
    # Motors without dry friction: what is left of an error is the controller's.
    start_in_lock_step('simulated_arm', initial_position=START, coulomb_friction=[0.0], **told)
    controller = start_in_lock_step(CONTROLLER, delay=0.01, **told)
    goals = observer.node.create_publisher(JointTrajectory, f'{CONTROLLER}/reference',
                                           qos.command())
    assert observer.spin(90.0, lambda: bool(modes) and modes[-1].data == 'tracking'), \
        [mode.data for mode in modes]
    # Taken over from its brakes it does not sag, though its springs do.
    np.testing.assert_allclose(links[-1].position, START, atol=2e-3)
    assert list(motors[-1].name) == ['motor_joint1', 'motor_joint2']
    assert not len(links[-1].effort)
    message = JointTrajectory(joint_names=['joint1', 'joint2'], points=[JointTrajectoryPoint(
        positions=GOAL.tolist(), velocities=[0.0, 0.0], time_from_start=Duration(sec=1))])

    def error() -> float:
        return float(np.abs(np.array(links[-1].position) - GOAL).max())

    def goes() -> bool:
        return error() < np.abs(START - GOAL).max() - 0.1

    for _ in range(10):  # until its publisher is heard
        goals.publish(message)
        if observer.spin(2.0, goes):
            break
    assert observer.spin(20.0, lambda: error() < 2e-3), error()
    assert observer.spin(20.0, lambda: error() < 2e-4 and max(map(abs, links[-1].velocity)) < 1e-3)
    errors.clear()
    assert observer.spin(5.0, lambda: bool(errors))
    assert np.abs(errors[-1].position).max() < 1e-3
    # The motors stand where springs carry the arm, by the efforts that gravity asks for.
    gravity = Dynamics(elastic.links).gravity_torque(np.array(links[-1].position))
    np.testing.assert_allclose(motors[-1].effort, gravity, atol=0.1)
    np.testing.assert_allclose(np.array(motors[-1].position) - links[-1].position,
                               gravity / elastic.joints.stiffness, atol=1e-3)
    assert modes[-1].data == 'tracking'
    status, output, log = controller.stop()
    assert status == 0
    assert 'is sufficient; damping below' in output + log
    assert ' N m/rad; K_D ' in output + log and ' N m s/rad\n' in output + log


@pytest.mark.parametrize(('node', 'parameters', 'words'), [
    ('simulated_arm', {'elastic_joints': 'planar_2r', 'fault.time': 1.0,
                       'fault.joint': 'joint1'}, 'joint1 cannot have a fault'),
    (CONTROLLER, {'elastic_joints': 'planar_2r', 'gains.damping': [1e4]},
     'joint1 must have a damping between'),
])
def test_refuses_in_one_line(start, node, parameters, words):
    status, _, stderr = start(node, robot='planar_2r', **parameters).wait(60.0)
    assert status == 1
    assert len(stderr.strip().splitlines()) == 1 and words in stderr, stderr


@pytest.mark.parametrize(('changes', 'words'), [
    ({'gains.damping': (5.0, 1e3)}, 'joint2 must have a damping between'),
    ({'gains.stiffness': (1e5,)}, 'unstable'),
    ({'gains.stiffness': (1.0, 2.0, 3.0)}, 'parameter gains.stiffness')])
def test_gains_that_cannot_be_are_refused(elastic, changes, words):
    values = defaults(CONTROLLER_PARAMETERS, elastic_pd_controller.TABLE, **changes)
    with pytest.raises((ControlError, ParameterError), match=words):
        elastic_pd_controller.make_law(elastic, values)


def test_gains_that_are_given_are_taken(elastic):
    for changes in ({'gains.stiffness': (80.0,)}, {'gains.damping': (15.0, 8.0)},
                    {'gains.stiffness': (80.0, 70.0), 'gains.damping': (15.0, 8.0)}):
        values = defaults(CONTROLLER_PARAMETERS, elastic_pd_controller.TABLE, **changes)
        gains = elastic_pd_controller.make_law(elastic, values).gains
        for name, wanted in changes.items():
            np.testing.assert_array_equal(getattr(gains, name.removeprefix('gains.')),
                                          np.broadcast_to(wanted, 2))


def test_springs_come_from_a_file_or_from_the_tags(elastic):
    source = resolve_robot('planar_2r')
    described = Described(elastic.links, source)
    by_name = load_elastic_robot(described, {'elastic_joints': 'planar_2r'})
    np.testing.assert_array_equal(by_name.parameters(), elastic.parameters())
    for where in (described, Described(elastic.links, None)):
        with pytest.raises(ModelError) as caught:
            load_elastic_robot(where, {'elastic_joints': 'description'})
        assert 'elastic_joints' in caught.value.remedy


def test_a_plant_is_what_the_parameters_say(elastic):
    values = defaults(simulated_arm.TABLE, **{
        'initial_position': (0.2, 0.3), 'payload_mass': 1.0, 'viscous_friction': (0.7,),
        'stribeck.rise': (0.2,)})
    plant = build_elastic_plant(elastic, values)
    np.testing.assert_array_equal(plant.q, [0.2, 0.3])
    assert plant.time == 0.0
    assert plant.robot.inertial_parameters[:, 0].sum() == pytest.approx(7.5)
    with pytest.raises(ParameterError, match=r'parameter armature.*rotor_inertia'):
        build_elastic_plant(elastic, {**values, 'armature': (0.1,)})
    with pytest.raises(ParameterError, match=r'parameter stribeck\.drop'):
        build_plant(elastic.links, defaults(simulated_arm.TABLE, **{'stribeck.drop': (0.1,)}))
    with pytest.raises(SimulationError, match='joint2'):
        plant.add_fault(Fault('joint2', FaultKind.BLOCK, 1.0))
    with pytest.raises(SimulationError, match='link2'):
        plant.add_push('link2', [1.0, 0.0, 0.0])


def test_links_and_motors_may_share_one_message(make_node, observer, elastic):
    node = make_node('arm')
    plant = build_elastic_plant(elastic, defaults(simulated_arm.TABLE))
    values = defaults(simulated_arm.TABLE, motor_states='joint_states', link_effort='spring',
                      joint_order=('joint2', 'joint1'), motor_resolution=0.01)
    heard = observer.collect(JointState, 'joint_states', DEEP)
    states = ArmStates(node, plant, values, 'base')

    def said() -> bool:
        states.publish(1.0, 0)
        return bool(heard)

    assert observer.spin(20.0, said)
    message = heard[-1]
    assert list(message.name) == ['joint2', 'joint1', 'motor_joint2', 'motor_joint1']
    np.testing.assert_allclose(message.position[:2], plant.q[::-1])
    np.testing.assert_allclose(message.position[2:], 0.01 * np.round(plant.motor_q[::-1] / 0.01))
    np.testing.assert_allclose(message.effort[:2], plant.spring_effort[::-1])
    np.testing.assert_array_equal(message.effort[2:], 0.0)
    with pytest.raises(ParameterError, match='motor_prefix'):
        ArmStates(node, plant, {**values, 'motor_prefix': ''}, 'base')
