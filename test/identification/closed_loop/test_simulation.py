# SPDX-License-Identifier: Apache-2.0
"""An arm simulated in its control loop."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.closed_loop.simulation import simulated_motions
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.dataset.settings import DatasetSettings
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.identification.validation import described_model
from robot_dynamics.model.robot import Robot

LOOP = DatasetSettings(proportional=[400.0, 600.0, 100.0], derivative=[40.0, 60.0, 10.0])
SIGNALS = SignalSettings(5.0)


@pytest.fixture(scope='module')
def recorded(three):
    """Times, reference, and motion and efforts of a damped arm under its controller."""
    robot = replace(three.robot, damping=np.array([2.0, 2.0, 0.5]),
                    armature=np.array([0.2, 0.1, 0.0]))
    t, desired, slope, _ = three.motion(seconds=4.0)
    P, D = LOOP.gains(3)
    dynamics, n = Dynamics(robot), robot.n

    def reference(at):
        return (np.array([np.interp(at, t, one) for one in array.T]) for array in (desired, slope))

    def slopes(at, x):
        q, v = x[:n], x[n:]
        q_d, v_d = reference(at)
        tau = P * (q_d - q) + D * (v_d - v)
        return np.append(v, dynamics.forward_dynamics(q, v, tau - robot.damping * v))

    x = solve_ivp(slopes, (0.0, t[-1]), np.append(desired[0], slope[0]), t_eval=t, rtol=1e-8,
                  atol=1e-9, max_step=0.005).y.T
    q, v = x[:, :n], x[:, n:]
    return robot, t, desired, q, v, P * (desired - q) + D * (slope - v)


def test_the_simulated_motion_is_that_of_the_arm(recorded):
    robot, t, desired, q, v, tau = recorded
    noise = 1e-3 * np.random.default_rng(0).normal(size=q.shape)
    # Neither positions nor efforts of the log matter, apart from friction and the first state.
    noise[:10] = 0.0
    dataset = dataset_from_arrays(robot, t, q + noise, 1.5 * tau, settings=LOOP,
                                  reference=desired)
    (motion,) = simulated_motions(dataset, SIGNALS, described_model(robot))
    inside = slice(motion.trim, motion.count - motion.trim)
    for ours, true, size in ((motion.q, q, 2e-3), (motion.v, v, 2e-2)):
        true = np.stack([np.interp(motion.time, t, one) for one in true.T], axis=1)
        assert np.max(np.abs(ours - true)[inside]) < size
    assert np.max(np.abs(desired - q)) > 0.02


@pytest.mark.parametrize('settings', [DatasetSettings(), LOOP])
def test_without_a_reference_the_measured_efforts_move_the_arm(recorded, settings):
    robot, t, _, q, v, tau = recorded
    dataset = dataset_from_arrays(robot, t, q, tau, settings=settings)
    (motion,) = simulated_motions(dataset, SIGNALS, described_model(robot))
    inside = slice(motion.trim, motion.count - motion.trim)
    true = np.stack([np.interp(motion.time, t, one) for one in v.T], axis=1)
    assert np.max(np.abs(motion.v - true)[inside]) < 0.02


def test_mimic_joints_are_refused():
    robot = Robot.from_urdf("""<robot name="gripper"><link name="base"/>
        <link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
        izz="1"/></inertial></link><link name="b"/>
        <joint name="left" type="revolute"><parent link="base"/><child link="a"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="5"/></joint>
        <joint name="right" type="revolute"><parent link="base"/><child link="b"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="5"/>
        <mimic joint="left"/></joint></robot>""")
    t = np.arange(0.0, 4.0, 0.01)
    dataset = dataset_from_arrays(robot, t, np.sin(t)[:, np.newaxis], np.cos(t)[:, np.newaxis])
    with pytest.raises(ParameterError, match='gripper must not have mimic joints'):
        simulated_motions(dataset, SIGNALS, described_model(robot))


def test_an_arm_without_a_mass_is_reported(recorded):
    robot, t, _, q, _, tau = recorded
    model = described_model(replace(robot, armature=np.zeros(3)))
    dataset = dataset_from_arrays(robot, t, q, tau)
    with pytest.raises(RecordingError, match='cannot be simulated in its control loop'):
        simulated_motions(dataset, SIGNALS, replace(model, inertial=-model.inertial))
