# SPDX-License-Identifier: Apache-2.0
"""Adaptation with velocities that are ten to twenty times noisier than those of the study."""

import numpy as np
import pytest

from benchmark.closed_loop import LoopConditions, run_closed_loop
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.model.robot import Robot
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

TIMING = {'period': 0.002, 'delay': 0.002}
#: The last window is the worst for laws that learn from noise, the first for those that start so.
WINDOWS = ((0.0, 4.0), (4.0, 8.0))


def track(robot, controller, noise):
    plant = Plant(robot)
    plant.reset(exciting_fourier(robot, 0).start)
    sensors = JointSensors(SensorQuality(position_resolution=2.0 * np.pi / 2**16,
                                         velocity_noise=noise), seed=0)
    return run_closed_loop(controller, plant, lambda q: exciting_fourier(robot, 0, start=q), 8.0,
                           conditions=LoopConditions(delay=0.002), sensors=sensors)


@pytest.mark.slow
@pytest.mark.parametrize('noise', [0.05, 0.1])
def test_noise_is_not_learnt(noise):
    """The model is right: whatever moves its estimates is noise."""
    robot = Robot.from_urdf('arm7')
    controller = AdaptiveController(robot, **TIMING)
    adaptive = track(robot, controller, noise)
    baseline = track(robot, PDGravityController(robot, **TIMING), noise)
    for window in WINDOWS:
        assert adaptive.rms(*window) < baseline.rms(*window)
    assert not controller.frozen
    assert adaptive.adapted.mean() > 0.99
    masses = controller.adaptation.bodies.reshape(-1, 10)[:, 0]
    # Caps are half of all links above the model; 0.3 of them were used before.
    caps = controller.adaptation.metric.largest_mass
    assert np.all(masses - robot.inertial_parameters[:, 0]
                  < 0.1 * (caps - robot.inertial_parameters[:, 0]))
