# SPDX-License-Identifier: Apache-2.0
"""MuJoCo, with rotors as bodies and springs as tendons, agrees with our own integrator."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import SimulationError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.elastic_judge import ElasticJudge
from robot_dynamics.simulation.elastic_plant import ElasticPlant

pytest.importorskip('mujoco', reason='the judge is MuJoCo')

STEP = 1e-4


def without_coulomb(robot):
    return replace(robot, joints=replace(robot.joints, coulomb=0.0))


def planar():
    """The planar elbow with springs, dampers and viscous motors, one of them askew."""
    links = Robot.from_urdf(resolve_robot('planar_2r'))
    return ElasticRobot(links, ElasticJoints(
        [50.0, 80.0], [4e-4, 1e-4], [2000.0, 900.0], viscous=[1.0, 0.5],
        spring_damping=[0.8, 0.3], rotor_axes=[[0.2, 0.1, 1.0], [0.3, -1.0, 0.4]],
        names=links.joint_names))


def seven():
    """The 7-joint arm with its springs, without Coulomb friction."""
    links = Robot.from_urdf(resolve_robot('arm7'))
    return without_coulomb(ElasticRobot.from_yaml('arm7', links))


def slider():
    """A sliding joint between two that turn, its rotor standing across."""
    links = Robot.from_urdf(resolve_robot('rpr'))
    return ElasticRobot(links, ElasticJoints(
        [60.0, 200.0, 40.0], [3e-4, 1e-4, 2e-4], [3000.0, 2e4, 800.0], viscous=0.4,
        rotor_axes=[[0.0, 0.0, 1.0], [1.0, 0.5, 0.0], [0.2, 0.0, 1.0]],
        names=links.joint_names))


@pytest.mark.parametrize('is_coupled', [True, False], ids=['coupled', 'spong'])
@pytest.mark.parametrize('make', [planar, seven, slider])
def test_both_integrators_agree(make, is_coupled):
    robot = replace(make(), is_coupled=is_coupled)
    n = robot.n
    rng = np.random.default_rng(1)
    mine, judge = ElasticPlant(robot, timestep=STEP), ElasticJudge(robot, timestep=STEP)
    limits = robot.links.limits
    start = np.clip(0.0, limits.lower, limits.upper) + 0.1
    v = 0.3 * rng.normal(size=n)
    for plant in (mine, judge):
        plant.reset(start, v, motor_q=mine.motor_q if plant is judge else None,
                    motor_v=-0.5 * v)
    carried = mine.elastic.joints.stiffness * (mine.motor_q - mine.q)
    first, farthest = mine.q, 0.0
    for _ in range(10):
        effort = carried + rng.uniform(-0.4, 0.4, n) * np.minimum(limits.effort, 50.0)
        for plant in (mine, judge):
            plant.set_effort(effort)
            plant.advance(0.1)
        for name in ('q', 'motor_q', 'v', 'motor_v'):
            np.testing.assert_allclose(getattr(mine, name), getattr(judge, name), atol=1e-4,
                                       err_msg=name)
        farthest = max(farthest, np.abs(mine.q - first).max())
    assert farthest > 0.2


def test_the_coupling_of_rotors_and_links_is_seen():
    """The judge would notice a model without it, and one with the other sign."""
    robot = planar()
    results = []
    for case in (robot, replace(robot, is_coupled=False),
                 replace(robot, joints=replace(robot.joints,
                                               rotor_axes=-robot.rotor_axes))):
        judge = ElasticJudge(case, timestep=STEP)
        judge.reset([0.3, 0.4], [0.5, -0.5])
        judge.advance(0.5)
        results.append(judge.q)
    assert np.abs(results[1] - results[0]).max() > 1e-3
    assert np.abs(results[2] - results[0]).max() > 1e-3


def test_both_know_the_same_energy():
    robot = replace(planar(), joints=replace(planar().joints, viscous=0.0, spring_damping=0.0))
    mine, judge = ElasticPlant(robot, timestep=STEP), ElasticJudge(robot, timestep=STEP)
    states = [([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]),
              ([0.4, -0.9], [1.0, 0.3], [0.41, -0.88], [-0.4, 0.8])]
    energies = np.empty((2, 2))
    for k, (q, v, motor_q, motor_v) in enumerate(states):
        for j, plant in enumerate((mine, judge)):
            plant.reset(q, v, motor_q=motor_q, motor_v=motor_v)
            energies[k, j] = plant.energy
    np.testing.assert_allclose(*(energies[1] - energies[0])[:, None], rtol=1e-12)
    judge.advance(1.0)
    assert judge.energy == pytest.approx(energies[1, 1], rel=1e-8)


def test_what_is_no_constant_of_both_is_refused():
    rough = replace(planar(), joints=replace(planar().joints, coulomb=[0.0, 0.1]))
    with pytest.raises(SimulationError, match='joint2'):
        ElasticJudge(rough)
    with pytest.raises(SimulationError, match='joint1'):
        ElasticJudge(planar()).set_effort([np.nan, 0.0])
