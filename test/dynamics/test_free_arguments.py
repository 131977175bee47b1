# SPDX-License-Identifier: Apache-2.0
"""What the equations of robots with joints of several coordinates take and refuse."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, ModelError, StateError
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots

TERMS = ('viscous', 'coulomb', 'armature', 'offset')


@pytest.fixture(scope='module')
def dynamics():
    """An arm on a floating base."""
    return Dynamics(Robot.from_urdf(shipped_robots()['arm7'], floating_base=True))


def state(dynamics, *shape, seed=0):
    """Positions, and four more joint vectors."""
    robot, rng = dynamics.robot, np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), rng.uniform(-1.0, 1.0, (*shape, robot.n)))
    return q, *rng.uniform(-1.0, 1.0, (4, *shape, robot.n))


def everything(dynamics, q, v, v_r, a_r, s, terms=TERMS):
    """All results as one list."""
    pi = dynamics.parameter_vector(terms)
    return [*dynamics.matrices(q, v), dynamics.inverse_dynamics(q, v, a_r),
            dynamics.slotine_li_regressor(q, v, v_r, a_r, terms),
            *dynamics.adaptive_terms(q, v, v_r, a_r, s, pi, terms),
            dynamics.forward_dynamics(q, v, s), dynamics.forward_kinematics(q)]


def test_names_and_sizes(dynamics):
    robot = dynamics.robot
    assert (dynamics.n, robot.nq, robot.n_bodies) == (13, 14, 8)
    assert robot.position_names[:8] == tuple(f'floating_base/{name}' for name in (
        'x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')) + ('joint1',)
    names = dynamics.column_names(('viscous',))
    assert len(names) == 80 + 13
    assert names[80:87] == tuple(f'floating_base/{name}/viscous' for name in (
        'vx', 'vy', 'vz', 'wx', 'wy', 'wz')) + ('joint1/viscous',)
    assert dynamics.slotine_li_regressor(*state(dynamics)[:4], TERMS).shape == (13, 80 + 52)
    assert dynamics.jacobian(state(dynamics)[0], 'link7').shape == (6, 13)


@pytest.mark.slow
def test_a_batch_is_its_samples(dynamics):
    arguments = state(dynamics, 3, 2)
    together = everything(dynamics, *arguments)
    for at in np.ndindex(3, 2):
        for batch, single in zip(together, everything(dynamics, *(x[at] for x in arguments)),
                                 strict=True):
            np.testing.assert_array_equal(batch[at], single)
    jacobians = dynamics.jacobian(arguments[0], 'link5')
    np.testing.assert_array_equal(jacobians[2, 1], dynamics.jacobian(arguments[0][2, 1], 'link5'))


def test_large_batches_too(dynamics):
    q, v, v_r, a_r, _ = state(dynamics, 300)
    Yr = dynamics.slotine_li_regressor(q, v, v_r, a_r)
    np.testing.assert_array_equal(Yr[7], dynamics.slotine_li_regressor(
        q[7], v[7], v_r[7], a_r[7]))
    np.testing.assert_array_equal(dynamics.inverse_dynamics(q, v, a_r)[7],
                                  dynamics.inverse_dynamics(q[7], v[7], a_r[7]))


def test_results_into_given_arrays(dynamics):
    q, v, v_r, a_r, _ = state(dynamics)
    expected = dynamics.slotine_li_regressor(q, v, v_r, a_r, TERMS)
    for out in (np.full(expected.shape, np.nan), np.zeros(expected.shape)):
        assert dynamics.slotine_li_regressor(q, v, v_r, a_r, TERMS, out=out) is out
        np.testing.assert_array_equal(out, expected)
    M, C, g = (np.full(shape, np.nan) for shape in ((13, 13), (13, 13), 13))
    dynamics.matrices(q, v, out=(M, C, g))
    for ours, theirs in zip((M, C, g), dynamics.matrices(q, v), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_buffer_of_another_kind_of_joints_gets_its_zeros(make):
    """The same parents and as many entries, but other entries that are zero."""
    placements, body = np.tile(np.eye(4), (3, 1, 1)), np.eye(10)[0]
    axes, offsets = np.tile([0.0, 0.0, 1.0], (3, 1)), np.zeros((3, 3))
    one, other = (Dynamics(make([-1, -1, -1], kinds, placements, axes, offsets, [body] * 3,
                                joint_names=('j0', 'j1', 'j2')))
                  for kinds in ([3, 4, 0], [4, 0, 3]))
    buffer = np.zeros((10, 30))
    rng = np.random.default_rng(0)
    for dynamics in (one, other, one):
        robot = dynamics.robot
        q = robot.integrate(robot.neutral(), rng.uniform(-1, 1, 10))
        v, a = rng.uniform(-1.0, 1.0, (2, 10))
        out = dynamics.regressor(q, v, a, out=buffer)
        np.testing.assert_array_equal(out, dynamics.regressor(q, v, a))


def test_other_numbers_than_float64(dynamics):
    q, v, _, a, _ = (x.tolist() for x in state(dynamics))
    np.testing.assert_array_equal(
        dynamics.inverse_dynamics(q, v, a),
        dynamics.inverse_dynamics(np.array(q), np.array(v), np.array(a)))


@pytest.mark.parametrize('length', [1.01, 0.5, 0.0, 1e3])
def test_a_quaternion_of_another_length_is_refused(dynamics, length):
    q, v, v_r, a, s = state(dynamics)
    q[3:7] *= length
    for call in (lambda: dynamics.inverse_dynamics(q, v, a), lambda: dynamics.matrices(q, v),
                 lambda: dynamics.regressor(q, v, a), lambda: dynamics.gravity_torque(q),
                 lambda: dynamics.adaptive_terms(q, v, v_r, a, s, dynamics.parameters),
                 lambda: dynamics.forward_kinematics(q),
                 lambda: dynamics.jacobian(np.tile(q, (4, 1)), 'link7')):
        with pytest.raises(StateError) as caught:
            call()
        assert caught.value.subject == 'floating_base'
        assert f'got one of length {length:.6g}' in caught.value.message
        assert 'divided by their length' in caught.value.remedy


def test_a_quaternion_of_almost_unit_length_counts_as_its_direction(dynamics):
    q, v, _, a, _ = state(dynamics)
    rounded = q.copy()
    rounded[3:7] *= 1.0 + 5e-5
    np.testing.assert_allclose(dynamics.inverse_dynamics(rounded, v, a),
                               dynamics.inverse_dynamics(q, v, a), rtol=1e-12, atol=1e-12)


def test_a_quaternion_and_its_negative_are_the_same_turn(dynamics):
    q, v, _, a, _ = state(dynamics)
    negative = q.copy()
    negative[3:7] *= -1.0
    np.testing.assert_array_equal(dynamics.inverse_dynamics(negative, v, a),
                                  dynamics.inverse_dynamics(q, v, a))


def test_nan_goes_through(dynamics):
    q, v, _, a, _ = state(dynamics)
    q[4] = np.nan
    assert np.isnan(dynamics.inverse_dynamics(q, v, a)).any()
    with pytest.raises(StateError, match='contains NaN or inf'):
        dynamics.forward_dynamics(q, v, a)


@pytest.mark.parametrize('q, v', [(13, 13), (14, 14), (14, 12), (20, 13)])
def test_wrong_lengths_name_the_coordinates(dynamics, q, v):
    with pytest.raises(DimensionError) as caught:
        dynamics.inverse_dynamics(np.resize(dynamics.robot.neutral(), q), np.zeros(v),
                                  np.zeros(13))
    subject, name = ('q', 'floating_base/qw') if q != 14 else ('v', 'floating_base/wz')
    assert caught.value.subject == subject
    assert name in caught.value.remedy


def test_where_it_floats_changes_nothing(dynamics):
    q, v, v_r, a, s = state(dynamics)
    far = q.copy()
    far[:3] += [1e9, -3e8, 5e7]
    for here, there in zip(everything(dynamics, q, v, v_r, a, s)[:-1],
                           everything(dynamics, far, v, v_r, a, s)[:-1], strict=True):
        np.testing.assert_array_equal(here, there)


def test_a_robot_that_stands_beside_one_that_floats(make, free_tree):
    """Two robots in one tree are each what they are alone."""
    one, other = free_tree(0, 4), free_tree(3, 3, gravity=free_tree(0, 4).gravity)
    both = Dynamics(make(
        np.concatenate([one.parents, np.where(other.parents < 0, -1, other.parents + 4)]),
        np.concatenate([one.joint_types, other.joint_types]),
        *(np.concatenate([getattr(one, name), getattr(other, name)]) for name in (
            'placements', 'axes', 'link_offsets', 'inertial_parameters')),
        gravity=one.gravity, joint_names=tuple(f'j{k}' for k in range(7))))
    states = [state(Dynamics(robot), seed=5) for robot in (one, other)]
    q, v, *_ = (np.concatenate(pair) for pair in zip(*states, strict=True))
    M, C, g = both.matrices(q, v)
    n = one.n
    assert not M[:n, n:].any() and not C[:n, n:].any() and not C[n:, :n].any()
    alone = [Dynamics(robot).matrices(x[0], x[1])
             for robot, x in zip((one, other), states, strict=True)]
    for at, expected in zip((np.s_[:n], np.s_[n:]), alone, strict=True):
        np.testing.assert_allclose(M[at, at], expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(C[at, at], expected[1], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(g[at], expected[2], rtol=1e-9, atol=1e-12)


def test_joints_in_the_callers_order_and_mimic_joints(cases):
    text = (cases / 'urdf_mimic' / 'mimic.urdf').read_text()
    plain = Robot.from_urdf(text, floating_base=True)
    turned = Robot.from_urdf(text, floating_base=True,
                             joints=(*plain.joint_names[:0:-1], 'floating_base'))
    assert turned.joint_names == plain.joint_names[::-1]
    assert not turned.is_directly_driven
    one, other = Dynamics(plain), Dynamics(turned)
    q, v, v_r, a_r, s = state(one)
    to = np.array([plain.velocity_names.index(name) for name in turned.velocity_names])
    of_q = np.array([plain.position_names.index(name) for name in turned.position_names])
    M, C, g = one.matrices(q, v)
    for ours, theirs in zip(other.matrices(q[of_q], v[to]),
                            (M[np.ix_(to, to)], C[np.ix_(to, to)], g[to]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        other.slotine_li_regressor(q[of_q], v[to], v_r[to], a_r[to]),
        one.slotine_li_regressor(q, v, v_r, a_r)[to], rtol=1e-12, atol=1e-12)
    tau, gradient = other.adaptive_terms(q[of_q], v[to], v_r[to], a_r[to], s[to], plain.parameters)
    expected = one.adaptive_terms(q, v, v_r, a_r, s, plain.parameters)
    np.testing.assert_allclose(tau, expected[0][to], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(other.jacobian(q[of_q], plain.body_names[-1]),
                               one.jacobian(q, plain.body_names[-1])[:, to], atol=1e-12)


def test_more_coordinates_than_fit_on_the_stack(free_tree):
    robot = free_tree(1, 40, kinds=(JointType.FLOATING, JointType.REVOLUTE))
    assert robot.n > 64
    dynamics = Dynamics(robot)
    q, v, v_r, a_r, s = state(dynamics)
    M, C, g = dynamics.matrices(q, v)
    tau, gradient = dynamics.adaptive_terms(q, v, v_r, a_r, s, robot.parameters)
    np.testing.assert_allclose(tau, M @ a_r + C @ v_r + g, rtol=1e-9,
                               atol=1e-9 * np.abs(tau).max())
    Yr = dynamics.slotine_li_regressor(q, v, v_r, a_r)
    np.testing.assert_allclose(gradient, Yr.T @ s, rtol=1e-9, atol=1e-9 * np.abs(gradient).max())


def test_copies(dynamics):
    arguments = state(dynamics)
    for other in (copy.deepcopy(dynamics), pickle.loads(pickle.dumps(dynamics))):
        for ours, theirs in zip(everything(other, *arguments),
                                everything(dynamics, *arguments), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_without_inertia_the_coordinate_is_named(dynamics):
    robot = replace(dynamics.robot, inertial_parameters=np.zeros((8, 10)))
    q, v, _, tau, _ = state(dynamics)
    with pytest.raises(ModelError, match='joint joint7 moves no inertia'):
        Dynamics(robot).forward_dynamics(q, v, tau)
