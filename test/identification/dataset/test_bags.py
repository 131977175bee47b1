# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.bags import (
    DAMAGED,
    INCOMPLETE,
    JointStateCollector,
)

STORE = get_typestore(Stores.ROS2_HUMBLE)
STATE = 'sensor_msgs/msg/JointState'


def message(k, names=('a', 'b'), position=(0.0, 1.0), effort=(2.0, 3.0)):
    stamp = STORE.types['builtin_interfaces/msg/Time'](k, 0)
    header = STORE.types['std_msgs/msg/Header'](stamp, '')
    return bytes(STORE.serialize_cdr(STORE.types[STATE](
        header, list(names), np.array(position, float), np.empty(0), np.array(effort, float)),
        STATE))


def test_messages_become_rows_in_the_order_of_the_joints():
    collector = JointStateCollector(('b', 'first'), {'a': 'first'})
    collector.take('/states', [message(k, position=(k, -k)) for k in range(3)])
    collector.take('/states', [message(3, ('b', 'a'), (7.0, 8.0)), b'', message(4, ('a',), (1,),
                                                                                (1,))])
    log = collector.log('here')
    assert log.names == ('b', 'first')
    assert log.source == 'here:/states'
    np.testing.assert_array_equal(log.stamps, np.arange(4) * 10**9)
    np.testing.assert_array_equal(log.position, [[0, 0], [-1, 1], [-2, 2], [7, 8]])
    np.testing.assert_array_equal(log.effort[0], [3.0, 2.0])
    assert np.isnan(log.velocity).all()
    assert log.dropped[DAMAGED] == 1
    assert log.dropped[INCOMPLETE] == 1


def test_what_lacks_positions_or_efforts_is_not_taken_for_the_arm():
    """Commands and errors of controllers have the same type, and may come more often."""
    collector = JointStateCollector(('a', 'b'), {})
    collector.take('/command', [message(k, position=()) for k in range(9)])
    collector.take('/error', [message(k, effort=()) for k in range(9)])
    collector.take('/states', [message(k) for k in range(3)])
    assert collector.log('here').source == 'here:/states'
    assert collector.count == 21


def test_two_arms_with_the_same_names():
    """The topics are listed; a copy of the same states is not another arm."""
    collector = JointStateCollector(('a', 'b'), {})
    states = [message(k, position=(np.sin(k), np.cos(k))) for k in range(30)]
    collector.take('/left/joint_states', states)
    collector.take('/relayed', states[3:20])
    assert collector.log('here').source == 'here:/left/joint_states'
    collector.take('/right/joint_states', [message(k, position=(np.cos(k), np.sin(2 * k)))
                                           for k in range(20)])
    with pytest.raises(RecordingError, match=r'/left/joint_states, /right/.*log\.topic'):
        collector.log('here')


def test_no_message_with_all_joints():
    collector = JointStateCollector(('a', 'c'), {})
    with pytest.raises(RecordingError, match='no joint states'):
        collector.log('here')
    collector.take('/states', [message(0)])
    with pytest.raises(RecordingError, match=r'has no message with all of a, c.*: a, b'):
        collector.log('here')


def test_joints_of_several_messages_or_twice_in_one():
    collector = JointStateCollector(('a', 'c'), {'other': 'c'})
    collector.take('/states', [message(0), message(1, ('other', 'd'))])
    with pytest.raises(RecordingError, match='exactly once'):
        collector.log('here')
    collector = JointStateCollector(('a', 'b'), {})
    collector.take('/states', [message(0, ('a', 'b', 'a'), (0, 1, 2), (0, 1, 2))])
    with pytest.raises(RecordingError, match='exactly once'):
        collector.log('here')
