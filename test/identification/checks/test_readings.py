# SPDX-License-Identifier: Apache-2.0
"""Logs that are not what they seem: each is told of, by name and with what to set."""

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.checks.plausibility import plausibility
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.dataset.settings import DatasetSettings
from robot_dynamics.identification.signal_selection import compare_velocity, preferred
from robot_dynamics.identification.signals import SignalSettings

RATE = 100.0


@pytest.fixture(scope='module')
def motion(three):
    t, q, v, a = three.motion(seconds=30, rate=RATE)
    return t, q, v, three.efforts(q, v, a)


def told(three, t, q, tau, v=None, **settings):
    dataset = dataset_from_arrays(three.robot, t, q, tau, v, settings=DatasetSettings(**settings))
    return dataset.findings + plausibility(dataset, three.robot)


def about(findings, words):
    """Return the subjects of the findings that hold some words."""
    return [finding.subject for finding in findings if words in finding.message]


def test_a_log_that_is_all_right(three, motion):
    t, q, v, tau = motion
    assert not told(three, t, q, tau, v)


def test_amperes(three, motion):
    t, q, v, tau = motion
    findings = told(three, t, q, tau / 11.0, v)
    assert about(findings, 'look like amperes') == ['j1, j2, j3']
    assert not about(findings, 'sign flipped')
    assert any('torque_constant' in finding.remedy for finding in findings)
    assert not about(told(three, t, q, tau / 11.0, v, effort_kind='current', torque_constant=0.11,
                          gear_ratio=100.0), 'amperes')


def test_one_gear_ratio_that_is_wrong(three, motion):
    t, q, v, tau = motion
    findings = told(three, t, q, tau * [1.0, 1.0, 0.1], v)
    assert about(findings, 'look like amperes') == ['j3']


def test_one_factor_in_all_joints_is_a_unit_and_several_are_masses(three, motion):
    t, q, v, tau = motion
    assert about(told(three, t, q, 0.3 * tau, v), 'in all joints') == ['effort']
    assert not told(three, t, q, tau * [0.3, 0.45, 0.4], v)
    # Friction that explains all of an effort says nothing of a unit.
    rubs = 100.0 * np.tanh(v / 0.02)
    assert not told(three, t, q, tau + rubs, v)


@pytest.mark.parametrize('joint', [1, 2])
def test_one_sign_that_is_flipped(three, motion, joint):
    t, q, v, tau = motion
    sign = np.where(np.arange(3) == joint, -1.0, 1.0)
    findings = told(three, t, q, tau * sign, v)
    assert about(findings, 'sign flipped') == [f'j{joint + 1}']
    assert not about(findings, 'amperes')
    assert not about(told(three, t, q, tau * sign, v, sign=sign.tolist()), 'sign flipped')


def test_gravity_that_is_compensated_already(three, motion):
    t, q, v, tau = motion
    findings = told(three, t, q, tau - Dynamics(three.robot).gravity_torque(q), v)
    assert about(findings, 'gravity-compensated') == ['j2, j3']
    assert not about(told(three, t, q, tau, v), 'gravity-compensated')


@pytest.mark.parametrize('lag', [-0.1, 0.05, 0.15, 0.3])
def test_velocities_that_come_late(three, motion, lag):
    t, q, v, tau = motion
    late = np.stack([np.interp(t - lag, t, column) for column in v.T], axis=1)
    dataset = dataset_from_arrays(three.robot, t, q, tau, late)
    np.testing.assert_allclose(compare_velocity(dataset)[0], lag, atol=0.01)
    words = f'velocity {"lags" if lag > 0 else "leads"} position by up to {abs(lag):.2g} s'
    assert about(told(three, t, q, tau, late), words) == ['j1, j2, j3']


def test_lags_do_not_come_from_the_ends_of_a_log(three, motion):
    """A log that begins and ends in motion, with positions that jump there by filters."""
    t, q, v, tau = motion
    piece = slice(137, 1911)
    dataset = dataset_from_arrays(three.robot, t[piece], q[piece], tau[piece], v[piece])
    lag, gain = compare_velocity(dataset)
    np.testing.assert_allclose(lag, 0.0, atol=0.004)
    np.testing.assert_allclose(gain, 1.0, atol=0.02)


def test_velocities_of_another_unit_or_sign(three, motion):
    t, q, v, tau = motion
    assert about(told(three, t, q, tau, np.degrees(v)), '57.3 times the slope') == ['j1, j2, j3']
    flipped = v * np.array([1.0, -1.0, 1.0])
    assert about(told(three, t, q, tau, flipped), 'opposite sign') == ['j2']


def test_velocities_of_nothing(three, motion):
    t, q, v, tau = motion
    noise = np.random.default_rng(0).normal(size=v.shape)
    dataset = dataset_from_arrays(three.robot, t, q, tau, noise)
    assert np.all(np.isnan(compare_velocity(dataset)[0]))
    assert np.all(np.isnan(compare_velocity(dataset_from_arrays(three.robot, t, q, tau))[0]))


def test_degrees(three, motion):
    t, q, v, tau = motion
    findings = told(three, t, np.degrees(q), tau)
    assert about(findings, 'look like degrees') == ['j1, j2, j3']
    scale = float(np.pi / 180.0)
    assert not told(three, t, np.degrees(q), tau, np.degrees(v), position_scale=scale)


def test_positions_outside_their_limits(three, motion):
    t, q, _v, tau = motion
    assert about(told(three, t, q + np.array([0.0, 0.0, 4.0]), tau), 'outside the limits') == [
        'j3']


def test_unsigned_numbers(three, motion):
    t, q, v, tau = motion
    counts = np.round(tau * 20.0)
    written = np.where(counts < 0, counts + 65536, counts)
    findings = told(three, t, q, written, v)
    assert about(findings, 'unsigned') == ['j1', 'j2', 'j3']
    given = dict(unsigned_bits=16, effort_kind='current', torque_constant=0.05)
    dataset = dataset_from_arrays(three.robot, t, q, written, v, DatasetSettings(**given))
    np.testing.assert_allclose(dataset.segments[0].effort, counts * 0.05)
    assert dataset.counts == {}
    assert not about(told(three, t, q, written, v, **given), 'unsigned')


def test_efforts_that_saturate(three, motion):
    t, q, v, tau = motion
    limit = np.percentile(np.abs(tau[:, 1]), 90)
    clipped = tau.copy()
    clipped[:, 1] = np.clip(tau[:, 1], -limit, limit)
    assert about(told(three, t, q, clipped, v), 'saturates in 10 %') == ['j2']


def test_efforts_with_few_levels(three, motion):
    t, q, v, tau = motion
    coarse = tau.copy()
    step = np.ptp(tau[:, 2]) / 40.0
    coarse[:, 2] = np.round(tau[:, 2] / step) * step
    assert about(told(three, t, q, coarse, v), 'levels') == ['j3']


def test_standing_still(three, motion):
    t, q, v, _tau = motion
    q, v = q.copy(), v.copy()
    rest = slice(0, len(t) // 2)
    q[rest], v[rest] = q[len(t) // 2], 0.0
    tau = three.efforts(q, v, np.gradient(v, 1 / RATE, axis=0))
    assert about(told(three, t, q, tau, v), 'stands still') == ['j1, j2, j3']


def test_measured_velocities_have_to_help():
    """A half per cent decides nothing: then positions, whose filters are known, are taken."""
    position, other = SignalSettings(1.0), SignalSettings(2.0)
    measured = SignalSettings(2.0, velocity='measured')
    for scores, chosen in (([1.2, 1.0, 0.99], 1), ([1.2, 1.0, 0.9], 2), ([1.0, 1.1, 1.0], 0)):
        assert preferred([position, other, measured], scores) == chosen
    assert preferred([measured], [1.0]) == 0
