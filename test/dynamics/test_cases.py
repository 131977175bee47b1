# SPDX-License-Identifier: Apache-2.0
"""Reported faults of other programs, with their right answers."""

import json

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot


def test_two_velocities_in_the_slotine_li_regressor(cases):
    directory = cases / 'reg_slotine_li'
    dynamics = Dynamics(Robot.from_urdf(directory / 'planar2.urdf'))
    expected = json.loads((directory / 'expected.json').read_text())
    numbers, tolerance = expected['numbers'], expected['tolerance']
    state = json.loads((directory / 'state.json').read_text())
    q, v, v_r, a_r = (state[name] for name in ('q', 'v', 'v_r', 'a_r'))

    M, C, g = dynamics.matrices(q, v)
    for ours, right in ((M, 'M'), (C, 'C'), (g, 'g')):
        np.testing.assert_allclose(ours, numbers[right], atol=tolerance)
    tau = dynamics.slotine_li_regressor(q, v, v_r, a_r) @ dynamics.parameters
    np.testing.assert_allclose(tau, numbers['tau'], atol=tolerance)
    adaptive, _ = dynamics.adaptive_terms(q, v, v_r, a_r, np.zeros(2), dynamics.parameters)
    np.testing.assert_allclose(adaptive, numbers['tau'], atol=tolerance)
    wrong = dynamics.regressor(q, v, a_r) @ dynamics.parameters
    np.testing.assert_allclose(wrong, numbers['wrong_with_v_instead_of_v_r'], atol=tolerance)
    np.testing.assert_array_equal(dynamics.slotine_li_regressor(q, v, v, a_r),
                                  dynamics.regressor(q, v, a_r))
