# SPDX-License-Identifier: Apache-2.0
"""Values of the planar robot and of the PUMA 560 with elastic joints, from energies alone."""

import numpy as np
import pytest

from robot_dynamics.elastic.dynamics import ElasticDynamics

RELATIVE = 1e-10


def near(computed, wanted, relative=RELATIVE):
    wanted = np.array(wanted)
    assert computed.shape == wanted.shape
    np.testing.assert_allclose(computed, wanted, rtol=0.0,
                               atol=relative * np.abs(wanted).max())


def test_inertia_coriolis_gravity_friction_torque_and_regressor(reference):
    values, robot = reference
    dynamics = ElasticDynamics(robot)
    near(dynamics.stiffness_matrix, values['Ke'])
    assert len(values['states']) >= 1
    for state in values['states']:
        q, v, a = (np.array(state[name]) for name in ('qbar', 'qbar_dot', 'qbar_ddot'))
        B, C, g = dynamics.matrices(q, v)
        near(B, state['B'])
        near(C, state['C'])
        near(g, state['g'])
        near(dynamics.friction_torque(v), state['friction'])
        near(dynamics.inverse_dynamics(q, v, a), state['tau'])
        near(dynamics.regressor(q, v, a), state['Y'])
        near(dynamics.forward_dynamics(q, v, np.array(state['tau'])), state['qbar_ddot'], 1e-9)
        assert np.linalg.eigvalsh(B).min() == pytest.approx(state['min_eig_B'], rel=1e-9)


def test_parameters_stand_in_the_order_of_the_paper(reference):
    values, robot = reference
    np.testing.assert_allclose(robot.parameters(), values['Pi'], rtol=1e-14, atol=1e-16)
    short = {'m': 'm', 'mx': 'cx', 'my': 'cy', 'mz': 'cz', 'Jxx': 'Ixx', 'Jxy': 'Ixy',
             'Jxz': 'Ixz', 'Jyy': 'Iyy', 'Jyz': 'Iyz', 'Jzz': 'Izz', 'rotor_inertia': 'Ups',
             'coulomb': 'fs', 'viscous': 'fv', 'stiffness': 'K'}
    names = []
    for name in robot.parameter_names():
        owner, kind = name.split('/')
        names.append(short[kind] + owner[-1])
    assert names == values['Pi_names']


def test_the_tables_number_the_stiffness_first(reference):
    values, robot = reference
    n = robot.n
    Pi = np.array(values['Pi'])
    np.testing.assert_allclose(robot.parameters('tables'),
                               np.concatenate([Pi[-n:], Pi[:-n]]), rtol=1e-14, atol=1e-16)
