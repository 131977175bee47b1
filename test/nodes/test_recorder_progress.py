# SPDX-License-Identifier: Apache-2.0
import json
import math

import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.nodes.recorder import MOST_ERRORS, Progress

TEXT, STATE = 'std_msgs/msg/String', 'sensor_msgs/msg/JointState'
ARRAY = 'std_msgs/msg/Float64MultiArray'


def error(*position):
    return serialize_message(JointState(position=position))


def test_says_how_things_go():
    progress = Progress()
    progress.note('/c/mode', TEXT, serialize_message(String(data='tracking')))
    progress.note('/c/tracking_error', STATE, error(0.3, 0.4))
    progress.note('/c/parameter_estimate', ARRAY, b'one')
    line = json.loads(progress.line(7))
    assert line['mode'] == 'tracking' and line['messages'] == 7 and line['learns'] is False
    assert line['error'] == pytest.approx(math.sqrt(0.125))
    progress.note('/c/parameter_estimate', ARRAY, b'two')
    assert json.loads(progress.line(8))['learns'] is True


@pytest.mark.parametrize('data', [b'', b'\x00', b'\x00\x01\x00\x00' + b'\xff' * 40,
                                  serialize_message(String(data='x'))[:-3]])
def test_bytes_that_are_no_message_say_nothing(data):
    progress = Progress()
    progress.note('/c/mode', TEXT, serialize_message(String(data='tracking')))
    for topic, kind in (('/c/mode', TEXT), ('/c/tracking_error', STATE)):
        progress.note(topic, kind, data)
    line = json.loads(progress.line(1))
    assert (line['mode'], line['error']) == ('tracking', None)


def test_messages_of_another_type_say_nothing():
    progress = Progress()
    progress.note('/c/mode', STATE, error(1.0))
    progress.note('/c/tracking_error', TEXT, serialize_message(String(data='x')))
    line = json.loads(progress.line(1))
    assert (line['mode'], line['error']) == (None, None)


@pytest.mark.parametrize('position', [(), (math.nan,), (math.inf, 0.0), (1e300,)])
def test_an_error_that_is_none_does_not_count(position):
    progress = Progress()
    progress.note('/c/tracking_error', STATE, error(*position))
    progress.note('/c/tracking_error', STATE, error(0.1))
    assert json.loads(progress.line(1))['error'] == pytest.approx(0.1)


def test_old_errors_are_forgotten():
    progress = Progress()
    for k in range(5000):
        message = JointState(position=(0.1,))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(10_000_000 * k, 10**9)
        progress.note('/c/tracking_error', STATE, serialize_message(message))
    assert len(progress._errors) <= 102


def test_errors_without_stamps_do_not_grow():
    progress = Progress()
    data = error(0.1)
    for _ in range(2 * MOST_ERRORS):
        progress.note('/c/tracking_error', STATE, data)
    assert len(progress._errors) == MOST_ERRORS
