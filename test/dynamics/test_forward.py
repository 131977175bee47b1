# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics of robots that cannot be moved, and of many samples."""

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError, StateError


def chain(make, bodies):
    """An arm whose joints stand at right angles, with these bodies."""
    n = len(bodies)
    placements = np.tile(np.eye(4), (n, 1, 1))
    placements[1:, 0, 3] = 0.4
    axes = np.eye(3)[np.arange(n) % 3]
    return Dynamics(make(np.arange(n) - 1, np.zeros(n, int), placements, axes,
                         np.zeros((n, 3)), bodies))


BODY = np.array([2.0, 0.4, 0.02, -0.1, 0.05, 0.0, 0.01, 0.2, 0.0, 0.2])


@pytest.mark.parametrize('count', [1, 2, 7, 64, 65])
def test_plain_arrays_lists_and_batches_give_the_same(tree, count):
    """Kernels that take one sample of plain arrays are loaded by its first call."""
    dynamics = Dynamics(tree(2, count))
    q, v, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (3, count))
    one = [dynamics.forward_dynamics(q, v, tau) for _ in range(2)]
    derivatives = [dynamics.forward_dynamics_derivatives(q, v, tau) for _ in range(2)]
    for shape in ((1,), (2, 1)):
        batch = [np.broadcast_to(x, (*shape, count)) for x in (q, v, tau)]
        for a in (*one, dynamics.forward_dynamics(q.tolist(), v, tau)):
            np.testing.assert_array_equal(dynamics.forward_dynamics(*batch)[0].ravel(), a)
        for k, expected in enumerate(dynamics.forward_dynamics_derivatives(*batch)):
            for found in derivatives:
                np.testing.assert_allclose(expected.reshape(-1, count, count)[0], found[k],
                                           rtol=1e-9, atol=1e-9 * np.abs(found[k]).max())


def test_a_massless_tip_is_refused_by_the_name_of_its_joint(make):
    dynamics = chain(make, [BODY, BODY, np.zeros(10)])
    for q in (np.ones(3), np.ones(3), [1.0, 1.0, 1.0]):
        for method in (dynamics.forward_dynamics, dynamics.forward_dynamics_derivatives):
            with pytest.raises(ModelError, match=r'joint c2.*mass matrix.*lock the joint'):
                method(q, np.zeros(3), np.zeros(3))


def test_a_massless_link_inside_the_arm_is_no_obstacle(make):
    dynamics = chain(make, [BODY, np.zeros(10), BODY])
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 3))
    tau = dynamics.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(dynamics.forward_dynamics(q, v, tau), a, atol=1e-10)


def test_a_body_that_no_real_body_is_is_refused(make):
    dynamics = chain(make, [BODY, BODY, -BODY])
    with pytest.raises(ModelError, match='joint c2'):
        dynamics.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3))


def test_two_joints_about_one_axis_are_refused(make):
    placements = np.tile(np.eye(4), (2, 1, 1))
    robot = make([-1, 0], [0, 0], placements, [[0, 0, 1], [0, 0, 1]], np.zeros((2, 3)),
                 [np.zeros(10), BODY])
    with pytest.raises(ModelError, match='joint c0'):
        Dynamics(robot).forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))


def test_one_bad_sample_among_many_is_found(make):
    """A body on a line through the joint has no inertia about it in one position."""
    placements = np.tile(np.eye(4), (2, 1, 1))
    point_mass = np.zeros(10)
    point_mass[0] = 1.0
    robot = make([-1, 0], [0, 2], placements, [[0, 0, 1], [1, 0, 0]], np.zeros((2, 3)),
                 [np.zeros(10), point_mass])
    dynamics = Dynamics(robot)
    still = np.zeros(2)
    good = dynamics.forward_dynamics([[0.3, 0.5], [0.1, -0.2]], still, still)
    assert np.all(np.isfinite(good))
    with pytest.raises(ModelError, match='joint c0'):
        dynamics.forward_dynamics([[0.3, 0.5], [0.1, 0.0]], still, still)


def test_a_position_that_is_none_is_refused(tree):
    dynamics = Dynamics(tree(1, 4))
    for value in (np.nan, np.inf):
        for q in ([0.0, value, 0.0, 0.0], np.array([0.0, value, 0.0, 0.0])):
            with pytest.raises(StateError, match='q contains NaN or inf'):
                dynamics.forward_dynamics(q, np.zeros(4), np.zeros(4))
