# SPDX-License-Identifier: Apache-2.0
"""A tree on a floating base against values computed by others in closed form."""

import json

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.inertia import parameters_from_com
from robot_dynamics.model.joints import JointType

TOLERANCE = 1e-10
#: Where our ten parameters stand among those of the reference.
ORDER = [0, 1, 2, 3, 4, 7, 8, 5, 9, 6]


def close(value, expected):
    """Relative to the largest entry of the expected array."""
    expected = np.asarray(expected)
    assert value.shape == expected.shape
    assert np.max(np.abs(value - expected)) <= TOLERANCE * max(np.max(np.abs(expected)), 1e-3)


@pytest.fixture(scope='module')
def checked(reference, make, shared):
    """Equations of the tree with the base that carries it, and its states."""
    tree, _ = reference('ref_tree')
    content = json.loads((shared / 'reference' / 'ref_tree.json').read_text())['floating_base']
    base = content['base']
    pi = parameters_from_com(base['mass'], np.array(base['com']),
                             np.array(base['inertia_about_com']))
    robot = make([-1, *(tree.parents + 1)], [JointType.FLOATING, *tree.joint_types],
                 [np.eye(4), *tree.placements], [[1, 0, 0], *tree.axes],
                 [np.zeros(3), *tree.link_offsets], [pi, *tree.inertial_parameters],
                 gravity=tree.gravity, joint_names=tuple(f'j{k}' for k in range(8)))
    assert content['states']
    return Dynamics(robot), content['states']


def position(state):
    """Place and quaternion of the base, and the joints."""
    return np.concatenate([state['base_p'], quaternion(np.array(state['base_R'])), state['q']])


def quaternion(R):
    """Quaternion x y z w of a rotation by less than half a turn."""
    w = 0.5 * np.sqrt(1.0 + np.trace(R))
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    return np.array([x / (4.0 * w), y / (4.0 * w), z / (4.0 * w), w])


def test_matrices(checked):
    dynamics, states = checked
    for state in states:
        M, C, g = dynamics.matrices(position(state), state['w'])
        close(M, state['M'])
        close(C, state['C_psi_christoffel'])
        close(g, state['g'])
        close(C + C.T, state['Mdot'])


def test_inverse_and_forward_dynamics(checked):
    dynamics, states = checked
    for state in states:
        q = position(state)
        close(dynamics.inverse_dynamics(q, state['w'], state['wdot']), state['tau'])
        close(dynamics.forward_dynamics(q, state['w'], state['tau']), state['wdot'])


def test_regressor_gives_the_efforts(checked):
    dynamics, states = checked
    for state in states:
        Y = dynamics.regressor(position(state), state['w'], state['wdot'])
        close(Y @ dynamics.parameters, state['tau'])


def test_slotine_li_regressor_column_by_column(checked):
    """The reference has that of another factorisation: each column differs by dC v_r."""
    dynamics, states = checked
    for state in states:
        q, v, v_r = position(state), state['w'], np.array(state['wr'])
        Yr = dynamics.slotine_li_regressor(q, v, v_r, state['wrdot'])
        M, C, g = (np.array(state[name]) for name in ('M', 'C_psi_christoffel', 'g'))
        close(Yr @ dynamics.parameters, M @ state['wrdot'] + C @ v_r + g)
        between = np.empty_like(Yr)
        for k, pi in enumerate(np.eye(len(dynamics.parameters))):
            unit = Dynamics(dynamics.robot.with_parameters(pi))
            between[:, k] = (unit.coriolis_matrix(q, v, 'garofalo')
                             - unit.coriolis_matrix(q, v)) @ v_r
        theirs = np.array(state['Yr_ORD003_garofalo']).reshape(13, 8, 10)[..., ORDER]
        close(Yr + between, theirs.reshape(13, 80))
