# SPDX-License-Identifier: Apache-2.0
"""PD control with on-line gravity compensation on the planar robot with elastic joints."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.laws.elastic_gains import ElasticLoop, ElasticPDGains
from robot_dynamics.control.laws.elastic_pd import ElasticPDController, motor_motion
from robot_dynamics.elastic.dynamics import ElasticDynamics
from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ControlError, ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.simulation.elastic_plant import ElasticPlant

STEP = 2.5e-4


@pytest.fixture(scope='module')
def robot():
    """The planar robot of Zollo et al., with its bodies (their eq. 45)."""
    links = Robot.from_dh({
        'name': 'planar', 'convention': 'standard', 'gravity': [0.0, -9.81, 0.0],
        'links': [{'name': f'link{k}', 'joint': f'joint{k}', 'theta': 0, 'd': 0, 'a': 0.5,
                   'alpha': 0} for k in (1, 2)]}).with_parameters(
        [[21.0, -5.0, 0, 0, 0, 0, 0, 1.25, 0, 13.8167],
         [10.0, -2.5, 0, 0, 0, 0, 0, 0.625, 0, 0.8583]])
    return ElasticRobot(links, ElasticJoints(
        0.1, [21.18, 12.10], [3000.0, 1800.0], coulomb=[0.3302, 0.3576],
        viscous=[0.1434, 0.1391], names=links.joint_names))


def play(robot, law, desired, seconds, *, period, delay, start):
    """Run a loop and return the errors of the links at each step of the simulation."""
    plant = ElasticPlant(robot, timestep=STEP)
    plant.reset(start)
    plant.set_effort(law.holding_effort(plant.motor_q, plant.motor_v, start))
    each, late = round(period / STEP), round(delay / STEP)
    waiting, errors = [], []
    for k in range(round(seconds / STEP)):
        if k % each == 0:
            tau = law.update(plant.motor_q, plant.motor_v, *desired(k * STEP), period,
                             adapt=False)
            waiting.append((k + late, tau.copy()))
        while waiting and waiting[0][0] <= k:
            plant.set_effort(waiting.pop(0)[1])
        plant.advance(steps=1)
        errors.append(plant.q - desired((k + 1) * STEP)[0])
    return np.abs(np.array(errors)).max(axis=1)


@pytest.mark.parametrize(('delay', 'wanted'), [(0.0, 2.0), (0.002, 4.5)])
def test_settles_at_the_set_point(robot, delay, wanted):
    law = ElasticPDController(robot, period=0.002, delay=delay)
    goal, still = np.array([0.3, -0.8]), np.zeros(2)
    errors = play(robot, law, lambda t: (goal, still, still), 6.0, period=0.002, delay=delay,
                  start=[-1.2, 0.3])
    outside = np.flatnonzero(errors > 2e-3)
    assert (outside[-1] + 1) * STEP <= wanted
    assert errors[-1] < 1e-6


def test_gain_conditions_are_those_of_the_study(robot):
    loop = ElasticLoop(ElasticDynamics(robot), period=0.001, delay=0.0)
    report = loop.report(ElasticPDGains(np.full(2, 300.0), np.array([80.0, 3.0])))
    assert report.gravity_slope == pytest.approx(133.0, rel=0.005)
    assert report.least_stiffness == pytest.approx(277.0, rel=0.005)
    assert report.is_stiff_enough
    np.testing.assert_allclose(report.damping_bound, [2 * 0.2118 / 0.001, 2 * 0.0217 / 0.001],
                               rtol=0.005)
    assert not loop.report(ElasticPDGains(np.full(2, 200.0), np.array([80.0, 3.0]))
                           ).is_stiff_enough


@pytest.mark.parametrize(('period', 'delay', 'stiffness', 'damping', 'is_stable'), [
    # Equal damping of 60 on both joints is unstable at 1 and 2 ms.
    (0.001, 0.0, 300.0, (60.0, 60.0), False), (0.002, 0.0, 300.0, (60.0, 60.0), False),
    (0.001, 0.0, 300.0, (80.0, 40.0), True), (0.002, 0.0, 300.0, (80.0, 20.0), True),
    (0.002, 0.002, 300.0, (80.0, 3.0), True), (0.002, 0.002, 1000.0, (80.0, 3.0), False),
    (0.002, 0.002, 300.0, (80.0, 9.0), False)])
def test_the_spectrum_tells_which_gains_are_stable(robot, period, delay, stiffness, damping,
                                                   is_stable):
    loop = ElasticLoop(ElasticDynamics(robot), period=period, delay=delay)
    gains = ElasticPDGains(np.full(2, stiffness), np.array(damping))
    assert (loop.radius(gains) < 1.0) == is_stable
    if is_stable:
        assert loop.require(gains).radius < 1.0
    else:
        with pytest.raises(ControlError):
            loop.require(gains)


def test_damping_outside_its_bound_is_refused_by_name(robot):
    loop = ElasticLoop(ElasticDynamics(robot), period=0.002, delay=0.0)
    for damping in ([80.0, 22.0], [80.0, -1.0], [80.0, np.nan]):
        with pytest.raises(ControlError, match='joint2'):
            ElasticPDController(robot, gains=ElasticPDGains(np.full(2, 300.0),
                                                            np.array(damping)), delay=0.0)
    with pytest.raises(ParameterError, match='period'):
        ElasticLoop(ElasticDynamics(robot), period=0.0, delay=0.0)
    text = str(loop.report(loop.design(300.0)))
    assert 'sufficient' in text and 'damping below' in text


def test_a_loop_too_slow_for_any_damping_is_refused(robot):
    with pytest.raises(ControlError, match=r'unstable: spectral radius 1\.09'):
        ElasticPDController(robot, period=0.02, delay=0.0)


def test_an_arm_that_gravity_does_not_bend_is_held_all_the_same(robot):
    weightless = replace(robot, links=robot.links.with_gravity([0.0, 0.0, 0.0]))
    law = ElasticPDController(weightless, period=0.002, delay=0.0)
    assert law.report.radius < 1.0 and law.report.is_stiff_enough
    assert law.gains.stiffness.min() > 0.0


def test_springs_that_gravity_bends_too_far_are_told_of(robot):
    soft = replace(robot, joints=replace(robot.joints, stiffness=[120.0, 50.0]))
    loop = ElasticLoop(ElasticDynamics(soft), period=0.002, delay=0.0)
    assert loop.least_stiffness() == np.inf
    with pytest.raises(ControlError, match='springs'):
        loop.design()


@pytest.mark.slow
def test_the_motion_of_motors_moves_links_as_desired(robot):
    simple = ElasticDynamics(replace(robot, is_coupled=False))
    rng = np.random.default_rng(2)
    motion = rng.uniform(-1.0, 1.0, (5, 20, 2))
    made = motor_motion(simple, *motion)
    np.testing.assert_allclose(made.link_residual, 0.0, atol=1e-10)
    assert made.effort.shape == (20, 2)
    coupled = motor_motion(ElasticDynamics(robot), *motion)
    assert np.abs(coupled.link_residual).max() > 0.1


def test_feedforward_of_the_motors_tracks_a_motion(robot):
    """In Spong's model, in open loop but for a little feedback."""
    simple = replace(robot, is_coupled=False,
                     joints=replace(robot.joints, coulomb=0.0, spring_damping=0.0))
    dynamics = ElasticDynamics(simple)
    amplitude, rate = np.array([0.4, 0.6]), np.array([2.0, 3.0])

    def desired(t):
        angle = rate * np.asarray(t)[..., None]
        waves = (1.0 - np.cos(angle), np.sin(angle), np.cos(angle), -np.sin(angle),
                 -np.cos(angle))
        return [amplitude * rate**k * wave for k, wave in enumerate(waves)]

    plant = ElasticPlant(simple, timestep=1e-4)
    first = motor_motion(dynamics, *desired(0.0))
    plant.reset(desired(0.0)[0], desired(0.0)[1], motor_q=first.theta, motor_v=first.theta_dot)
    times = 1e-4 * np.arange(10_000)
    made = motor_motion(dynamics, *desired(times + 0.5e-4))
    reached = []
    for effort, theta, theta_dot in zip(made.effort, made.theta, made.theta_dot, strict=True):
        plant.set_effort(effort + 300.0 * (theta - plant.motor_q)
                         + 20.0 * (theta_dot - plant.motor_v))
        plant.advance(steps=1)
        reached.append(plant.q)
    assert np.abs(np.array(reached) - desired(times + 1e-4)[0]).max() < 1e-4
