# SPDX-License-Identifier: Apache-2.0
"""Nothing that is sent to a controller, however large, keeps it from its joint states."""

from __future__ import annotations

import numpy as np
import pytest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue, SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import LARGEST_STATE, SizeLimitedReader
from robot_dynamics.nodes.ros.node import MOST_CHANGED, MOST_READ, limited

CONTROLLER = 'pd_gravity_controller'
POSE = [0.3, 0.5, -0.4, -1.2, 0.3, 1.6, 0.2]
RATE = 100.0
#: Seconds without joint states that the controller puts up with; rclpy alone takes longer to
#: read one trajectory of this many points.
TIMEOUT, POINTS = 0.5, 60_000


class Log:
    """The log of a node."""

    def __init__(self):
        self.lines: list[str] = []

    def get_logger(self):
        return self

    def warning(self, text, **options):
        self.lines.append(text)


def test_a_message_is_read_up_to_a_size_and_only_if_it_is_one():
    log, heard = Log(), []
    reader = SizeLimitedReader(log, JointState, 'joint_states', heard.append)
    good = JointState(name=['a'], position=[1.0])
    reader.read(serialize_message(good))
    assert heard == [good] and log.lines == []
    many = JointState(name=[f'joint{k}' for k in range(10_000)], position=[0.0] * 10_000)
    data = serialize_message(many)
    reader.read(data)
    reader.read(b'\0\1\0\0' + b'\xff' * 40)
    reader.read(b'')
    assert heard == [good] and reader.rejected == 3
    assert log.lines[0].startswith(f'message on joint_states rejected: it has {len(data)} bytes, '
                                   f'more than {LARGEST_STATE}')
    assert 'is not a JointState' in log.lines[1] and '3 so far' in log.lines[2]


@pytest.mark.parametrize(('kind', 'field', 'most'), [
    (GetParameters, 'names', MOST_READ), (DescribeParameters, 'names', MOST_READ),
    (GetParameterTypes, 'names', MOST_READ), (SetParameters, 'parameters', MOST_CHANGED),
    (SetParametersAtomically, 'parameters', MOST_CHANGED)])
def test_requests_for_parameters_are_bounded(kind, field, most):
    served = []
    serve = limited(kind, lambda request, response: served.append(request) or response)
    item = Parameter if field == 'parameters' else str
    request, response = kind.Request(**{field: [item()] * most}), kind.Response()
    assert serve(request, response) is response and served == [request]
    answer = serve(kind.Request(**{field: [item()] * (most + 1)}), kind.Response())
    assert served == [request]
    refusals = {SetParameters: lambda: answer.results,
                SetParametersAtomically: lambda: [answer.result]}
    for refusal in refusals.get(kind, list)():
        assert isinstance(refusal, SetParametersResult) and not refusal.successful
        assert f'{most + 1} parameters, more than {most}' in refusal.reason


def test_other_services_are_not_touched():
    assert limited(Trigger, print) is print


@pytest.mark.parametrize('style', ['waitset', 'events'])
def test_joint_states_are_answered_whatever_else_is_sent(start, observer, style):
    if style == 'events':
        pytest.importorskip('rclpy.experimental', reason='this rclpy has no EventsExecutor')
    modes = observer.collect(String, f'{CONTROLLER}/mode', qos.latched())
    commands = observer.collect(Float64MultiArray, 'effort_controller/commands',
                                QoSProfile(depth=1000))
    arm = start('simulated_arm', robot='arm7', initial_position=POSE, rate=RATE, hold_time=0.9)
    controller = start(CONTROLLER, robot='arm7', rate=RATE, spin=style, state_timeout=TIMEOUT,
                       max_age=1.0, state_publishers=0, max_tracking_error=10.0)
    assert observer.spin(90.0, lambda: bool(modes) and modes[-1].data == 'tracking'), arm.stop()
    references = observer.node.create_publisher(JointTrajectory, f'{CONTROLLER}/reference',
                                                qos.command())
    states = observer.node.create_publisher(JointState, 'joint_states', qos.state())
    names = [f'joint{k}' for k in range(1, 8)]
    point = JointTrajectoryPoint(positions=POSE, velocities=[0.0] * 7, accelerations=[0.0] * 7)
    long = serialize_message(JointTrajectory(joint_names=names, points=[point] * POINTS))
    wide = serialize_message(JointTrajectory(joint_names=[f'j{k}' for k in range(10_000)],
                                             points=[JointTrajectoryPoint(
                                                 positions=np.zeros(10_000))]))
    many = serialize_message(JointState(
        name=[*names, *(f'j{k}' for k in range(10_000))], position=[*POSE, *([0.0] * 10_000)]))
    assert observer.spin(30.0, lambda: references.get_subscription_count() > 0)
    for message in (long, wide, long):
        references.publish(message)
        observer.spin(0.3)
    for _ in range(20):
        states.publish(many)
        observer.spin(0.02)
    value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE_ARRAY,
                           double_array_value=np.zeros(100_000))
    changes = [Parameter(name='payload.com', value=value)]
    (answer,) = observer.call(SetParameters, f'{CONTROLLER}/set_parameters',
                              SetParameters.Request(parameters=changes), timeout=30.0).results
    assert not answer.successful and 'got 100000' in answer.reason
    few = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=1.0)
    changes = [Parameter(name=f'payload.mass{k}', value=few) for k in range(1000)]
    (answer,) = observer.call(SetParameters, f'{CONTROLLER}/set_parameters',
                              SetParameters.Request(parameters=changes), timeout=30.0).results
    assert not answer.successful and '1000 parameters, more than 100' in answer.reason
    count = len(commands)
    assert observer.spin(30.0, lambda: len(commands) > count + 20)
    # Not even for a moment: latched, and each of them heard since it began to track.
    assert [mode.data for mode in modes[modes.index(String(data='tracking')):]] == ['tracking']
    status, _, stderr = controller.stop()
    assert status == 0
    for words in (f'at most 1000 points, got {POINTS}',
                  f'it has {len(many)} bytes, more than {LARGEST_STATE}'):
        assert words in stderr
