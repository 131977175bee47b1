# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest

from robot_dynamics.closed_form.description import describe
from robot_dynamics.closed_form.quantities import METHODS, QUANTITIES, derive
from robot_dynamics.errors import ModelError, ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

BOTH = pytest.mark.parametrize('method', METHODS)
ALL = pytest.mark.parametrize('what', QUANTITIES)


def close(value, expected, tolerance=1e-12):
    assert value.shape == expected.shape
    assert np.max(np.abs(value - expected)) <= tolerance * max(1.0, np.max(np.abs(expected)))


@pytest.mark.slow
@BOTH
@ALL
def test_puma_equals_dynamics(puma, at_random, evaluated, what, method):
    values, expected = at_random(puma)
    close(evaluated(derive(puma, what, method=method), values), expected[what])


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize('what', ['slotine-li', 'M', 'C'])
def test_puma_with_symbols_for_its_lengths(puma, at_random, evaluated, what, method):
    values, expected = at_random(puma)
    recording = derive(puma, what, method=method, symbolic=True)
    values['constants'] = list(recording.constants.values())
    assert len(recording.constants) >= 5
    close(evaluated(recording, values), expected[what])


@ALL
def test_a_seven_joint_arm_equals_dynamics(arm7, at_random, evaluated, what):
    values, expected = at_random(arm7)
    close(evaluated(derive(arm7, what), values), expected[what])


@BOTH
@pytest.mark.parametrize('name', ['rpr', 'two_link_payload', 'planar_3r'])
def test_shipped_robots_equal_dynamics(at_random, evaluated, name, method):
    robot = Robot.from_urdf(resolve_robot(name))
    values, expected = at_random(robot)
    for what in QUANTITIES:
        close(evaluated(derive(robot, what, method=method), values), expected[what])


@pytest.mark.slow
@pytest.mark.parametrize('state', range(2))
def test_puma_equals_values_from_energies(reference, evaluated, state):
    content = reference('ref_puma560')
    puma = {'convention': 'standard', 'gravity': content['robot']['gravity'],
            'links': [link['dh_standard'] for link in content['robot']['links']]}
    sample = content['states'][state]
    values = {'q': sample['q'], 'v': sample['qd'], 'v_r': sample['qdr'], 'a_r': sample['qddr'],
              'a': sample['qdd'], 'pi': content['robot']['pi_ORD000']}
    for method in METHODS:
        for what, name in (('slotine-li', 'Yr_ORD000'), ('M', 'M'), ('C', 'C_christoffel')):
            close(evaluated(derive(puma, what, method=method), values), np.array(sample[name]),
                  1e-9)


def test_own_parameters_as_numbers(puma, at_random, evaluated):
    values, expected = at_random(puma)
    recording = derive(puma, 'tau', numeric_parameters=True)
    assert [array.group for array in recording.inputs] == ['q', 'v', 'a']
    close(evaluated(recording, values), expected['tau'])


def test_a_slotine_li_regressor_takes_less_than_a_second(puma, within):
    within(1.0, lambda: derive(puma, 'slotine-li', symbolic=True))


def test_unknown_choices_are_refused(puma):
    with pytest.raises(ParameterError, match=r"what must be one of .*got 'Y'"):
        derive(puma, 'Y')
    for what in (None, ['M'], np.array(['M', 'C'])):
        with pytest.raises(ParameterError, match='what must be one of'):
            derive(puma, what)
    with pytest.raises(ParameterError, match='method must be one of'):
        derive(puma, 'M', method='newton')


def test_a_symbol_that_means_something_else_is_refused():
    table = {'convention': 'standard', 'links': [{'a': 'q1', 'alpha': 0, 'd': 0}]}
    with pytest.raises(ModelError, match='q1 is the name of a variable'):
        derive(describe(table))
