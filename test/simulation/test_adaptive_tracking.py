# SPDX-License-Identifier: Apache-2.0
"""The adaptive controller on a simulated arm that differs from its model."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark.closed_loop import LoopConditions, run_closed_loop
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.control.session.limits import EffortLimiter
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

NOISE = SensorQuality(position_resolution=2.0 * np.pi / 2**16, velocity_noise=0.005)


@pytest.fixture(scope='module')
def arm7():
    return Robot.from_urdf(shipped_robots()['arm7'])


@pytest.fixture(scope='module')
def true_arm7(arm7):
    """2 kg at the flange that the model knows nothing of, and links 30 % lighter."""
    return with_payload(with_scaled_masses(arm7, 1.0 / 1.3), 2.0, (0.02, 0.0, 0.18),
                        frame='flange')


def track(robot, true, controller, seconds, *, limiter=None, quality=None, effort_gain=1.0,
          **conditions):
    plant = Plant(true, effort_gain=effort_gain)
    plant.reset(exciting_fourier(robot, 0).start)
    return run_closed_loop(controller, plant,
                           lambda pose: exciting_fourier(robot, 0, start=pose), seconds,
                           conditions=LoopConditions(**conditions), limiter=limiter,
                           sensors=JointSensors(quality, seed=1))


@pytest.fixture(scope='module')
def baseline(arm7, true_arm7):
    """RMS error of PD + gravity; it is stationary. rad."""
    return track(arm7, true_arm7, PDGravityController(arm7), 10.0).rms(6.0, 10.0)


@pytest.mark.slow
def test_error_falls_to_a_small_part_of_that_without_adaptation(arm7, true_arm7, baseline):
    controller = AdaptiveController(arm7)
    record = track(arm7, true_arm7, controller, 20.0)
    assert record.rms(6.0, 10.0) < baseline / 50.0
    assert record.rms(16.0, 20.0) < baseline / 100.0
    assert not controller.frozen
    assert record.saturated == 0


@pytest.mark.slow
@pytest.mark.parametrize('conditions', [
    {'loss': 0.05}, {'stalls': ((3.0, 0.05), (5.5, 0.05))}, {'delay': 0.002},
    {'quality': NOISE}, {'effort_gain': 1.07}, {'offset': 0.1}, {'period': 0.001},
    {'period': 0.004},
], ids=lambda conditions: next(iter(conditions)) + ' ' + str(next(iter(conditions.values()))))
def test_hardly_anything_changes_in_loops_that_are_less_than_ideal(arm7, true_arm7, baseline,
                                                                   conditions):
    controller = AdaptiveController(arm7, period=conditions.get('period', 0.002))
    record = track(arm7, true_arm7, controller, 10.0, **conditions)
    assert record.rms(6.0, 10.0) < baseline / 40.0
    assert not controller.frozen


@pytest.mark.slow
def test_friction_is_learnt_too(arm7, true_arm7):
    size = 0.004 * arm7.limits.effort
    rough = replace(true_arm7, friction=size, damping=size)
    without = track(arm7, rough, PDGravityController(arm7), 10.0).rms(6.0, 10.0)
    record = track(arm7, rough, AdaptiveController(arm7), 10.0, quality=NOISE, delay=0.002,
                   loss=0.05)
    assert record.rms(6.0, 10.0) < without / 30.0


@pytest.mark.slow
def test_the_exact_model_loses_nothing_by_adaptation(arm7):
    record = track(arm7, arm7, AdaptiveController(arm7), 6.0, quality=NOISE)
    fixed = track(arm7, arm7, AdaptiveController(arm7, adaptation=AdaptationGains(
        frequency=1e-3, term_frequency=1e-3)), 6.0, quality=NOISE)
    assert record.rms(2.0, 6.0) < 2.0 * fixed.rms(2.0, 6.0)


@pytest.mark.slow
def test_cut_efforts_do_not_wind_it_up(arm7, true_arm7, baseline):
    limiter = EffortLimiter(arm7.joint_names, 0.225 * arm7.limits.effort)
    controller = AdaptiveController(arm7)
    record = track(arm7, true_arm7, controller, 10.0, limiter=limiter)
    assert record.saturated > 100
    assert not np.all(record.adapted)
    assert record.rms(6.0, 10.0) < baseline / 40.0


@pytest.mark.slow
@pytest.mark.parametrize('factor', [5.0, 10.0, 100.0])
def test_gains_far_too_high_freeze_and_the_arm_goes_on_as_without(arm7, true_arm7, baseline,
                                                                  factor):
    gains = AdaptationGains(frequency=factor * AdaptationGains().frequency)
    # As if the loop were fast enough for them; it is not.
    controller = AdaptiveController(arm7, adaptation=gains, period=1e-6, delay=0.0)
    record = track(arm7, true_arm7, controller, 10.0, delay=0.002, quality=NOISE)
    assert controller.frozen
    assert np.all(np.isfinite(record.effort))
    assert np.all(np.abs(record.effort) <= arm7.limits.effort)
    assert np.all(np.isfinite(controller.estimate))
    assert record.rms(6.0, 10.0) < 3.0 * baseline


@pytest.mark.slow
def test_a_load_picked_up_in_motion_is_learnt_in_seconds(arm7, true_arm7, baseline):
    empty = with_scaled_masses(arm7, 1.0 / 1.3)
    controller = AdaptiveController(arm7)
    track(arm7, empty, controller, 6.0)
    record = track(arm7, true_arm7, controller, 10.0)
    assert record.rms(6.0, 10.0) < baseline / 50.0
    assert not controller.frozen
