# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.adaptation.gradient import block_diagonal
from robot_dynamics.control.adaptation.metric import (
    adaptive_loop_frequency,
    body_metric,
    term_metric,
)
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.feedback.typical_motions import (
    LARGEST_SPEED,
    Motions,
    effective_inertias,
    typical_motions,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import InertiaError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.robot_data import JointLimits
from robot_dynamics.model.shipped import shipped_robots


@pytest.fixture(params=['arm7', 'rpr', 'planar_2r', 'puma560'])
def robot(request):
    return Robot.from_urdf(shipped_robots()[request.param])


def test_typical_motions_lie_within_the_limits_and_are_always_the_same(robot):
    motions, again = typical_motions(robot), typical_motions(robot)
    limits = robot.limits
    assert np.all(motions.q >= np.where(np.isfinite(limits.lower), limits.lower, -np.pi))
    assert np.all(motions.q <= np.where(np.isfinite(limits.upper), limits.upper, np.pi))
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, 1.0)
    assert np.all(np.abs(motions.v) <= speed)
    for one, other in zip((motions.q, motions.v, motions.a), (again.q, again.v, again.a),
                          strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_placeholder_of_a_velocity_limit_leaves_the_gain(arm3):
    """Baxter's head has 10,000 rad/s: its regressor would leave no gain for the arms."""
    limits = replace(arm3.limits, velocity=np.array([2.0, 2.0, LARGEST_SPEED]))
    fast = replace(arm3, limits=limits)
    described = replace(arm3, limits=replace(limits, velocity=np.array([2.0, 2.0, 1e4])))
    assert np.abs(typical_motions(described).v[:, 2]).max() <= 0.5 * LARGEST_SPEED
    gains = [body_metric(robot, Dynamics(robot), AdaptationGains()).gain
             for robot in (fast, described)]
    assert gains[0] == pytest.approx(gains[1])


def test_the_gain_gives_the_frequency_that_is_asked_for(robot):
    dynamics = Dynamics(robot)
    for frequency in (20.0, 60.0):
        metric = body_metric(robot, dynamics, AdaptationGains(frequency=frequency))
        assert adaptive_loop_frequency(dynamics, block_diagonal(metric.gain_blocks()),
                                       typical_motions(robot)) == pytest.approx(frequency)


def test_the_loop_of_one_joint_answers_with_the_frequency_that_is_computed(arm3):
    # With s' = -M^-1 Y Gamma Y^T integral(s), frozen at a state: x'' = -w^2 x.
    single = Robot.from_urdf(shipped_robots()['planar_2r'], locked={
        Robot.from_urdf(shipped_robots()['planar_2r']).joint_names[1]: 0.3})
    dynamics = Dynamics(single)
    metric = body_metric(single, dynamics, AdaptationGains())
    q, v, a = np.array([0.4]), np.array([0.7]), np.array([1.1])
    Y = dynamics.regressor(q, v, a)[0]
    expected = np.sqrt(Y @ metric.gain_blocks()[0] @ Y / dynamics.mass_matrix(q)[0, 0])
    motion = Motions(q[None], v[None], a[None])
    assert adaptive_loop_frequency(dynamics, metric.gain_blocks()[0], motion) \
        == pytest.approx(expected)


def test_metric_matrices_are_definite_and_allow_what_they_should(robot):
    gains = AdaptationGains(largest_payload=0.4)
    metric = body_metric(robot, Dynamics(robot), gains)
    assert np.all(np.linalg.eigvalsh(metric.matrices)[:, 0] > 0.0)
    masses = robot.inertial_parameters[:, 0]
    np.testing.assert_allclose(metric.largest_mass, masses + 0.4 * masses.sum())
    blocks = metric.gain_blocks()
    size = np.sqrt(np.diagonal(blocks, axis1=1, axis2=2))
    unit = blocks / (size[:, :, None] * size[:, None, :])
    np.testing.assert_allclose(unit, np.swapaxes(unit, 1, 2), atol=1e-12)
    assert np.all(np.linalg.eigvalsh(unit)[:, 0] > 0.0)


def test_scale_of_a_robot_does_not_matter(arm3):
    # A robot twice as long and of eight times the mass is learnt in the same way: with time
    # as it is and gravity doubled, all efforts are those of the small one times 32.
    big = replace(arm3, placements=scaled_placements(arm3, 2.0), gravity=2.0 * arm3.gravity,
                  inertial_parameters=arm3.inertial_parameters
                  * np.repeat([8.0, 16.0, 32.0], [1, 3, 6]))
    small_metric = body_metric(arm3, Dynamics(arm3), AdaptationGains())
    big_metric = body_metric(big, Dynamics(big), AdaptationGains())
    units = np.repeat([8.0, 16.0, 32.0], [1, 3, 6])
    # Gamma maps effort times rate, 32 times as large over the unit, to the unit's rate.
    expected = small_metric.gain_blocks() * np.outer(units, units) / 32.0
    np.testing.assert_allclose(big_metric.gain_blocks(), expected, rtol=1e-9,
                               atol=1e-12 * np.abs(expected).max())


def scaled_placements(robot, factor):
    placements = robot.placements.copy()
    placements[:, :3, 3] *= factor
    return placements


def test_effective_inertia_is_what_a_joint_moves_while_others_are_free(arm3):
    motions = typical_motions(arm3)
    inertias = effective_inertias(Dynamics(arm3), motions)
    least = [min(1.0 / np.linalg.inv(M)[i, i] for M in Dynamics(arm3).mass_matrix(motions.q))
             for i in range(3)]
    np.testing.assert_allclose(inertias, least)


def test_rotors_are_part_of_the_effective_inertia(arm3):
    heavy = replace(arm3, armature=np.full(3, 100.0))
    assert np.all(effective_inertias(Dynamics(heavy), typical_motions(heavy)) > 99.0)


def test_terms_have_the_frequency_range_and_start_they_should(arm3):
    described = replace(arm3, damping=[0.1, 0.2, 0.3], friction=[1.0, 2.0, 3.0],
                        armature=[0.01, 0.02, 0.03])
    dynamics = Dynamics(described)
    gains = AdaptationGains(terms=('armature', 'viscous', 'offset'), term_frequency=5.0)
    metric = term_metric(described, dynamics, gains)
    motions = typical_motions(described)
    np.testing.assert_array_equal(metric.prior, [[0.01, 0.02, 0.03], [0.1, 0.2, 0.3], [0, 0, 0]])
    inertias = effective_inertias(dynamics, motions)
    # w^2 = y^2 Gamma / m at the largest entry of the column.
    np.testing.assert_allclose(metric.gain[1] * np.abs(motions.v).max(axis=0)**2 / inertias, 25.0)
    np.testing.assert_allclose(metric.gain[0] * np.abs(motions.a).max(axis=0)**2 / inertias, 25.0)
    np.testing.assert_allclose(metric.gain[2] / inertias, 25.0)
    np.testing.assert_array_equal(metric.least[:2], 0.0)
    np.testing.assert_allclose(metric.least[2], -described.limits.effort)
    np.testing.assert_allclose(metric.largest[2], described.limits.effort)


def test_a_joint_without_effort_limit_has_terms_without_bound(arm3):
    nan = np.full(3, np.nan)
    free = replace(arm3, limits=JointLimits(-np.pi * np.ones(3), np.pi * np.ones(3), nan, nan))
    metric = term_metric(free, Dynamics(free), AdaptationGains())
    assert np.all(np.isinf(metric.largest))
    assert np.all(np.isfinite(metric.gain))


def test_no_terms_is_possible(arm3):
    metric = term_metric(arm3, Dynamics(arm3), AdaptationGains(terms=()))
    assert metric.prior.shape == metric.gain.shape == (0, 3)


def test_a_joint_that_moves_no_mass_is_named(arm3):
    parameters = np.array(arm3.inertial_parameters)
    parameters[-1] = 0.0
    with pytest.raises(InertiaError) as error:
        body_metric(arm3.with_parameters(parameters), Dynamics(arm3.with_parameters(parameters)),
                    AdaptationGains())
    assert error.value.subject == arm3.joint_names[-1]
    with pytest.raises(InertiaError, match='moves no mass'):
        body_metric(arm3.with_parameters(0.0 * parameters),
                    Dynamics(arm3.with_parameters(0.0 * parameters)), AdaptationGains())


def test_a_rotor_is_mass_enough(arm3):
    parameters = np.array(arm3.inertial_parameters)
    parameters[-1] = 0.0
    rotors = replace(arm3.with_parameters(parameters), armature=np.full(3, 0.01))
    assert np.isfinite(body_metric(rotors, Dynamics(rotors), AdaptationGains()).gain)
