# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from rclpy.parameter import Parameter as RosParameter

from robot_dynamics.errors import ParameterError
from robot_dynamics.nodes.ros.parameters import Parameter, per_joint

NUMBER = Parameter('x', 1.0, 'A number.', 'Hz', 0.5, 2.0)
COUNT = Parameter('x', 1, 'A count.', low=0, high=9)
LIST = Parameter('x', (1.0,), 'Numbers.', 'N m', 0.0, 3.0)
TEXTS = Parameter('x', ('a',), 'Texts.', element=str, choices=('a', 'b'))
SWITCH = Parameter('x', True, 'A switch.')
TOPIC = Parameter('x', 'a/b', 'A topic.', topic=True)
TOPICS = Parameter('x', ('a', '/b'), 'Topics.', element=str, topic=True)


@pytest.mark.parametrize(('row', 'given', 'value'), [
    (NUMBER, 1, 1.0), (NUMBER, 0.5, 0.5), (NUMBER, 2, 2.0), (COUNT, 9, 9), (SWITCH, False, False),
    (LIST, [1, 2], (1.0, 2.0)), (LIST, [1, 2.5], (1.0, 2.5)), (LIST, '[1, 2.5]', (1.0, 2.5)),
    (LIST, 1.5, (1.5,)), (LIST, None, ()), (LIST, [], ()), (TEXTS, ['b', 'a'], ('b', 'a'))])
def test_values_come_in_the_type_of_the_row(row, given, value):
    converted = row.convert(given)
    assert converted == value
    assert type(converted) is type(value)
    if isinstance(value, tuple):
        assert [type(item) for item in converted] == [type(item) for item in value]


@pytest.mark.parametrize(('row', 'given', 'words'), [
    (NUMBER, True, 'a number'), (NUMBER, '1.0', 'a number'), (NUMBER, None, 'a number'),
    (NUMBER, float('nan'), 'must be finite'),
    (NUMBER, float('-inf'), 'must be finite'),
    (NUMBER, 2.0001, 'must be within 0.5 to 2 Hz'), (COUNT, 1.0, 'an integer'),
    (COUNT, True, 'an integer'), (COUNT, -1, 'must be within 0 to 9'),
    (SWITCH, 1, 'true or false'),
    (LIST, True, 'a list of numbers'), (LIST, '1.0', 'a list of numbers'),
    (LIST, [[1.0]], 'a list of numbers'), (LIST, [1.0, float('inf')], 'must be finite'),
    (LIST, '[1, 4]', 'must be within 0 to 3 N m'), (LIST, '[' * 5000, 'a list of numbers'),
    (LIST, '[2001-99-99]', 'a list of numbers'), (LIST, '[!!int x]', 'a list of numbers'),
    (LIST, '&a [*a]', 'a list of numbers'), (LIST, [10**400], 'must be finite'),
    (COUNT, 10**400, 'must be within 0 to 9'), (COUNT, 'x' * 10_000, "got 'xxx"),
    (TOPIC, '', 'must be the name of a topic'), (TOPIC, 'a b', 'must be the name of a topic'),
    (TOPIC, 'a//b', 'must be the name of a topic'), (TOPIC, '../x', 'must be the name of a topic'),
    (TOPIC, 'é', 'must be the name of a topic'), (TOPIC, '{x}/y', 'must be the name of a topic'),
    (TOPIC, 'a' * 10_000, 'must be the name of a topic'),
    (TOPICS, ['a', '/b/'], 'must be the name of a topic'),
    (TEXTS, ['c'], 'one of a, b'), (TEXTS, 'a', 'a list of strings'),
    (LIST, [1.0] * 5001, 'at most 5000 elements, got 5001'),
    (TEXTS, b'a', 'a list of strings')])
def test_what_is_no_value_is_refused_with_what_to_do(row, given, words):
    with pytest.raises(ParameterError) as caught:
        row.convert(given)
    assert words in str(caught.value)
    assert caught.value.subject == 'parameter x' and 'default' in caught.value.remedy


@pytest.mark.parametrize('name', ['a', '/a/b', '~/x', '{node}/x'])
def test_names_of_topics_are_what_ros_takes_for_one(name):
    assert TOPIC.convert(name) == name
    assert TOPICS.convert([name]) == (name,)


def test_types_are_those_of_defaults():
    kinds = RosParameter.Type
    assert [row.type for row in (NUMBER, COUNT, LIST, TEXTS, SWITCH)] == [
        kinds.DOUBLE, kinds.INTEGER, kinds.DOUBLE_ARRAY, kinds.STRING_ARRAY, kinds.BOOL]


def test_per_joint():
    names = ('a', 'b', 'c')
    assert per_joint({'x': (2.0,)}, 'x', names).tolist() == [2.0, 2.0, 2.0]
    assert per_joint({'x': (1.0, 2.0, 3.0)}, 'x', names).tolist() == [1.0, 2.0, 3.0]
    assert per_joint({'x': ()}, 'x', names, default=[4.0, 5.0, 6.0]).tolist() == [4.0, 5.0, 6.0]
    for wrong in ((1.0, 2.0), ()):
        with pytest.raises(ParameterError, match='one for each of: a, b, c'):
            per_joint({'x': wrong}, 'x', names)


def test_who_chose_nothing_there_is_gets_the_choices():
    with pytest.raises(ParameterError,
                       match=r"must be one of a, b, got 'c'; set it to one of them "):
        TEXTS.convert(['a', 'c'])
