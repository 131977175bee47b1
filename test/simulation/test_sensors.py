# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.errors import SimulationError
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

STATE = (np.array([0.1, -0.2]), np.array([1.0, 2.0]), np.array([3.0, -4.0]))


def test_perfect_sensors_report_the_truth_at_once():
    reading = JointSensors().read(1.5, *STATE)
    assert reading.stamp == 1.5
    for measured, true in zip((reading.q, reading.v, reading.effort), STATE, strict=True):
        np.testing.assert_array_equal(measured, true)


def test_a_reading_does_not_change_with_the_arm():
    q = STATE[0].copy()
    reading = JointSensors().read(0.0, q, *STATE[1:])
    q[0] = 9.0
    assert reading.q[0] == 0.1


def test_encoders_have_steps():
    step = 2.0 * np.pi / 2**16
    sensors = JointSensors(SensorQuality(position_resolution=step))
    reading = sensors.read(0.0, *STATE)
    assert np.all(reading.q != STATE[0])
    np.testing.assert_allclose(reading.q / step, np.round(reading.q / step), atol=1e-9)
    np.testing.assert_allclose(reading.q, STATE[0], atol=0.5001 * step)


def test_noise_has_the_size_it_should_have():
    sensors = JointSensors(SensorQuality(position_noise=1e-3, velocity_noise=0.02,
                                         effort_noise=0.5), seed=1)
    readings = [sensors.read(0.001 * k, *STATE) for k in range(4000)]
    for name, true, deviation in (('q', STATE[0], 1e-3), ('v', STATE[1], 0.02),
                                  ('effort', STATE[2], 0.5)):
        errors = np.array([getattr(reading, name) for reading in readings]) - true
        # 8000 values: three standard deviations of mean and deviation.
        assert abs(errors.mean()) < 3.0 * deviation / np.sqrt(8000)
        assert errors.std() == pytest.approx(deviation, rel=0.03)


def test_equal_seeds_give_equal_noise_and_others_do_not():
    def measure(seed):
        return JointSensors(SensorQuality(velocity_noise=0.1), seed=seed).read(0.0, *STATE).v

    np.testing.assert_array_equal(measure(7), measure(7))
    assert np.any(measure(7) != measure(8))


def test_a_delayed_reading_shows_its_age():
    sensors = JointSensors(SensorQuality(delay=0.006))
    stamps = []
    for k in range(10):
        reading = sensors.read(0.002 * k, np.array([float(k)]), np.zeros(1), np.zeros(1))
        assert reading.stamp == pytest.approx(0.002 * reading.q[0])
        stamps.append(int(reading.q[0]))
    # The oldest there is, then always three samples back.
    assert stamps == [0, 0, 0, 0, 1, 2, 3, 4, 5, 6]


def test_reset_forgets_what_is_on_its_way():
    sensors = JointSensors(SensorQuality(delay=0.01))
    sensors.read(5.0, *STATE)
    sensors.reset()
    assert sensors.read(0.0, *STATE).stamp == 0.0


@pytest.mark.parametrize('name', ['position_resolution', 'position_noise', 'velocity_noise',
                                  'effort_noise', 'delay'])
@pytest.mark.parametrize('value', [-1e-9, np.nan, np.inf])
def test_a_quality_that_is_none_is_refused(name, value):
    with pytest.raises(SimulationError, match=name):
        SensorQuality(**{name: value})


def test_noise_follows_the_signal_where_a_ratio_is_given():
    rng = np.random.default_rng(0)
    sensors = JointSensors(SensorQuality(signal_to_noise=20.0), seed=1)
    at_rest = sensors.read(0.0, *STATE)
    np.testing.assert_array_equal(at_rest.q, STATE[0])  # a signal that has not moved has no noise
    signals = np.array([0.5, 0.1]) * rng.standard_normal((4000, 2))
    rates = np.array([3.0, 7.0]) * rng.standard_normal((4000, 2))
    readings = [sensors.read(0.001 * (k + 1), q, v, STATE[2])
                for k, (q, v) in enumerate(zip(signals, rates, strict=True))]
    for name, true in (('q', signals), ('v', rates)):
        errors = np.array([getattr(reading, name) for reading in readings])[500:] - true[500:]
        np.testing.assert_allclose(true.std(axis=0) / errors.std(axis=0), 20.0, rtol=0.06)
    np.testing.assert_array_equal(readings[-1].effort, STATE[2])
    sensors.reset()
    np.testing.assert_array_equal(sensors.read(9.0, *STATE).q, STATE[0])
    with pytest.raises(SimulationError, match='signal_to_noise'):
        SensorQuality(signal_to_noise=-1.0)
