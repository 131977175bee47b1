# SPDX-License-Identifier: Apache-2.0
"""Faults of arms and drivers with controllers in processes of their own, in lock step."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 (rclpy) is not installed')
pytest.importorskip('mujoco', reason='the arm needs MuJoCo')

from benchmark.fault_parts.nodes import run_configuration
from benchmark.fault_parts.runs import findings, run

ARM, RATE = 'arm7', 250.0


@pytest.mark.slow
@pytest.mark.parametrize(('law', 'faults'), [
    ('adaptive', ['velocity sign', 'brake stuck']),
    ('gravity', ['velocity zero'])])
def test_a_node_answers_a_fault_as_its_session_does(domain, law, faults):
    """The matrix of sessions is in test/control/session/test_fault_matrix.py."""
    outcomes = run_configuration(ARM, law, RATE, faults, real_time=False)
    for fault, outcome in zip(faults, outcomes, strict=True):
        assert findings(fault, law, RATE, outcome) == []
        session = run(ARM, law, RATE, fault)
        assert outcome.peak == pytest.approx(session.peak, rel=1e-3), outcome
        assert outcome.tip_speed == pytest.approx(session.tip_speed, rel=1e-3), outcome
        assert outcome.time_to_safe == pytest.approx(session.time_to_safe, abs=1e-6), outcome
        assert outcome.reason.split(':')[:2] == session.reason.split(':')[:2]
