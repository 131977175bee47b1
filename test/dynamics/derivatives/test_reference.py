# SPDX-License-Identifier: Apache-2.0
"""Derivatives against values from energies alone, with 120 digits, and from the recursion."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.robot_data import JointLimits

ROBOTS = ('ref_planar_elbow', 'ref_puma560', 'ref_tree')
FACTORISATIONS = ('christoffel', 'garofalo')
TOLERANCE = 1e-9
#: Place of each of a file's ten parameters among ours: the file groups the inertia by type.
ORDER = [0, 1, 2, 3, 4, 7, 9, 5, 6, 8]


def close(value, expected):
    """Relative to the largest entry of the expected array."""
    expected = np.asarray(expected)
    assert value.shape == expected.shape
    error = np.max(np.abs(value - expected))
    assert error <= TOLERANCE * max(np.max(np.abs(expected)), 1e-3)


@pytest.fixture(params=ROBOTS)
def checked(request, reference):
    """Equations and the states of one reference robot."""
    robot, states = reference(request.param)
    with_derivatives = [state for state in states if 'dM_dq' in state]
    assert with_derivatives
    return Dynamics(robot), with_derivatives


def arguments(state):
    """Positions, velocities and accelerations."""
    return (np.array(state[name]) for name in ('q', 'qd', 'qdd'))


@pytest.mark.parametrize('factorisation', FACTORISATIONS)
def test_state_derivatives(checked, factorisation):
    dynamics, states = checked
    for state in states:
        q, v, _ = arguments(state)
        result = dynamics.state_derivatives(q, v, factorisation)
        close(result.dM_dq, state['dM_dq'])
        close(result.dC_dq, state[f'dC_dq_{factorisation}'])
        close(result.dC_dv, state[f'dC_dqd_{factorisation}'])
        close(result.dg_dq, state['dg_dq'])


@pytest.mark.parametrize('factorisation', FACTORISATIONS)
def test_time_derivatives(checked, factorisation):
    dynamics, states = checked
    for state in states:
        result = dynamics.time_derivatives(*arguments(state), factorisation)
        close(result.M_dot, state['Mdot'])
        close(result.C_dot, state[f'Cdot_{factorisation}'])
        close(result.g_dot, state['gdot'])


def test_inverse_dynamics_derivatives(checked):
    dynamics, states = checked
    for state in states:
        dtau_dq, dtau_dv, M = dynamics.inverse_dynamics_derivatives(*arguments(state))
        close(dtau_dq, state['dtau_dq'])
        close(dtau_dv, state['dtau_dqd'])
        close(M, state['M'])


def test_factorisations(checked):
    dynamics, states = checked
    for state in states:
        q, v, _ = arguments(state)
        for factorisation in FACTORISATIONS:
            close(dynamics.coriolis_matrix(q, v, factorisation), state[f'C_{factorisation}'])


def test_centre_of_mass(checked):
    dynamics, states = checked
    for state in states:
        close(dynamics.com_position(state['q']), state['p_com'])
        close(dynamics.com_jacobian(state['q']), state['J_com'])


@pytest.mark.parametrize('factorisation', FACTORISATIONS)
def test_parameter_derivatives(reference, factorisation):
    robot, states = reference('ref_tree')
    q, v, _ = arguments(states[0])
    columns = (10 * np.arange(robot.n_bodies)[:, None] + ORDER).ravel()
    result = Dynamics(robot).parameter_derivatives(q, v, factorisation)
    close(result.dM_dpi[columns], states[0]['dM_dpi'])
    close(result.dC_dpi[columns], states[0][f'dC_dpi_{factorisation}'])
    close(result.dg_dpi[columns], states[0]['dg_dpi'])


def by_parameters(dynamics, q, v, v_r, a_r, factorisation):
    """Slotine-Li regressor in the columns of the file, from derivatives of M, C and g."""
    columns = (10 * np.arange(dynamics.robot.n_bodies)[:, None] + ORDER).ravel()
    dM, dC, dg = dynamics.parameter_derivatives(q, v, factorisation)
    return (dM @ a_r + dC @ v_r + dg)[columns].T


@pytest.mark.parametrize('name', ROBOTS)
def test_parameter_derivatives_make_both_slotine_li_regressors(reference, name):
    robot, states = reference(name)
    dynamics = Dynamics(robot)
    for state in states:
        q, v, v_r, a_r = (np.array(state[key]) for key in ('q', 'qd', 'qdr', 'qddr'))
        close(by_parameters(dynamics, q, v, v_r, a_r, 'christoffel'), state['Yr_ORD003'])
        close(by_parameters(dynamics, q, v, v_r, a_r, 'garofalo'), state['Yr_ORD003_garofalo'])
        C = dynamics.coriolis_matrix(q, v, 'garofalo')
        close(dynamics.mass_matrix(q) @ a_r + C @ v_r + dynamics.gravity_torque(q),
              state['tau_r_garofalo'])


@pytest.fixture
def floating(shared, reference):
    """Equations and states of the reference tree on a floating base."""
    tree, _ = reference('ref_tree')
    content = json.loads((shared / 'reference' / 'ref_tree.json').read_text())['floating_base']
    base = content['base']
    mass, com = base['mass'], np.array(base['com'])
    about_origin = np.array(base['inertia_about_com']) + mass * (com @ com * np.eye(3)
                                                                 - np.outer(com, com))
    pi = np.concatenate([[mass], mass * com, about_origin[np.triu_indices(3)]])
    n = tree.n + 6
    names = ('float', *tree.joint_names)
    robot = Robot(
        name='floating', base_name='world', body_names=('trunk', *tree.body_names),
        body_joint_names=names, parents=np.concatenate([[-1], tree.parents + 1]),
        joint_types=np.concatenate([[JointType.FLOATING], tree.joint_types]),
        placements=np.concatenate([np.eye(4)[None], tree.placements]),
        axes=np.concatenate([[[0.0, 0.0, 1.0]], tree.axes]),
        link_offsets=np.concatenate([np.zeros((1, 3)), tree.link_offsets]),
        inertial_parameters=np.concatenate([pi[None], tree.inertial_parameters]),
        gravity=tree.gravity, joint_names=names, coupling=np.eye(n), coupling_offset=np.zeros(n),
        limits=JointLimits(np.full(n, -np.inf), np.full(n, np.inf), np.full(n, np.nan),
                           np.full(n, np.nan)),
        damping=np.zeros(n), friction=np.zeros(n), armature=np.zeros(n))
    assert content['states']
    return Dynamics(robot), content['states']


def floating_arguments(state):
    """Positions with the quaternion of the base, velocities and accelerations."""
    turn = Rotation.from_matrix(state['base_R']).as_quat()
    return np.concatenate([state['base_p'], turn, state['q']]), state['w'], state['wdot']


def test_floating_base(floating):
    dynamics, states = floating
    joints = slice(6, None)
    for state in states:
        q, v, a = floating_arguments(state)
        M, C, g = dynamics.matrices(q, v)
        close(M, state['M'])
        close(C, state['C_psi_christoffel'])
        close(g, state['g'])
        close(dynamics.coriolis_matrix(q, v, 'garofalo'), state['C_garofalo'])
        in_time = dynamics.time_derivatives(q, v, a, 'garofalo')
        close(in_time.M_dot, state['Mdot'])
        close(in_time.C_dot, state['Cdot_garofalo'])
        by_state = dynamics.state_derivatives(q, v, 'garofalo')
        close(by_state.dM_dq[joints], state['dM_dq'])
        close(by_state.dC_dq[joints], state['dC_dq_garofalo'])
        close(by_state.dC_dv, state['dC_dw_garofalo'])
        close(by_state.dg_dq, state['dg_dxi'])
        close(dynamics.com_jacobian(q), state['J_com'])
        close(by_parameters(dynamics, q, v, state['wr'], state['wrdot'], 'garofalo'),
              state['Yr_ORD003_garofalo'])
        # By both matrices the efforts are the same, and so are their derivatives.
        dtau_dq, dtau_dv, _ = dynamics.inverse_dynamics_derivatives(q, v, a)
        close(dtau_dq[:, joints], (np.array(state['dM_dq']) @ a + np.array(
            state['dC_dq_garofalo']) @ v + np.array(state['dg_dxi'])[joints]).T)
        close(dtau_dv, (np.array(state['dC_dw_garofalo']) @ v).T + state['C_garofalo'])


def test_where_a_base_floats_changes_gravity_alone(floating):
    dynamics, states = floating
    for state in states:
        q, v, _ = floating_arguments(state)
        by_state = dynamics.state_derivatives(q, v)
        assert not by_state.dM_dq[:6].any()
        assert not by_state.dC_dq[:6].any()
        assert not by_state.dg_dq[:3].any()
        assert by_state.dg_dq[3:6].any()
