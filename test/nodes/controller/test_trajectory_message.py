# SPDX-License-Identifier: Apache-2.0
"""Serialised trajectories, as rclpy writes them and as nobody should."""

from __future__ import annotations

import itertools
import random
import time

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.nodes.controller.trajectory_message import (
    MAX_NAMES,
    points_of,
    read_trajectory,
)
from robot_dynamics.nodes.ros.messages import to_nanoseconds

NAMES = ['shoulder', 'Ellbogen-Gelenk', 'é']


def message(points=3, fields=('positions', 'velocities', 'accelerations'), names=NAMES,
            frame='', seed=0):
    """A trajectory of random numbers."""
    rng = random.Random(seed)
    result = JointTrajectory(joint_names=names)
    result.header.frame_id = frame
    result.header.stamp.sec, result.header.stamp.nanosec = rng.randrange(2**31), 999_999_999
    for k in range(points):
        result.points.append(JointTrajectoryPoint(
            time_from_start=Duration(sec=k - 1, nanosec=rng.randrange(10**9)),
            **{field: [rng.gauss(0.0, 1.0) for _ in names] for field in fields}))
    return result


def read(data, max_points=1000):
    return read_trajectory(data, max_points=max_points)


def refused(data, *words, max_points=1000):
    """Refuse it and return the error."""
    with pytest.raises(TrajectoryError) as caught:
        read(data, max_points)
    assert caught.value.subject and caught.value.remedy
    assert len(str(caught.value)) < 1000
    for word in words:
        assert word in str(caught.value)
    return caught.value


FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


@pytest.mark.parametrize('count', [1, 2, 3, 50])
@pytest.mark.parametrize('fields', [fields for size in range(5)
                                    for fields in itertools.combinations(FIELDS, size)],
                         ids='-'.join)
def test_says_what_rclpy_says(count, fields):
    """With names, frames and numbers of joints that pad the points in every way there is."""
    for frame, joints in itertools.product(('', 'b', 'base', 'base_link'), (1, 2, 3)):
        sent = message(count, fields, NAMES[:joints], frame, seed=count + joints)
        found = read(serialize_message(sent))
        assert found.stamp == to_nanoseconds(sent.header.stamp)
        assert found.names == sent.joint_names
        assert len(found.points) == count
        np.testing.assert_allclose(
            found.points.times, [1e-9 * to_nanoseconds(p.time_from_start) for p in sent.points],
            rtol=0, atol=1e-12)
        for field in FIELDS[:3]:
            values = getattr(found.points, field)
            if field in fields:
                np.testing.assert_array_equal(
                    values, [getattr(point, field) for point in sent.points])
            else:
                assert values is None


def test_the_other_order_of_bytes():
    """Of a message that is short enough to be turned by hand."""
    little = serialize_message(JointTrajectory(joint_names=['a'], points=[JointTrajectoryPoint(
        positions=[0.5], time_from_start=Duration(sec=1, nanosec=500_000_000))]))
    found = read(little)
    # Of four bytes each but for the name, which ends with a zero, and the position.
    name, place = little.index(b'a\0'), little.index(np.float64(0.5).tobytes())
    big = bytearray(little)
    big[1] = 0
    for at in range(4, len(little) - 3, 4):
        if at in (name, place + 4):
            continue
        size = 8 if at == place else 4
        big[at:at + size] = little[at:at + size][::-1]
    turned = read(bytes(big))
    assert turned.names == found.names == ['a']
    np.testing.assert_array_equal(turned.points.positions, found.points.positions)
    np.testing.assert_array_equal(turned.points.times, [1.5])


def test_too_many_points_are_refused_by_number_before_they_are_read():
    data = serialize_message(message(20_000))
    error = refused(data, 'at most 1000 points, got 20000', 'in parts')
    assert error.subject == 'trajectory'
    # Nor does it have to be there: who says so is believed.
    refused(data[:200], 'at most 1000 points, got 20000')
    best = min(timed(lambda: refused(data)) for _ in range(20))
    assert best < 0.1 * min(timed(lambda: deserialize_message(data, JointTrajectory))
                            for _ in range(3))


def test_a_trajectory_may_have_no_point():
    empty = read(serialize_message(message(0)))
    assert len(empty.points) == 0 and empty.names


def test_points_of_a_message_are_those_of_its_bytes():
    for count in (1, 20):
        sent = message(count)
        there, here = read(serialize_message(sent)).points, points_of(sent, 1000)
        np.testing.assert_array_equal(here.times, there.times)
        for field in ('positions', 'velocities', 'accelerations'):
            np.testing.assert_array_equal(getattr(here, field), getattr(there, field))
    with pytest.raises(TrajectoryError, match='at most 5 points, got 20'):
        points_of(message(20), 5)
    sent.points[3].velocities = [0.0]
    with pytest.raises(TrajectoryError, match=r'points\[3\].velocities has 1 values'):
        points_of(sent, 1000)


def timed(function):
    """Return the processor time that a call takes. s."""
    begin = time.process_time()
    function()
    return time.process_time() - begin


def test_a_thousand_points_take_little_longer_than_a_few():
    few, many = serialize_message(message(20)), serialize_message(message(1000))
    assert min(timed(lambda: read(many)) for _ in range(30)) \
        < 10.0 * min(timed(lambda: read(few)) for _ in range(30))


def test_names_by_the_thousand_and_endless_ones():
    many = JointTrajectory(joint_names=[f'j{k}' for k in range(MAX_NAMES + 1)])
    refused(serialize_message(many), 'at most 1000 joints, got 1001')
    endless = JointTrajectory(joint_names=['j' * 1_000_000])
    refused(serialize_message(endless), 'joint_names[0]', 'got 1000001')
    endless.header.frame_id = 'f' * 1_000_000
    refused(serialize_message(endless), 'frame_id')


@pytest.mark.parametrize('field', FIELDS)
@pytest.mark.parametrize('k', [0, 1, 2, 4])
def test_points_of_other_lengths(field, k):
    for values in ([0.0] * 2, [0.0] * 4, []):
        wrong = message(5, FIELDS)
        setattr(wrong.points[k], field, values)
        if k == 0 and not values:
            error = refused(serialize_message(wrong), 'must have 0 values', 'got 3')
            assert error.subject == f'points[1].{field}'
        else:
            error = refused(serialize_message(wrong),
                            f'has {len(values)} values' if k == 0 else f'got {len(values)}')
            assert error.subject == f'points[{k}].{field}'


def test_damaged_ones_are_refused_or_read_and_nothing_else(capfd):
    rng = random.Random(1)
    originals = [serialize_message(message(k, FIELDS[:size], frame='base'[:k]))
                 for k in (1, 2, 7) for size in range(5)]
    accepted = 0
    for _ in range(5000):
        data = bytearray(rng.choice(originals))
        for _ in range(rng.choice((0, 1, 1, 2, 8))):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 2, 3, 127, 255, rng.randrange(256)))
        if rng.random() < 0.4:
            del data[rng.randrange(len(data) + 1):]
        try:
            found = read(bytes(data))
        except TrajectoryError as error:
            assert error.subject and error.remedy
            continue
        accepted += 1
        assert len(found.points) <= 7
    assert 200 < accepted < 4800
    for data in (b'', b'\0', b'\0\1', b'\0\1\0\0', b'\0\7\0\0' + bytes(100)):
        refused(data)
    assert capfd.readouterr() == ('', '')
