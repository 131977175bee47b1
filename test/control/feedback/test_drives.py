# SPDX-License-Identifier: Apache-2.0
from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from benchmark.closed_loop import LoopConditions, run_closed_loop
from robot_dynamics.control.feedback.drives import COULOMB_SHARE, assumed_rotors, with_rotors
from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.motion.references import PointToPoint
from robot_dynamics.control.session.modes import Mode
from robot_dynamics.control.session.session import ControlSession, SessionSettings
from robot_dynamics.model.modify import with_payload
from robot_dynamics.model.robot import Robot, arm_length
from robot_dynamics.simulation.plant import Plant


def test_a_rotor_follows_from_the_effort_limit_where_nothing_is_described(arm3):
    half_described = replace(arm3, armature=np.array([0.0, 0.5, 0.0]))
    np.testing.assert_allclose(assumed_rotors(half_described), [0.18, 0.5, 0.024])
    np.testing.assert_array_equal(with_rotors(half_described).armature,
                                  assumed_rotors(half_described))


def test_nothing_is_assumed_without_an_effort_limit(arm3):
    limits = replace(arm3.limits, effort=np.array([np.nan, np.inf, 8.0]))
    np.testing.assert_allclose(assumed_rotors(replace(arm3, limits=limits)), [0.0, 0.0, 0.024])


def test_a_placeholder_is_not_a_limit(arm3):
    """Above 20 times weight and length, such as the 50,000 N m of Baxter's head."""
    largest = 20.0 * 9.81 * arm3.inertial_parameters[:, 0].sum() * arm_length(arm3)
    limits = replace(arm3.limits, effort=np.array([0.99 * largest, 1.01 * largest, 5e4]))
    np.testing.assert_allclose(assumed_rotors(replace(arm3, limits=limits)),
                               [0.00297 * largest, 0.0, 0.0])


def test_limits_are_limits_where_links_have_no_mass(arm3):
    """Such as those of a Schunk LWA 4P whose links weigh 0.06 kg together."""
    light = arm3.with_parameters(1e-3 * arm3.inertial_parameters)
    limits = replace(arm3.limits, effort=np.array([370.0, 400.0, 401.0]))
    np.testing.assert_allclose(assumed_rotors(replace(light, limits=limits)), [1.11, 1.2, 0.0])


def test_given_rotors_replace_described_and_assumed_ones(arm3):
    described = replace(arm3, armature=np.array([0.0, 0.5, 0.0]))
    np.testing.assert_array_equal(with_rotors(described, [0.1, 0.2, 0.0]).armature,
                                  [0.1, 0.2, 0.0])


@pytest.mark.parametrize('factor', [0.3, 1.0, 3.0])
def test_a_light_wrist_follows_against_friction_if_rotors_are_assumed(arm3, factor):
    """True rotors are a third to three times the assumed ones."""
    parameters = arm3.inertial_parameters.copy()
    parameters[2] *= 0.001
    model = arm3.with_parameters(parameters)
    friction = COULOMB_SHARE * model.limits.effort
    arm = replace(with_rotors(model, factor * assumed_rotors(model)), friction=friction)

    def worst(robot):
        plant = Plant(arm)
        plant.reset([0.2, -0.4, 0.6])
        record = run_closed_loop(
            PDGravityController(robot), plant,
            lambda q: PointToPoint(q, q + 1.0, duration=2.0), 3.0,
            conditions=LoopConditions(delay=0.001))
        return np.abs(record.error[record.time > 2.5]).max(axis=0)

    gains = FeedbackGains()
    bound = COULOMB_SHARE / (gains.bandwidth * gains.error_rate * 0.003)
    assert worst(with_rotors(model)).max() < 1.05 * bound
    # Feedback for the links alone leaves the wrist nearly where it is.
    assert worst(model)[2] > 0.9


def take_over(factor, periods, seconds=1.0):
    """Session and peak speed of an arm that is held by its first effort, which acts late.

    True rotors are `factor` times the assumed ones, and 2 kg are unknown. Efforts act some periods
    after the states that they answer.
    """
    described = Robot.from_urdf('arm7')
    model = with_rotors(described)
    plant = Plant(replace(with_payload(described, 2.0, [0.0, 0.0, 0.0]),
                          armature=factor * model.armature, damping=np.full(7, 0.5)),
                  timestep=0.0005)
    plant.reset([0.1, 0.2, 0.3, -1.5, 0.0, 1.5, 0.0])
    law = PDGravityController(model, period=0.002, delay=0.005)
    session = ControlSession(model, law, SessionSettings(period=0.002))
    peak, waiting = 0.0, deque()
    for k in range(round(seconds / 0.002)):
        command = session.on_joint_state(1.0 + 0.002 * k, 1.0 + 0.002 * k, model.joint_names,
                                         plant.q, plant.v, np.full(7, np.nan))
        waiting.append(command.effort.copy())
        if len(waiting) > periods:
            plant.set_effort(waiting.popleft())
            plant.advance(0.002)
        peak = max(peak, np.abs(plant.v).max())
        if session.mode is Mode.SAFE:
            break
    return session, peak


@pytest.mark.parametrize(('factor', 'periods'), [(0.2, 2), (1.0 / 3.0, 3), (1.0, 3)])
def test_an_arm_with_lighter_rotors_is_held_from_its_first_effort_on(factor, periods):
    session, peak = take_over(factor, periods)
    assert session.mode is Mode.HOLDING
    assert peak < 0.5


def test_an_arm_with_far_lighter_rotors_than_assumed_oscillates_with_late_efforts():
    """Its loop is stable up to 3.8 ms; it goes safe, and its reason names the rotors."""
    session, _ = take_over(0.1, 3)
    assert session.mode is Mode.SAFE
    assert 'rotors' in session.reason
