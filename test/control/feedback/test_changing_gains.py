# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.control.feedback.linear_feedback import JointGains, LinearFeedback
from robot_dynamics.control.laws.model_based import ComputedTorqueController, PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, DimensionError
from robot_dynamics.model.robot import Robot

STIFF = JointGains((100.0, 60.0, 4.0), (20.0, 10.0, 0.5))


def answer(feedback, robot):
    state = np.random.default_rng(0).normal(size=(5, robot.n))
    return feedback.update(*state).copy()


@pytest.mark.parametrize(('first', 'second'), [
    (FeedbackGains(60.0, 12.0), FeedbackGains(30.0, 20.0, (1.0, 2.0, 0.5))),
    (STIFF, JointGains((50.0, 60.0, 2.0), (15.0, 12.0, 0.4)))])
def test_gains_change_in_proportion_to_time(arm3, first, second):
    feedback = LinearFeedback(arm3, Dynamics(arm3), first)
    values = []
    for gains in (first, second):
        values.append(LinearFeedback(arm3, Dynamics(arm3), gains)._now.copy())
    feedback.change(second, 0.2)
    np.testing.assert_array_equal(feedback._now, values[0])
    feedback.advance(0.05)
    np.testing.assert_allclose(feedback._now, 0.75 * values[0] + 0.25 * values[1])
    feedback.advance(1.0)
    np.testing.assert_allclose(answer(feedback, arm3), answer(
        LinearFeedback(arm3, Dynamics(arm3), second), arm3), rtol=1e-12)


def test_the_safe_damping_stays_that_of_the_first_gains(arm3):
    feedback = LinearFeedback(arm3, Dynamics(arm3), FeedbackGains())
    q, v = np.random.default_rng(1).normal(size=(2, 3))
    before = feedback.damping(q, v)
    feedback.change(FeedbackGains(bandwidth=20.0), 0.0)
    feedback.advance(0.002)
    assert feedback.bandwidth == 20.0
    np.testing.assert_array_equal(feedback.damping(q, v), before)


@pytest.mark.parametrize(('gains', 'reason'), [
    (FeedbackGains(bandwidth=400.0), 'bandwidth is 400 1/s, too large .* set it to 250 1/s'),
    (FeedbackGains(bandwidth=95.0), 'would damp at 95 1/s.* stay below 90 1/s'),
    (FeedbackGains(position_gain=1000.0), 'stiffness is 1000 N m/rad .* for wrist'),
    (STIFF, 'cannot begin or cease to replace bandwidth')])
def test_a_change_beyond_what_was_judged_is_refused_with_the_bound(arm3, gains, reason):
    feedback = LinearFeedback(arm3, Dynamics(arm3), FeedbackGains())
    with pytest.raises(ControlError, match=reason):
        feedback.change(gains, 0.2)
    feedback.advance(1.0)
    assert feedback.gains == FeedbackGains() and feedback.bandwidth == 60.0


@pytest.mark.parametrize('law', [PDGravityController, ComputedTorqueController,
                                 AdaptiveController])
def test_every_law_takes_constant_gains_and_moves_to_others(arm3, law):
    controller = law(arm3, feedback=STIFF)
    q, v, q_d, v_d = 0.1 * np.random.default_rng(2).normal(size=(4, 3))
    rest = np.zeros(3)
    hold = controller.holding_effort(q, v, q_d)
    np.testing.assert_allclose(hold, Dynamics(arm3).gravity_torque(q) + STIFF.stiffness * (
        q_d - q) - STIFF.damping * v)
    controller.feedback.change(JointGains((80.0, 60.0, 4.0), STIFF.damping), 0.01)
    for _ in range(5):
        controller.advance(0.002)
        controller.update(q, v, q_d, v_d, rest, 0.002, adapt=False)
    np.testing.assert_allclose(controller.holding_effort(q, v, q_d)[0] - hold[0],
                               -20.0 * (q_d[0] - q[0]))


def test_computed_torque_with_constant_gains_is_feedforward_and_feedback(arm3):
    controller = ComputedTorqueController(arm3, feedback=STIFF)
    q, v, q_d, v_d, a_d = np.random.default_rng(3).normal(size=(5, 3))
    np.testing.assert_allclose(
        controller.update(q, v, q_d, v_d, a_d, 0.002, adapt=False),
        Dynamics(arm3).inverse_dynamics(q, v, a_d) + STIFF.stiffness * (q_d - q)
        + STIFF.damping * (v_d - v))


def test_a_stiffness_of_each_joint_needs_one_value_for_each(arm3):
    with pytest.raises(DimensionError, match='must have 3 values, got 2'):
        PDGravityController(arm3, feedback=FeedbackGains(position_gain=(1.0, 2.0)))


@pytest.mark.parametrize('armature', [0.0, 0.1])
def test_gains_of_practice_are_accepted_on_a_panda(shared, armature):
    """Those of the joint impedance example of the vendor."""
    panda = Robot.from_urdf(shared / 'data' / 'urdf' / 'panda_hand.urdf',
                            joints=[f'panda_joint{k}' for k in range(1, 8)])
    gains = JointGains((600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0),
                       (50.0, 50.0, 50.0, 50.0, 30.0, 25.0, 15.0))
    law = PDGravityController(replace(panda, armature=np.full(7, armature)), feedback=gains)
    assert law.feedback.warning.startswith('leaves little margin: damping damps some motion')
    with pytest.raises(ControlError, match='damping damps some motion'):
        PDGravityController(panda, feedback=replace(gains, damping=(50.0,) * 7))
