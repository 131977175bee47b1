# SPDX-License-Identifier: Apache-2.0
"""Against values computed from energies alone, with 120 digits."""

import json

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics

ROBOTS = ('ref_planar_elbow', 'ref_puma560', 'ref_tree')
TOLERANCE = 1e-10


def close(value, expected):
    """Relative to the largest entry of the expected array."""
    expected = np.asarray(expected)
    assert value.shape == expected.shape
    error = np.max(np.abs(value - expected))
    assert error <= TOLERANCE * max(np.max(np.abs(expected)), 1e-3)


@pytest.fixture(params=ROBOTS)
def checked(request, reference):
    """Equations and states of one reference robot."""
    robot, states = reference(request.param)
    assert states
    return Dynamics(robot), states


def test_matrices(checked):
    dynamics, states = checked
    for state in states:
        M, C, g = dynamics.matrices(state['q'], state['qd'])
        close(M, state['M'])
        close(C, state['C_christoffel'])
        close(g, state['g'])


def test_single_quantities(checked):
    dynamics, states = checked
    for state in states:
        close(dynamics.mass_matrix(state['q']), state['M'])
        close(dynamics.coriolis_matrix(state['q'], state['qd']), state['C_christoffel'])
        close(dynamics.gravity_torque(state['q']), state['g'])


def test_inverse_dynamics(checked):
    dynamics, states = checked
    for state in states:
        close(dynamics.inverse_dynamics(state['q'], state['qd'], state['qdd']), state['tau'])


def test_regressors(checked):
    dynamics, states = checked
    for state in states:
        Y = dynamics.regressor(state['q'], state['qd'], state['qdd'])
        Yr = dynamics.slotine_li_regressor(state['q'], state['qd'], state['qdr'], state['qddr'])
        close(Y, state['Y_ORD000'])
        close(Yr, state['Yr_ORD000'])
        close(Yr @ dynamics.parameters, state['tau_r'])


def test_forward_dynamics(checked):
    dynamics, states = checked
    for state in states:
        close(dynamics.forward_dynamics(state['q'], state['qd'], state['tau']), state['qdd'])


@pytest.fixture
def rpr(shared, make):
    """The planar RPR arm: equations, indices of its parameters, states."""
    content = json.loads((shared / 'reference' / 'ref_rpr.json').read_text())
    figures = content['robot']
    bodies = []
    for mass, x, central in ((figures['m1'], figures['dc1'], figures['I1']),
                             (figures['m2'], -figures['dc2'], figures['I2']),
                             (figures['m3'], figures['dc3'], figures['I3'])):
        about_origin = central + mass * x * x
        bodies.append([mass, mass * x, 0, 0, 0, 0, 0, 0, 0, about_origin])
    robot = make([-1, 0, 1], [0, 2, 0], np.tile(np.eye(4), (3, 1, 1)),
                 [[0, 0, 1], [1, 0, 0], [0, 0, 1]], np.zeros((3, 3)), bodies, gravity=(0, 0, 0))
    return Dynamics(robot), content['states']


def test_rpr_matrices(rpr):
    dynamics, states = rpr
    for state in states:
        M, C, g = dynamics.matrices(state['q'], state['qd'])
        close(M, state['M'])
        close(C, state['S'])
        assert np.all(g == 0.0)


def test_rpr_regressors(rpr):
    dynamics, states = rpr
    names = dynamics.column_names()
    unknown = [names.index(name) for name in ('b0/Jzz', 'b1/mx', 'b1/m')]
    known = [names.index(name) for name in ('b2/Jzz', 'b2/m', 'b2/mx')]
    for state in states:
        q, v, a = state['q'], state['qd'], state['qdd']
        Y = dynamics.regressor(q, v, a)
        close(Y[:, unknown], state['Y_U_classical'])
        close(Y[:, known], state['Y_K_classical'])
        close(Y @ dynamics.parameters, state['tau'])
        close(dynamics.inverse_dynamics(q, v, a), state['tau'])
        Yr = dynamics.slotine_li_regressor(q, v, state['qdr'], state['qddr'])
        close(Yr[:, unknown], state['Y_U'])
        close(Yr[:, known], state['Y_K'])
        close(Yr @ dynamics.parameters, state['tau_r'])
