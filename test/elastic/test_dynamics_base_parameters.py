# SPDX-License-Identifier: Apache-2.0
"""Ranks and combinations of the robots with elastic joints that are published."""

import json
import re

import numpy as np
import pytest

from robot_dynamics.elastic.dynamics import ElasticDynamics, elastic_base_parameters

SHORT = {'m': 'm', 'mx': 'cx', 'my': 'cy', 'mz': 'cz', 'Jxx': 'Ixx', 'Jxy': 'Ixy',
         'Jxz': 'Ixz', 'Jyy': 'Iyy', 'Jyz': 'Iyz', 'Jzz': 'Izz', 'rotor_inertia': 'Ups',
         'coulomb': 'fs', 'viscous': 'fv', 'stiffness': 'K'}


def short(name):
    owner, kind = name.split('/')
    return SHORT[kind] + owner[-1]


def check(base, robot, rank, combos, dependent, without_effect):
    names = [short(name) for name in robot.parameter_names()]
    assert base.rank == rank
    assert {names[k] for k in base.null} == set(without_effect)
    kept = [names[k] for k in base.independent]
    assert kept == [combo['base'] for combo in combos]
    assert set(names) - set(kept) - set(without_effect) == set(dependent)
    values = base.values(robot.parameters())
    for row, combo, value in zip(base.matrix, combos, values, strict=True):
        wanted = np.zeros(len(names))
        wanted[names.index(combo['base'])] = 1.0
        for name, factor in combo['terms']:
            wanted[names.index(name)] = factor
        np.testing.assert_allclose(row, wanted, atol=1e-8)
        assert value == pytest.approx(combo['value'], abs=1e-8)


def test_planar_robot(shared, with_gravity):
    reference = json.loads((shared / 'reference' / 'ref_elastic_planar.json').read_text())
    robot = with_gravity(reference)
    given = reference['identifiability']
    base = elastic_base_parameters(ElasticDynamics(robot))
    check(base, robot, given['rank'], given['base_combinations'], given['dependent'],
          given['null'])
    # Table 1 with the inertias of which it prints four digits.
    exact = robot.with_parameters(
        robot.parameters('bodies') + np.r_[np.zeros(9), 7 / 15 - 0.4667,
                                           np.zeros(9), 7 / 30 - 0.2333, np.zeros(8)], 'bodies')
    table = dict(zip(base.base_names, base.values(exact.parameters()), strict=True))
    printed = {'link1/m': -30.8333, 'link2/m': 6.5667, 'link1/mx': 22.6333, 'link2/mx': -0.7833,
               'link1/my': 0.0, 'link2/my': 0.0, 'joint1/rotor_inertia': 21.18,
               'joint2/rotor_inertia': 12.10, 'joint1/stiffness': 3000.0,
               'joint2/stiffness': 1800.0, 'joint1/coulomb': 0.3302, 'joint2/coulomb': 0.3576,
               'joint1/viscous': 0.1434, 'joint2/viscous': 0.1391}
    assert len(printed) == len(table)
    for name, value in table.items():
        assert value == pytest.approx(printed[re.split(' [+-] ', name)[0]], abs=5.1e-5), name


@pytest.mark.parametrize('case', range(5))
def test_puma(shared, with_gravity, case):
    reference = json.loads((shared / 'reference' / 'ref_elastic_puma.json').read_text())
    study = reference['rank_study'][case]
    numbers = re.search(r'\(([-\d.]+),([-\d.]+),([-\d.]+)\)', study['case'])
    gravity = [float(number) for number in numbers.groups()] if numbers else \
        [-9.81, 0.0, 0.0] if '-x0' in study['case'] else [0.0, 0.0, 0.0]
    robot = with_gravity(reference, gravity)
    base = elastic_base_parameters(ElasticDynamics(robot))
    check(base, robot, study['rank'], study['combos'], study['dependent'], study['null'])
    motors = [k for k in base.independent if k >= 60]
    assert len(motors) == study['motor_params']
    assert np.count_nonzero(base.matrix[-len(motors):, 60:]) == len(motors)
