# SPDX-License-Identifier: Apache-2.0
"""Feedforward + LQ on a simulated arm, beside PD + gravity: what docs/control.md claims."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark.closed_loop import LoopConditions, run_closed_loop
from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.lq.design import FeedbackDesign, Schedule
from robot_dynamics.control.lq.gain_table import GainTable
from robot_dynamics.control.lq.rules import rule_of_design
from robot_dynamics.control.motion.references import Hold, exciting_fourier
from robot_dynamics.control.session.session import SessionSettings
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import StopRequestedError
from robot_dynamics.model.modify import with_payload
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

NOISE = SensorQuality(position_resolution=2.0 * np.pi / 2**16, velocity_noise=0.005)
SECONDS = 4.0


@pytest.fixture(scope='module')
def arm7():
    return Robot.from_urdf(shipped_robots()['arm7'])


@pytest.fixture(scope='module')
def loaded(arm7):
    return with_payload(arm7, 2.0, (0.02, 0.0, 0.18), frame='flange')


def track(robot, true, law, *, quality=None, seconds=SECONDS, **conditions):
    plant = Plant(true)
    plant.reset(exciting_fourier(robot, 0).start)
    return run_closed_loop(law, plant, lambda pose: exciting_fourier(robot, 0, start=pose),
                           seconds, conditions=LoopConditions(**conditions),
                           sensors=JointSensors(quality, seed=1))


def error(record):
    return record.rms(2.0, SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize('gain', ['one_step', 'riccati'])
def test_with_the_true_model_it_is_far_nearer_than_pd_with_gravity(arm7, gain):
    wanted = error(track(arm7, arm7, PDGravityController(arm7))) / 20.0
    assert error(track(arm7, arm7, FeedforwardLQController(arm7, gain=gain))) < wanted


@pytest.mark.slow
@pytest.mark.parametrize('gain', ['one_step', 'riccati'])
def test_noise_and_a_delay_of_a_sample_make_little_chatter(arm7, gain):
    record = track(arm7, arm7, FeedforwardLQController(arm7, gain=gain), quality=NOISE,
                   delay=0.002)
    changes = np.diff(record.effort[1000:], axis=0)
    assert np.sqrt(np.mean(changes**2, axis=0)).max() < 1.5
    assert error(record) < 2e-4


@pytest.mark.slow
def test_a_stiff_regulator_carries_an_unknown_payload_three_times_nearer(arm7, loaded):
    stiff = FeedforwardLQController(arm7, design=FeedbackDesign(60.0, 1.0 / 60.0))
    wanted = error(track(arm7, loaded, PDGravityController(arm7))) / 3.0
    assert error(track(arm7, loaded, stiff)) < wanted


def test_with_a_known_payload_it_tracks_as_well_as_without_one(arm7, loaded):
    law = FeedforwardLQController(arm7)
    law.carry(loaded.inertial_parameters - arm7.inertial_parameters, 0.0)
    assert error(track(arm7, loaded, law)) < 1e-4


@pytest.mark.slow
def test_gains_computed_ahead_do_as_well_as_those_of_the_loop(arm7):
    law = FeedforwardLQController(arm7)
    plain = error(track(arm7, arm7, FeedforwardLQController(arm7)))
    plant = Plant(arm7)
    plant.reset(exciting_fourier(arm7, 0).start)

    def reference(pose):
        motion = exciting_fourier(arm7, 0, start=pose)
        way = motion.sample_many(np.arange(0.0, SECONDS, 0.01))
        law.follow(GainTable.along(rule_of_design('riccati', 7, law.design, 0.002), law.model,
                                   *way, 0.01))
        return motion
    before = law.schedule.counts['updates']
    record = run_closed_loop(law, plant, reference, SECONDS)
    assert law.from_table == law.schedule.counts['updates'] - before
    assert error(record) < 1.1 * plain


@pytest.mark.parametrize('late', [0, 4])
@pytest.mark.parametrize('answer', ['hold', 'brake'])
def test_a_loop_too_slow_for_what_was_asked_holds_and_brakes_all_the_same(answer, late):
    """A time constant of 2.3 ms at 50 Hz is certified, as the regulator does what can be done.

    The stiffness that was asked for would throw the arm from limit to limit.
    """
    robot = Robot.from_urdf(shipped_robots()['planar_2r'])
    law = FeedforwardLQController(robot, period=0.02, delay=0.0005 * late,
                                  design=FeedbackDesign(5.0, 0.0023))
    plant, pose = Plant(robot), np.array([0.5, 0.7])
    plant.reset(pose, [0.1, -0.1])
    plant.set_effort(Dynamics(robot).gravity_torque(pose))
    for _ in range(100):
        effort = law.holding_effort(plant.q, plant.v, pose) if answer == 'hold' \
            else law.safe_effort(plant.q, plant.v)
        plant.advance(steps=late)
        plant.set_effort(effort)
        plant.advance(steps=40 - late)
    np.testing.assert_allclose(plant.v, 0.0, atol=1e-3)
    np.testing.assert_allclose(plant.q, pose, atol=1e-3 if answer == 'hold' else 0.05)


def test_an_arm_that_is_pulled_away_is_given_up(arm7, loaded):
    law = FeedforwardLQController(arm7, schedule=Schedule(eps2=0.007))
    with pytest.raises(StopRequestedError, match='eps2'):
        track(arm7, loaded, law)


def test_an_arm_that_its_payload_displaces_is_not_given_up(arm7, loaded):
    """At the rates of PD + gravity, the errors of all joints add up to more than 1 rad."""
    sticky = replace(loaded, friction=0.004 * loaded.limits.effort,
                     damping=0.004 * loaded.limits.effort)
    law = FeedforwardLQController(arm7, gain='one_step', design=FeedbackDesign(60.0, 1.0 / 12.0))
    record = track(arm7, sticky, law, seconds=8.0)
    error = np.abs(record.error)
    sums = error.sum(axis=1)
    assert sums.max() > 1.0
    # The session does not stop it there either.
    assert error[np.argmax(sums > 1.0)].max() < SessionSettings.max_tracking_error


def test_an_unknown_payload_is_compensated(arm7, loaded):
    """On a motion several times nearer than without; at rest nothing is left of it."""
    stiff = FeedbackDesign(60.0, 1.0 / 60.0)
    plain, whole = (FeedforwardLQController(arm7, design=replace(stiff, disturbance_rate=rate))
                    for rate in (0.0, 4.0))
    assert error(track(arm7, loaded, whole)) < error(track(arm7, loaded, plain)) / 2.0
    plant = Plant(loaded)
    plant.reset(exciting_fourier(arm7, 0).start)
    record = run_closed_loop(whole, plant, Hold, SECONDS)
    assert np.abs(record.error[-1]).max() < 1e-5
    missing = Dynamics(loaded).gravity_torque(plant.q) - Dynamics(arm7).gravity_torque(plant.q)
    assert np.abs(missing).max() > 3.0
    np.testing.assert_allclose(whole.disturbance.effort, missing, atol=0.01)
