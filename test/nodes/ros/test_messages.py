# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import deserialize_message, serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.errors import ParameterError
from robot_dynamics.nodes.ros.messages import (
    ArrayMessage,
    JointStateMessage,
    StampClock,
    array_of,
    joint_order,
    to_nanoseconds,
    write_stamp,
)


def test_views_write_into_what_is_sent():
    state = JointStateMessage(['a', 'b'], position=True, effort=True)
    state.position[:] = [1.0, 2.0]
    state.effort[1] = 3.0
    sent = deserialize_message(serialize_message(state.stamp(1_500_000_001)), JointState)
    assert sent.name == ['a', 'b']
    assert list(sent.position) == [1.0, 2.0]
    assert list(sent.velocity) == []
    assert list(sent.effort) == [0.0, 3.0]
    assert (sent.header.stamp.sec, sent.header.stamp.nanosec) == (1, 500_000_001)


def test_arrays_are_labelled_row_major():
    array = ArrayMessage(('joint', 'parameter'), (2, 3))
    values = np.arange(6.0).reshape(2, 3)
    sent = deserialize_message(serialize_message(array.fill(values)), Float64MultiArray)
    assert [(dim.label, dim.size, dim.stride) for dim in sent.layout.dim] == [
        ('joint', 2, 6), ('parameter', 3, 3)]
    np.testing.assert_array_equal(np.array(sent.data).reshape(2, 3), values)


def test_an_empty_array_can_be_sent():
    array = ArrayMessage(('parameter',), (0,))
    assert len(array.fill(np.zeros(0)).data) == 0


def test_fields_are_read_without_a_copy():
    message = JointState(position=[1.0, 2.0])
    view = array_of(message.position)
    message.position[0] = 5.0
    assert view[0] == 5.0
    assert array_of(message.velocity).shape == (0,)


@pytest.mark.parametrize('nanoseconds', [0, 1, 999_999_999, 1_000_000_000,
                                         1_795_820_000_123_456_789])
def test_stamps_go_there_and_back(nanoseconds):
    stamp = Time()
    write_stamp(stamp, nanoseconds)
    assert to_nanoseconds(stamp) == nanoseconds


def test_joint_order():
    names = ('a', 'b', 'c')
    np.testing.assert_array_equal(joint_order('p', ('c', 'a', 'b'), names), [2, 0, 1])
    np.testing.assert_array_equal(joint_order('p', (), names), [0, 1, 2])
    for wrong in (('a', 'b'), ('a', 'b', 'b'), ('a', 'b', 'c', 'd')):
        with pytest.raises(ParameterError, match=r'parameter p.*a, b, c'):
            joint_order('p', wrong, names)


def test_times_count_from_the_start(make_node):
    clock = StampClock(make_node('clock'))
    now = time.time_ns()
    assert abs(clock.now()) < 0.5
    assert clock.seconds(0) is None
    assert clock.seconds(now) == pytest.approx(1e-9 * (now - clock.origin), abs=1e-12)
    assert clock.nanoseconds(clock.seconds(now)) == now
    assert abs(clock.received(now) - clock.now()) < 0.5


def test_simulated_time_is_what_stamps_say(make_node):
    clock = StampClock(make_node('clock', '-p', 'use_sim_time:=true'))
    assert clock.received(7_000_000_000) == pytest.approx(7.0)


def test_a_state_older_than_simulated_time_is_late(make_node):
    node = make_node('clock', '-p', 'use_sim_time:=true')
    source = make_node('source')
    ticks = source.create_publisher(Clock, '/clock', 10)
    clock = StampClock(node)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    end = time.monotonic() + 20.0
    while clock.now() < 8.0 and time.monotonic() < end:
        ticks.publish(Clock(clock=Time(sec=8)))
        executor.spin_once(timeout_sec=0.05)
    executor.shutdown()
    assert clock.received(7_920_000_000) - clock.seconds(7_920_000_000) == pytest.approx(0.08)
    # /clock of this state is still on its way.
    assert clock.received(8_002_000_000) == pytest.approx(8.002)
