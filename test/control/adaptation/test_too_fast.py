# SPDX-License-Identifier: Apache-2.0
"""Gains beyond what is allowed: estimates freeze, efforts stay finite, bodies stay bodies."""

import numpy as np
import pytest

from robot_dynamics.control.feedback.gains import AdaptationGains, largest_frequency
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.modify import with_payload

#: w_A at ten times the largest Gamma of this period and delay.
TOO_FAST = np.sqrt(10.0) * largest_frequency(60.0, 0.002, 0.001)


@pytest.mark.parametrize('law', ['memory', 'natural_memory'])
def test_a_step_of_the_reference_freezes_for_some_samples_only(arm3, law):
    controller = AdaptiveController(arm3, adaptation=AdaptationGains(law=law))
    dynamics, rest = controller.dynamics, np.zeros(3)
    q, v, reasons = np.array([0.3, 0.2, 0.1]), np.zeros(3), []
    for k in range(1000):
        # A step each second: there and back.
        q_d = np.array([0.3, 0.2, 0.1]) + (0.3 if k >= 500 else 0.0)
        tau = controller.update(q, v, q_d, rest, rest, 0.002 if k else 0.0, adapt=True)
        v = v + 0.002 * dynamics.forward_dynamics(q, v, tau)
        q = q + 0.002 * v
        reasons.append(controller.frozen_reason)
    large = [k for k, reason in enumerate(reasons) if 'implausibly large' in reason]
    assert large and min(large) >= 500 and max(large) < 550
    assert not controller.learning.is_latched
    np.testing.assert_allclose(q, q_d, atol=1e-3)


@pytest.mark.parametrize('law', ['gradient', 'projection', 'composite', 'memory', 'natural',
                                 'natural_memory'])
def test_ten_times_the_allowed_gain_freezes_safely(arm3, law):
    gains = AdaptationGains(law=law, frequency=TOO_FAST, composite=0.1)
    with pytest.raises(ControlError, match='stability limit'):
        AdaptiveController(arm3, adaptation=gains)
    # As if the loop were a hundred times faster than it is.
    controller = AdaptiveController(arm3, adaptation=gains, period=2e-5, delay=1e-5)
    dynamics = Dynamics(with_payload(arm3, 1.0, (0.1, 0.0, 0.05)))
    q, v, w = np.array([0.3, 0.2, 0.1]), np.zeros(3), np.array([2.0, 3.0, 4.0])
    late = dynamics.gravity_torque(q)
    reasons, kept = set(), None
    for k in range(2000):
        q_d = np.array([0.3, 0.2, 0.1]) + 0.4 * (1.0 - np.cos(w * k * 0.002))
        v_d, a_d = 0.4 * w * np.sin(w * k * 0.002), 0.4 * w * w * np.cos(w * k * 0.002)
        tau = np.clip(controller.update(q, v, q_d, v_d, a_d, 0.002 if k else 0.0, adapt=True),
                      -arm3.limits.effort, arm3.limits.effort)
        assert np.all(np.isfinite(tau))
        assert np.all(np.isfinite(controller.estimate))
        controller.note_applied(tau)
        reasons.add(controller.frozen_reason)
        if controller.learning.is_latched:
            kept = controller.estimate.copy() if kept is None else kept
            np.testing.assert_array_equal(controller.estimate, kept)
        # The effort acts a millisecond later than the state it answers.
        for effort in (late, tau):
            v = v + 0.001 * dynamics.forward_dynamics(q, v, effort)
            q = q + 0.001 * v
        late = tau
    if law != 'gradient':
        for body in controller.adaptation.bodies.reshape(-1, 10):
            assert check_body(body, tolerance=1e-6).is_consistent
    assert reasons - {''}, 'it never froze'
    assert np.all(np.isfinite(controller.safe_effort(q, v)))
