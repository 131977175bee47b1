# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.ros import qos

NODE = 'inverse_dynamics'


@pytest.fixture
def scenario(cases) -> list[dict[str, str]]:
    content = json.loads((cases / 'js_qos' / 'scenario.json').read_text())
    return content['publishers']


def profile(entry: dict[str, str]) -> QoSProfile:
    """Return the profile that a publisher of the case offers."""
    return QoSProfile(
        depth=1,
        reliability=ReliabilityPolicy[entry.get('reliability', 'reliable').upper()],
        durability=DurabilityPolicy[entry.get('durability', 'volatile').upper()])


def test_case_joint_states_of_either_reliability_are_received(scenario, start, observer):
    offered = [entry for entry in scenario if entry['topic'] == 'joint_states']
    assert len(offered) == 2
    torques = observer.collect(JointState, f'{NODE}/torque', QoSProfile(depth=100))
    start(NODE, robot='arm7')
    names = [f'joint{k}' for k in range(1, 8)]
    for entry in offered:
        publisher = observer.node.create_publisher(JointState, 'joint_states', profile(entry))
        torques.clear()
        for _ in range(3000):
            message = JointState(name=names, position=[0.0, 0.1, 0.0, -1.0, 0.0, 1.0, 0.0])
            message.header.stamp = observer.node.get_clock().now().to_msg()
            publisher.publish(message)
            if observer.spin(0.02, lambda: len(torques) >= 3):
                break
        assert len(torques) >= 3, entry
        observer.node.destroy_publisher(publisher)


def test_case_a_latched_description_is_received_by_a_late_joiner(scenario, start, observer):
    entry = next(entry for entry in scenario if entry.get('durability') == 'transient_local')
    publisher = observer.node.create_publisher(String, 'robot_description', profile(entry))
    publisher.publish(String(data=resolve_robot('arm7').read_text()))
    start(NODE)
    assert observer.spin(60.0, lambda: observer.node.count_subscribers('/joint_states') == 1)


def test_case_a_volatile_description_is_reported_by_name(scenario, start, observer):
    entry = next(entry for entry in scenario if entry.get('durability') == 'volatile')
    publisher = observer.node.create_publisher(String, 'robot_description', profile(entry))
    text = resolve_robot('arm7').read_text()
    node = start(NODE, description_timeout=2.0)
    while node.process.poll() is None:
        publisher.publish(String(data=text))
        observer.spin(0.1)
    status, _, stderr = node.wait()
    assert status == 1
    assert len(stderr.strip().splitlines()) == 1
    for wanted in ('/robot_description', 'transient local', 'robot'):
        assert wanted in stderr


def test_profiles_can_be_overridden(start, observer):
    override = 'qos_overrides./joint_states.subscription.reliability:=reliable'
    start(NODE, '-p', override, robot='arm7')
    assert observer.spin(60.0, lambda: observer.node.count_subscribers('/joint_states') == 1)
    endpoint, = observer.node.get_subscriptions_info_by_topic('/joint_states')
    assert endpoint.qos_profile.reliability == ReliabilityPolicy.RELIABLE


def test_every_call_gives_a_profile_of_its_own():
    # rclpy writes overrides into the profile it is given.
    for make in (qos.state, qos.command, qos.command_input, qos.latched, qos.telemetry):
        make().depth = 77
        assert make().depth != 77
