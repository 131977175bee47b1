# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import numpy as np
import pytest
from rclpy.parameter import Parameter as RosParameter

from robot_dynamics.errors import ControlError, ParameterError
from robot_dynamics.nodes.ros.node import NodeParameters
from robot_dynamics.nodes.ros.parameters import Parameter

TABLE = (
    Parameter('adaptation_gain', 1.0, 'Gain.', '1/s', 0.0, 100.0),
    Parameter('kd', (), 'Damping.', 'N m s/rad', 0.0, 1e4),
    Parameter('lambda', (1.0,), 'Error rate.', '1/s', 0.0, 100.0),
    Parameter('effort_limit', (5.0,), 'Limit.', 'N m', 0.0, 1e4),
    Parameter('rate', 500.0, 'Rate.', 'Hz', 1.0, 1000.0, read_only=True),
    Parameter('count', 3, 'How many.', low=1, high=9),
    Parameter('law', 'adaptive', 'Law.', choices=('adaptive', 'pd_gravity')),
    Parameter('joints', (), 'Joints.', element=str),
    Parameter('adapt', True, 'Adapt.'),
)


def declare(make_node, *arguments, check=lambda values: None):
    """Return a node with the parameters of the table, and those."""
    node = make_node('node', *arguments)
    node.parameters = NodeParameters(node, TABLE, check)
    return node, node.parameters


def test_case_param_types(cases, make_node):
    case = cases / 'param_types'
    assert json.loads((case / 'expected.json').read_text())['outcome'] == 'accept_or_explain'
    node, parameters = declare(make_node, '--params-file', str(case / 'params.yaml'))
    values = parameters.values
    assert values['adaptation_gain'] == 10.0 and type(values['adaptation_gain']) is float
    assert values['kd'] == (20.0, 15.0, 5.0)
    assert values['lambda'] == (5.0, 5.0, 5.0)
    assert values['rate'] == 250.0
    assert values['effort_limit'] == ()
    # The type stays that of the table, whatever was given, also for the empty lists.
    kinds = {name: node.get_parameter(name).type_ for name in values}
    assert kinds['adaptation_gain'] == kinds['rate'] == RosParameter.Type.DOUBLE
    assert kinds['kd'] == kinds['effort_limit'] == RosParameter.Type.DOUBLE_ARRAY
    assert kinds['joints'] == RosParameter.Type.STRING_ARRAY


@pytest.mark.parametrize(('name', 'text', 'wanted'), [
    ('adaptation_gain', 'high', 'a number'), ('adaptation_gain', 'true', 'a number'),
    ('adaptation_gain', '.nan', 'must be finite'),
    ('adaptation_gain', '-1.0', 'must be within 0 to 100'),
    ('kd', '[1.0, .inf]', 'must be finite'), ('kd', '[1.0, -2.0]', 'within 0 to'),
    ('kd', '["a"]', 'a list of numbers'), ('kd', 'true', 'a list of numbers'),
    ('rate', '2000', 'must be within 1 to 1000 Hz'), ('count', '2.5', 'an integer'),
    ('count', '10', 'must be within 1 to 9'), ('law', 'pid', 'adaptive, pd_gravity'),
    ('joints', '[1, 2]', 'a list of strings'), ('adapt', '1', 'true or false'),
])
def test_wrong_values_are_refused_at_the_start(make_node, name, text, wanted):
    with pytest.raises(ParameterError) as caught:
        declare(make_node, '-p', f'{name}:={text}')
    assert caught.value.subject == f'parameter {name}'
    assert wanted in str(caught.value)
    assert '\n' not in str(caught.value)


def test_ranges_shown_are_finite(make_node):
    node, _ = declare(make_node)
    for row in TABLE:
        descriptor = node.describe_parameter(row.name)
        assert descriptor.description.startswith(row.text)
        assert descriptor.read_only == row.read_only
        for span in (*descriptor.floating_point_range, *descriptor.integer_range):
            assert np.isfinite(span.from_value) and np.isfinite(span.to_value)
        assert (row.low is not None) == bool(descriptor.floating_point_range
                                             or descriptor.integer_range)


def test_a_change_waits_for_refresh_and_is_taken_as_a_whole(make_node):
    node, parameters = declare(make_node)
    results = node.set_parameters_atomically([
        RosParameter('adaptation_gain', value=7), RosParameter('kd', value=[1, 2])])
    assert results.successful
    assert parameters.changed and parameters.values['adaptation_gain'] == 1.0
    values = parameters.refresh()
    assert values['adaptation_gain'] == 7.0 and values['kd'] == (1.0, 2.0)
    assert not parameters.changed
    refused = node.set_parameters_atomically([
        RosParameter('adaptation_gain', value=8.0), RosParameter('kd', value=[float('nan')])])
    assert not refused.successful and 'kd' in refused.reason and 'finite' in refused.reason
    assert not parameters.changed
    assert parameters.refresh()['adaptation_gain'] == 7.0


def test_read_only_parameters_stay(make_node):
    node, parameters = declare(make_node)
    assert not node.set_parameters([RosParameter('rate', value=100.0)])[0].successful
    assert parameters.refresh()['rate'] == 500.0


def test_values_that_do_not_fit_each_other_are_refused(make_node):
    def check(values):
        if values['count'] > 5 and not values['adapt']:
            raise ParameterError('is too many', subject='parameter count')

    node, parameters = declare(make_node, check=check)
    assert node.set_parameters([RosParameter('adapt', value=False)])[0].successful
    refused = node.set_parameters([RosParameter('count', value=6)])[0]
    assert not refused.successful and 'too many' in refused.reason
    assert node.set_parameters_atomically([RosParameter('count', value=6),
                                           RosParameter('adapt', value=True)]).successful
    assert parameters.refresh()['count'] == 6


def test_misspelt_parameters_are_named(make_node):
    _, parameters = declare(make_node, '-p', 'adaptation_gian:=3.0', '-p', 'use_sim_time:=false',
                            '-p', 'qos_overrides./joint_states.subscription.depth:=5')
    assert parameters.unknown() == ('adaptation_gian (did you mean adaptation_gain?)',)


@pytest.mark.parametrize(('name', 'given', 'stored'), [
    ('adaptation_gain', 7, 7.0), ('kd', [1, 2], (1.0, 2.0)), ('kd', '[1, 2.5]', (1.0, 2.5)),
    ('kd', [], ()), ('joints', [], ()), ('joints', ['a'], ('a',))])
def test_a_change_is_stored_in_the_type_of_the_table(make_node, name, given, stored):
    node, parameters = declare(make_node)
    descriptor = node.describe_parameter(name)
    assert node.set_parameters([RosParameter(name, value=given)])[0].successful
    row = {row.name: row for row in TABLE}[name]
    assert node.get_parameter(name).type_ == row.type
    assert parameters.refresh()[name] == stored
    assert node.describe_parameter(name) == descriptor == row.descriptor()


@pytest.mark.parametrize('wrong', [
    RosParameter('count', value='three'), RosParameter('count', value=2.0),
    RosParameter('count', RosParameter.Type.NOT_SET), RosParameter('kd', value=['a']),
    RosParameter('kd', value='[1, a]'), RosParameter('kd', value='nonsense'),
    RosParameter('kd', value='[1, '), RosParameter('kd', RosParameter.Type.NOT_SET),
    RosParameter('law', value=3), RosParameter('adapt', value=1),
    RosParameter('lambda', value=[1.0, float('inf')])], ids=lambda wrong: f'{wrong.name}')
def test_a_refused_change_leaves_everything_as_it_was(make_node, wrong):
    node, parameters = declare(make_node)
    before = {row.name: (node.get_parameter(row.name).get_parameter_value(),
                         node.describe_parameter(row.name)) for row in TABLE}
    assert not node.set_parameters([wrong])[0].successful
    result = node.set_parameters_atomically([
        RosParameter('adaptation_gain', value=7), wrong, RosParameter('adapt', value=False)])
    assert not result.successful and result.reason
    assert not parameters.changed
    for name, (value, descriptor) in before.items():
        assert node.get_parameter(name).get_parameter_value() == value
        assert node.describe_parameter(name) == descriptor


def test_what_nobody_declared_cannot_be_set(make_node):
    node, parameters = declare(make_node)
    result = node.set_parameters_atomically([RosParameter('adapt', value=False),
                                             RosParameter('adaption_gain', value=1e9)])
    assert not result.successful
    assert result.reason == 'parameter adaption_gain (did you mean adaptation_gain?) is ' \
                            'unknown; start the node with --help for a list'
    assert not node.has_parameter('adaption_gain')
    assert not parameters.changed and parameters.refresh()['adapt'] is True


def test_the_clock_of_a_node_stays_what_it_is(make_node):
    node, _ = declare(make_node)
    refused = node.set_parameters([RosParameter('use_sim_time', value=True)])[0]
    assert not refused.successful and 'restart the node' in refused.reason
    assert node.get_parameter('use_sim_time').value is False
    assert node.set_parameters([RosParameter('use_sim_time', value=False)])[0].successful


def test_errors_of_the_library_name_parameters_of_the_node(make_node):
    node = make_node('node')
    parameters = NodeParameters(node, (
        Parameter('rate', 500.0, 'Rate.'), Parameter('feedback.bandwidth', 60.0, 'Rate.'),
        Parameter('feedback.error_rate', 12.0, 'Rate.'),
        Parameter('faults.margin', 1.0, 'Margin.'),
        Parameter('spring.margin', 1.0, 'Margin.')), lambda values: None)

    def renamed(subject, remedy=None):
        error = parameters.full_names(ControlError('is wrong', subject=subject, remedy=remedy))
        assert type(error) is ControlError
        return str(error)

    assert renamed('bandwidth') == 'feedback.bandwidth is wrong'
    assert renamed('feedback.bandwidth', 'lower error_rate, or rate') == \
        'feedback.bandwidth is wrong; lower feedback.error_rate, or rate'
    # Of two, neither is chosen; names of joints and files stay.
    assert renamed('margin') == 'margin is wrong'
    assert renamed('shoulder_lift_joint', 'see docs/error_rate.md') == \
        'shoulder_lift_joint is wrong; see docs/error_rate.md'
    assert str(parameters.full_names(ControlError('is wrong'))) == 'is wrong'
