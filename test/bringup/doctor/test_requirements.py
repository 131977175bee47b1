# SPDX-License-Identifier: Apache-2.0
"""Requirements of controllers, read from their parameters, and the rate for their gains."""

from dataclasses import fields, replace

import numpy as np
import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.requirements import (
    StateRequirements,
    check_default_controller,
    check_gains_for_rate,
    gains_of,
    lowest_rate,
)
from robot_dynamics.control.feedback.gains import AdaptationGains, FeedbackGains, check_gains
from robot_dynamics.errors import ControlError
from robot_dynamics.nodes.controllers import CONTROLLER_NODES


def test_defaults_are_those_of_the_controllers():
    pytest.importorskip('rclpy', reason='needs ROS 2')
    from robot_dynamics.nodes.adaptive_controller import TABLE
    from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
    defaults = {row.name: row.default for row in (*CONTROLLER_PARAMETERS, *TABLE)}
    assert {field.name: field.default for field in fields(StateRequirements)} == {
        field.name: defaults[field.name] for field in fields(StateRequirements)}
    # A node that does not answer is taken for one with its defaults; so are its gains.
    grouped = {name.replace('feedback.stiffness', 'feedback.position_gain')
               for name in defaults if name.startswith(('feedback.', 'adaptation.'))}
    # Constant gains are off by default, and nothing is assumed of them.
    assert defaults['feedback.damping'] == ()
    assert grouped - {'feedback.damping'} <= {
        *(f'feedback.{field.name}' for field in fields(FeedbackGains)),
        *(f'adaptation.{field.name}' for field in fields(AdaptationGains))}



def test_requirements_of_a_node(controller):
    given = replace(controller, parameters={
        'rate': 250.0, 'state_timeout': 0.3, 'feedback.bandwidth': 40.0,
        'adaptation.composite': 0.0, 'adaptation.terms': []})
    assert StateRequirements.of(given) == StateRequirements(rate=250.0, state_timeout=0.3)
    feedback, adaptation = gains_of(given)
    assert feedback == FeedbackGains(bandwidth=40.0)
    assert adaptation == AdaptationGains(composite=0.0, terms=())


def test_a_node_without_parameters_or_with_invalid_ones(controller):
    silent = replace(controller, parameters=None)
    assert StateRequirements.of(silent) == StateRequirements()
    assert gains_of(silent) == (FeedbackGains(), AdaptationGains())
    odd = replace(controller, parameters={'feedback.bandwidth': -1.0, 'adaptation.terms': None})
    assert gains_of(odd) == (FeedbackGains(), AdaptationGains(terms=()))


def test_a_law_that_learns_nothing_has_no_gains_of_adaptation(controller):
    others = set(CONTROLLER_NODES) - {'adaptive_controller'}
    assert len(others) == len(CONTROLLER_NODES) - 1
    for node in others:
        assert gains_of(replace(controller, name=f'/left/{node}'))[1] is None


@pytest.mark.parametrize(('feedback', 'adaptation'), [
    (FeedbackGains(), AdaptationGains()), (FeedbackGains(), None),
    (FeedbackGains(bandwidth=200.0), None), (FeedbackGains(), AdaptationGains(composite=10.0))])
def test_the_lowest_rate_is_the_lowest(feedback, adaptation):
    rate = lowest_rate(feedback, adaptation, 0.001)
    check_gains(feedback, adaptation, period=1.0 / rate, delay=0.001)
    with pytest.raises(ControlError):
        check_gains(feedback, adaptation, period=1.0 / (0.99 * rate), delay=0.001)


def test_gains_that_no_rate_is_high_enough_for():
    assert lowest_rate(FeedbackGains(bandwidth=600.0), None, 0.001) is None
    (result,) = check_gains_for_rate('/c', StateRequirements(), FeedbackGains(bandwidth=600.0),
                                     None)
    assert result.level is Level.ERROR and 'feedback.bandwidth' in result.remedy


def test_gains_that_need_a_higher_rate():
    gains = FeedbackGains(), AdaptationGains()
    assert check_gains_for_rate('/c', StateRequirements(rate=500.0), *gains) == []
    (result,) = check_gains_for_rate('/c', StateRequirements(rate=50.0), *gains)
    assert result.level is Level.ERROR
    assert 'has gains that need 80 Hz, at a rate of 50 Hz' in result.message


def test_the_controller_itself_is_asked(robot):
    (result,) = check_default_controller(robot)
    assert result.level is Level.OK and '80 Hz or more' in result.message
    effort = robot.limits.effort.copy()
    effort[3] = np.nan
    limits = replace(robot.limits, effort=effort)
    (result,) = check_default_controller(replace(robot, limits=limits))
    assert (result.level, result.subject) == (Level.ERROR, 'joint4')
    unphysical = robot.inertial_parameters.copy()
    unphysical[2, 0] = -1.0
    (result,) = check_default_controller(robot.with_parameters(unphysical))
    assert (result.level, result.subject) == (Level.ERROR, 'link3')


def test_too_many_bodies_are_not_tried(monkeypatch, robot):
    monkeypatch.setattr('robot_dynamics.bringup.doctor.requirements.MOST_BODIES', 6)
    (result,) = check_default_controller(robot)
    assert result.level is Level.NOTE and '7 moving bodies' in result.message
