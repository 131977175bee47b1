# SPDX-License-Identifier: Apache-2.0
from dataclasses import fields, replace

import pytest

from robot_dynamics.bringup.controllers import CONTROLLER_NODES
from robot_dynamics.bringup.doctor.rates import DEFAULT_DELAY, DEFAULT_RATE
from robot_dynamics.bringup.doctor.requirements import LEARN_NOTHING, Wishes, gains_of
from robot_dynamics.control.feedback.gains import AdaptationGains, FeedbackGains


def test_defaults_are_those_of_the_controllers():
    pytest.importorskip('rclpy', reason='needs ROS 2')
    from robot_dynamics.nodes.adaptive_controller import TABLE
    from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
    defaults = {row.name: row.default for row in (*CONTROLLER_PARAMETERS, *TABLE)}
    assert {field.name: field.default for field in fields(Wishes)} == {
        field.name: defaults[field.name] for field in fields(Wishes)}
    assert (DEFAULT_RATE, DEFAULT_DELAY) == (defaults['rate'], defaults['delay'])
    # A node that does not answer is taken for one with its defaults; so are its gains.
    grouped = {name for name in defaults if name.startswith(('feedback.', 'adaptation.'))}
    # Those of single joints are empty by default, and nothing is assumed of them.
    of_joints = {'feedback.joint_stiffness', 'feedback.joint_damping'}
    assert all(defaults[name] == () for name in of_joints)
    assert grouped - of_joints <= {*(f'feedback.{field.name}' for field in fields(FeedbackGains)),
                       *(f'adaptation.{field.name}' for field in fields(AdaptationGains))}


def test_what_a_node_tells(controller):
    told = replace(controller, parameters={
        'rate': 250.0, 'state_timeout': 0.3, 'feedback.bandwidth': 40.0,
        'adaptation.composite': 0.0, 'adaptation.terms': []})
    assert Wishes.of(told) == Wishes(rate=250.0, state_timeout=0.3)
    feedback, adaptation = gains_of(told)
    assert feedback == FeedbackGains(bandwidth=40.0)
    assert adaptation == AdaptationGains(composite=0.0, terms=())


def test_a_node_that_tells_nothing_or_nonsense(controller):
    silent = replace(controller, parameters=None)
    assert Wishes.of(silent) == Wishes()
    assert gains_of(silent) == (FeedbackGains(), AdaptationGains())
    odd = replace(controller, parameters={'feedback.bandwidth': -1.0, 'adaptation.terms': None})
    assert gains_of(odd) == (FeedbackGains(), AdaptationGains(terms=()))


def test_a_law_that_learns_nothing_has_no_gains_of_adaptation(controller):
    for node in LEARN_NOTHING:
        assert gains_of(replace(controller, name=f'/left/{node}'))[1] is None
    assert {'adaptive_controller', *LEARN_NOTHING} == set(CONTROLLER_NODES)
