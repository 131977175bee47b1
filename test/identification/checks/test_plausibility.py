# SPDX-License-Identifier: Apache-2.0
"""Recordings that are predicted well by a model that must not be used."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.errors import RecordingError, Severity
from robot_dynamics.identification.checks.plausibility import (
    late_efforts,
    plausibility,
    still_joints,
)
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.dataset.settings import DatasetSettings
from robot_dynamics.identification.rigid import EstimateSettings, identify
from robot_dynamics.identification.signals import SignalSettings

PLAIN = EstimateSettings(friction='coulomb', armature=False, gravity='known', cutoff=8.0,
                         lag=0.0, coulomb_width=0.02)


@pytest.fixture(scope='module')
def motion(three):
    return three.motion(seconds=20)


def judged(three, t, q, tau):
    return identify(dataset_from_arrays(three.robot, t, q, tau), three.robot, PLAIN)


@pytest.mark.parametrize('joint', [0, 1, 2])
def test_friction_that_drives_is_no_good_model(three, motion, joint):
    """A flipped sign that friction explains: predicted well, and an arm would run away."""
    t, q, v, a = motion
    tau = three.efforts(q, v, a) + 15.0 * np.tanh(v / 0.02) + 60.0 * v
    assert judged(three, t, q, tau).verdict == 'good'
    tau[:, joint] *= -1.0
    found = judged(three, t, q, tau)
    assert found.validation.total < 0.1
    assert found.verdict == 'poor'
    assert any(f'j{joint + 1}: has a friction that drives' in reason
               for reason in found.verdict_reasons)


def test_efforts_in_another_unit_are_no_good_model(three, motion):
    t, q, v, a = motion
    found = judged(three, t, q, 0.1 * three.efforts(q, v, a))
    assert found.validation.total < 0.01
    assert found.verdict == 'poor'
    assert any('amperes' in reason for reason in found.verdict_reasons)


def test_a_joint_that_stood_still_is_not_known_to_be_good(three, motion):
    t, q, v, a = (x.copy() for x in motion)
    for x, value in ((q, 0.3), (v, 0.0), (a, 0.0)):
        x[:, 1] = value
    q[:, 1] += 1e-4 * np.sin(30.0 * t)
    tau = three.efforts(q, v, a)
    assert still_joints(dataset_from_arrays(three.robot, t, q, tau)) == ('j2',)
    found = judged(three, t, q, tau)
    assert found.validation.total < 0.01
    assert found.verdict == 'fair'
    assert any(reason.startswith('j2 stood still') for reason in found.verdict_reasons)


def test_clocks_that_are_apart_are_told_of():
    assert not late_efforts(SignalSettings(8.0, lag=0.012))
    later, = late_efforts(SignalSettings(8.0, lag=0.05))
    sooner, = late_efforts(SignalSettings(8.0, lag=-0.05))
    assert '50 ms after' in later.message and '50 ms before' in sooner.message


@pytest.mark.parametrize('lag', [0.2, -0.3])
def test_efforts_that_come_late_are_moved_and_named(three, motion, lag):
    t, q, v, a = motion
    late = np.stack([np.interp(t - lag, t, one) for one in three.efforts(q, v, a).T], axis=1)
    found = identify(dataset_from_arrays(three.robot, t, q, late), three.robot,
                     replace(PLAIN, lag=None))
    assert found.signals.lag == pytest.approx(lag, abs=0.005)
    assert found.verdict == 'good'
    words = f'comes {1000 * abs(found.signals.lag):.0f} ms {"after" if lag > 0 else "before"}'
    assert any(words in one.message for one in found.findings)


def test_a_sign_that_was_given_wrong(three, motion):
    """The remedy holds for a sign of 1 and for one of -1."""
    t, q, v, a = motion
    settings = DatasetSettings(sign=[1.0, -1.0, 1.0])
    dataset = dataset_from_arrays(three.robot, t, q, three.efforts(q, v, a), settings=settings)
    errors = [one for one in plausibility(dataset, three.robot)
              if one.severity is Severity.ERROR]
    assert [(one.subject, one.remedy) for one in errors] == [
        ('j2', 'multiply its effort.sign by -1')]


def test_times_in_the_wrong_unit_are_too_short(three, motion):
    t, q, v, a = motion
    with pytest.raises(RecordingError, match=r'is too short: 0\.02 s'):
        judged(three, t / 1000.0, q, three.efforts(q, v, a))
