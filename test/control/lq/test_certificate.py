# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.feedback.loaded_model import FeedforwardModel, LinearPoint
from robot_dynamics.control.lq.certificate import ModelErrors, certify
from robot_dynamics.control.lq.design import FeedbackDesign
from robot_dynamics.control.lq.rules import OneStepRule, rule_of_design
from robot_dynamics.errors import ControlError, DimensionError, RobotDynamicsError

T = 0.002
NOTHING = ModelErrors(0.0, 0.0, 0.0)


@pytest.fixture(scope='module')
def rule():
    return rule_of_design('riccati', 7, FeedbackDesign(), T)


@pytest.mark.slow
@pytest.mark.parametrize(('design', 'delay', 'wanted'), [
    (FeedbackDesign(400.0, 0.005), T, 'lower bandwidth'),
    (FeedbackDesign(60.0, 1.0 / 60.0, 60.0), 3.0 * T, 'lower bandwidth or disturbance_rate'),
    (FeedbackDesign(2.0, 0.5), T, 'raise bandwidth or lower time_constant')])
@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
def test_what_would_help_is_told(arm7, motions, kind, design, delay, wanted):
    """And helps: a step that way brings the worst arm nearer to stable."""
    radii = []
    for factor in (1.0, 1.2 if wanted.startswith('raise') else 1.0 / 1.2):
        changed = FeedbackDesign(factor * design.bandwidth, design.time_constant / factor,
                                 factor * design.disturbance_rate)
        certificate = certify(rule_of_design(kind, 7, changed, T), arm7, *motions, period=T,
                              delay=delay)
        radii.append(certificate.worst.radius)
        if factor == 1.0:
            with pytest.raises(ControlError) as caught:
                certificate.require()
            assert caught.value.remedy.startswith(wanted)
    assert radii[1] < radii[0]


def test_one_step_over_the_period_is_unstable_with_delay_and_not_without(arm7, motions):
    """Q of the report at the control period: k_v = 1/T leaves no room for a delay."""
    rule = OneStepRule(7, T, 0.5 * T * 0.1, order=8)
    assert certify(rule, arm7, *motions, period=T, delay=0.0, errors=NOTHING).is_stable
    late = certify(rule, arm7, *motions, period=T, delay=T, errors=NOTHING)
    assert not late.is_stable and late.worst.radius > 1.0
    with pytest.raises(ControlError) as caught:
        late.require()
    assert 'spectral radius' in caught.value.message and 'as modelled' in caught.value.message
    assert 'model errors' not in caught.value.remedy


@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
def test_the_default_design_is_stable_on_every_arm_of_the_family(arm7, motions, kind):
    rule = rule_of_design(kind, 7, FeedbackDesign(), T)
    certificate = certify(rule, arm7, *motions, period=T, delay=T)
    certificate.require()
    assert certificate.is_stable
    names = [verdict.arm for verdict in certificate.verdicts]
    assert names == ['as modelled', 'masses +30 %', 'lengths +5 %', 'masses -30 %',
                     'lengths -5 %', 'payload +2 %', 'all more', 'all less']
    text = str(certificate)
    assert all(name in text for name in names) and '2 ms late' in text


def test_an_arm_the_model_is_too_wrong_about_is_refused_by_name(arm7, motions, rule):
    certificate = certify(rule, arm7, *motions, period=T, delay=T,
                          errors=ModelErrors(0.0, 0.0, 60.0))
    with pytest.raises(ControlError, match=r'payload \+60 %') as caught:
        certificate.require()
    assert 'smaller model errors' in caught.value.remedy


def test_an_arm_without_a_linear_model_is_not_stable(arm7, motions, rule):
    weightless = arm7.with_parameters(np.zeros(70))
    q, v, a = motions
    K = np.ones((20, 7, 14))
    verdict = certify(rule, weightless, q, v, a, period=T, delay=T, errors=NOTHING,
                      gains=K).verdicts[0]
    assert np.all(np.isnan(verdict.radii)) and not verdict.is_stable


def test_the_family(arm7):
    arms = ModelErrors(masses=20.0, lengths=10.0, payload=5.0).arms(arm7)
    total = arm7.inertial_parameters[:, 0].sum()
    np.testing.assert_allclose(arms['masses -20 %'].parameters, 0.8 * arm7.parameters)
    np.testing.assert_allclose(arms['lengths +10 %'].placements[:, :3, 3],
                               1.1 * arm7.placements[:, :3, 3])
    np.testing.assert_allclose(arms['payload +5 %'].inertial_parameters[:, 0].sum(), 1.05 * total)
    np.testing.assert_allclose(arms['all more'].inertial_parameters[:, 0].sum(),
                               1.2 * total * 1.05)
    assert list(NOTHING.arms(arm7)) == ['as modelled']
    assert list(ModelErrors(0.0, 0.0, 3.0).arms(arm7)) == ['as modelled', 'payload +3 %']
    offset = replace(arm7, link_offsets=np.ones((7, 3)))
    np.testing.assert_allclose(
        ModelErrors(0.0, 10.0, 0.0).arms(offset)['lengths -10 %'].link_offsets, 0.9)


@pytest.mark.parametrize(('values', 'subject'), [
    ({'masses': 100.0}, 'masses'), ({'lengths': -1.0}, 'lengths'),
    ({'payload': np.nan}, 'payload'), ({'masses': np.inf}, 'masses')])
def test_wrong_errors_are_named(values, subject):
    with pytest.raises(RobotDynamicsError) as caught:
        ModelErrors(**values)
    assert caught.value.subject == subject


@pytest.mark.parametrize(('changes', 'error', 'subject'), [
    ({'period': 0.0}, RobotDynamicsError, 'period'),
    ({'delay': -1.0}, RobotDynamicsError, 'delay'), ({'delay': 1.0}, ControlError, 'delay'),
    ({'q': np.zeros((0, 7))}, DimensionError, 'q, v and a'),
    ({'q': np.zeros((20, 6))}, DimensionError, 'q, v and a'),
    ({'v': np.zeros((3, 7))}, DimensionError, 'q, v and a'),
    ({'v': np.full((20, 7), np.nan)}, ControlError, 'v'), ({'a': 'fast'}, DimensionError, 'a')])
def test_wrong_arguments_are_named(arm7, motions, rule, changes, error, subject):
    arguments = {**dict(zip('qva', motions, strict=True)), 'period': T, 'delay': T, **changes}
    with pytest.raises(error) as caught:
        certify(rule, arm7, errors=NOTHING, **arguments)
    assert caught.value.subject == subject


def test_points_are_a_batch_and_single(arm7, motions):
    points = FeedforwardModel(arm7).linearise(*motions)
    assert isinstance(points[3], LinearPoint) and points[3].M.shape == (7, 7)
    assert len(list(points)) == 20
