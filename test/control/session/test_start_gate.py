# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from robot_dynamics.control.session.start_gate import StartGate
from robot_dynamics.errors import ParameterError

LIMIT = np.array([50.0, 20.0])
HOLD = np.array([20.0, 3.0])
NOTHING = np.zeros(2)
NAN = np.full(2, math.nan)
Q = np.array([0.3, -0.2])
PERIOD = 0.002


def run(gate, efforts, q=lambda k: Q, sent=lambda k: HOLD, before=NOTHING):
    """Return in which cycle the gate opens, None where it does not."""
    gate.begin(0.0, q(0), before)
    gate.note_sent(sent(0))
    for k, effort in enumerate(efforts, start=1):
        if gate.observe(k * PERIOD, q(k), effort):
            return k
        gate.note_sent(sent(k))
    return None


def test_opens_after_enough_states_that_show_our_torque():
    # The arm is deaf for 100 states.
    assert run(StartGate(LIMIT), [NOTHING] * 100 + [HOLD] * 100) == 150


def test_every_joint_must_agree():
    assert run(StartGate(LIMIT), [np.array([20.0, 0.0])] * 2000) is None


def test_one_state_that_disagrees_starts_the_count_again():
    assert run(StartGate(LIMIT), [HOLD] * 49 + [NOTHING] + [HOLD] * 100) == 100


def test_noise_within_the_tolerance_agrees():
    generator = np.random.default_rng(1)
    noisy = [HOLD + 0.02 * LIMIT * generator.uniform(-1.0, 1.0, 2) for _ in range(50)]
    assert run(StartGate(LIMIT, tolerance=0.03), noisy) == 50


def test_an_effort_that_answers_an_older_command_agrees():
    def sent(k):
        return HOLD + [0.5 * k, 0.0]

    assert run(StartGate(LIMIT, tolerance=0.001), [sent(max(k - 6, 0)) for k in range(60)],
               sent=sent) == 50
    assert run(StartGate(LIMIT, tolerance=0.001), [sent(max(k - 20, 0)) for k in range(60)],
               sent=sent) is None


def test_agreement_that_was_there_before_proves_nothing():
    """An arm held by its own gravity compensation reads as if it obeyed: wait."""
    gate = StartGate(LIMIT, settle_time=1.0)
    assert run(gate, [HOLD] * 1000, before=HOLD) == pytest.approx(1.0 / PERIOD, abs=1)
    assert 'always did' in gate.reason


def test_an_arm_that_needs_no_torque_is_given_time_instead():
    assert run(StartGate(LIMIT, settle_time=0.6), [NOTHING] * 1000, sent=lambda k: NOTHING) \
        == pytest.approx(0.6 / PERIOD, abs=1)


def test_without_efforts_the_arm_must_stay_still():
    def q(k):
        # Sags for 0.4 s, then stands.
        return Q + min(k * PERIOD, 0.4) * 0.5

    gate = StartGate(LIMIT, settle_time=0.5, still_tolerance=0.02)
    opened = run(gate, [NAN] * 2000, q=q, before=NAN)
    assert 0.4 + 0.5 - 0.05 < opened * PERIOD < 0.4 + 0.5 + PERIOD
    assert 'no effort' in gate.reason


def test_an_arm_that_keeps_moving_is_never_ready():
    assert run(StartGate(LIMIT, settle_time=0.5), [NAN] * 5000,
               q=lambda k: Q + 0.05 * np.sin(6.0 * k * PERIOD)) is None


def test_efforts_that_are_no_torque_are_not_compared():
    current = 7.0 * HOLD
    assert run(StartGate(LIMIT, compare_effort=False, settle_time=0.5), [current] * 1000) \
        == pytest.approx(0.5 / PERIOD, abs=1)
    gate = StartGate(LIMIT, settle_time=0.5)
    assert run(gate, [current] * 1000) is None
    assert 'not the one commanded' in gate.reason


def test_efforts_are_compared_as_what_was_sent():
    carried = np.array([18.0, 3.0])

    def as_sent(q, effort):
        assert (q == Q).all()
        return effort - carried

    gate = StartGate(LIMIT, as_sent=as_sent)
    assert run(gate, [HOLD + carried] * 60, before=carried) == 50
    assert run(gate, [HOLD] * 2000, before=carried) is None
    # The hardware's own part alone, before and after, is no evidence.
    idle = StartGate(LIMIT, settle_time=0.5, as_sent=as_sent)
    assert run(idle, [carried] * 2000, sent=lambda k: NOTHING, before=carried) \
        == pytest.approx(0.5 / PERIOD, abs=1)


def test_one_joint_without_effort_makes_all_of_them_useless():
    assert run(StartGate(LIMIT, settle_time=0.5), [np.array([20.0, math.nan])] * 1000) \
        == pytest.approx(0.5 / PERIOD, abs=1)


def test_begin_forgets_everything():
    gate = StartGate(LIMIT)
    assert run(gate, [HOLD] * 100) == 50
    assert run(gate, [HOLD] * 100) == 50


def test_settings_are_checked():
    with pytest.raises(ParameterError, match='tolerance'):
        StartGate(LIMIT, tolerance=0.0)
    with pytest.raises(ParameterError, match='samples'):
        StartGate(LIMIT, samples=0)


def test_a_reason_from_outside_keeps_it_closed():
    for compare in (True, False):
        gate = StartGate(LIMIT, compare_effort=compare)
        gate.closed_by = '/effort_controller is inactive'
        assert run(gate, [HOLD] * 2000) is None
        assert gate.reason == '/effort_controller is inactive'
        # What it saw until then counts for nothing.
        gate.closed_by = ''
        opened = [gate.observe((2001 + k) * PERIOD, Q, HOLD) for k in range(600)]
        assert opened.index(True) >= (49 if compare else 499)
