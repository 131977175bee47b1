# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.control.adaptation.learning import RestDetector
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.laws.slotine_li import AdaptiveController, loop_report
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.errors import ControlError


def test_the_frequency_is_the_one_the_gain_was_chosen_for(arm3):
    law = AdaptiveController(arm3, adaptation=AdaptationGains(terms=()))
    report = loop_report(law)
    assert report.frequency == pytest.approx(60.0, rel=1e-6)
    assert report.limit == pytest.approx(np.sqrt(60.0 / 0.002))
    report.require()
    assert '60 rad/s' not in str(report).split('adaptation')[0]
    assert 'adaptation 60 of less than 173 rad/s' in str(report)


def test_along_a_motion_and_with_joint_terms(arm3):
    law = AdaptiveController(arm3)
    along = loop_report(law, exciting_fourier(arm3, 0), payload=1.0)
    assert 10.0 < along.frequency < 70.0
    assert along.payload == 1.0
    assert loop_report(law, payload=0.0).frequency > 60.0
    with pytest.raises(ControlError, match=r'adaptation\.frequency'):
        loop_report(law, period=0.03, delay=0.01).require()


@pytest.mark.parametrize('law', ['natural', 'gradient'])
def test_every_law_has_a_report(arm3, law):
    assert law in str(loop_report(AdaptiveController(arm3,
                                                     adaptation=AdaptationGains(law=law))))


def test_an_arm_at_rest_learns_nothing_until_it_moves_or_errs(arm3):
    watch = RestDetector(0.01, 0.1)
    still, moving = np.zeros(3), np.array([0.0, -0.2, 0.0])
    assert [watch.observe(still, 0.0, 0.004) for _ in range(4)] == [False, False, True, True]
    assert not watch.observe(still, 0.2, 0.004)
    assert watch.observe(still, 0.1, 0.004)
    assert not watch.observe(moving, 0.0, 0.004)
    assert not watch.observe(still, 0.0, 0.004)
    never = RestDetector(np.inf, 0.1)
    assert not any(never.observe(still, 0.0, 1e300) for _ in range(3))

    law = AdaptiveController(arm3, adaptation=AdaptationGains(rest_after=0.01))
    q = np.array([0.3, 0.2, 0.1])
    for _ in range(10):
        law.update(q, still, q + 0.001, still, still, 0.002, adapt=True)
    assert law.frozen_reason == 'the arm is at rest'
    law.update(q, still, q + 0.001, still + 0.1, still, 0.002, adapt=True)
    assert not law.frozen
