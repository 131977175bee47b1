# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from benchmark.closed_loop import LoopConditions, run_closed_loop
from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.control.feedback.linear_feedback import lightest_motion
from robot_dynamics.control.laws.guiding import GuidingController
from robot_dynamics.control.laws.model_based import ComputedTorqueController, PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import Hold
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, InertiaError
from robot_dynamics.simulation.plant import Plant

LAWS = (PDGravityController, ComputedTorqueController, GuidingController, AdaptiveController)


def most(robot, error_rate, bandwidth=60.0):
    """Return K_P where (lambda + K_P / (omega_D m)) (T/2 + delay) = 0.3."""
    return (0.3 / 0.002 - error_rate) * bandwidth * lightest_motion(Dynamics(robot))[0]


def test_the_lightest_motion_is_that_of_the_wrist(arm3):
    inertia, joint = lightest_motion(Dynamics(arm3))
    assert arm3.joint_names[joint] == 'wrist'
    # Less than its own inertia about its joint, because the others give way.
    assert 0.5 * 0.02125 < inertia < 0.02125


@pytest.mark.parametrize('law', LAWS)
def test_a_stiffness_too_high_for_the_lightest_joint_is_refused_with_one_that_is_not(arm3, law):
    with pytest.raises(ControlError, match=r'1000 N m/rad .* for wrist') as caught:
        law(arm3, feedback=FeedbackGains(position_gain=1000.0))
    value = float(caught.value.remedy.split()[3])
    assert 0.99 * most(arm3, 12.0) < value <= most(arm3, 12.0)
    law(arm3, feedback=FeedbackGains(position_gain=value))


@pytest.mark.parametrize('law', LAWS)
@pytest.mark.parametrize('error_rate', [1.0, 60.0])
def test_the_largest_stiffness_comes_to_rest(arm3, law, error_rate):
    feedback = FeedbackGains(error_rate=error_rate, position_gain=0.99 * most(arm3, error_rate))
    plant = Plant(arm3)
    plant.reset([0.2, -0.4, 0.6])
    record = run_closed_loop(law(arm3, feedback=feedback), plant, lambda q: Hold(q, 10.0), 1.5,
                             conditions=LoopConditions(delay=0.001, offset=0.01, hold=0.1))
    assert np.abs(record.v[record.time > 1.2]).max() < 0.02
    # At most the first answers to an error that comes at once.
    assert record.saturated < 5


@pytest.mark.parametrize('law', LAWS)
def test_a_joint_that_moves_no_mass_is_refused_by_name(arm3, law):
    parameters = arm3.inertial_parameters.copy()
    parameters[2] = 0.0
    with pytest.raises(InertiaError, match='wrist moves no mass'):
        law(arm3.with_parameters(parameters))
