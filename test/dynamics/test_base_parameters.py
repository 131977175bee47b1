# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import base_parameters
from robot_dynamics.errors import DimensionError, ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot


def dynamics_of(name, **keywords):
    return Dynamics(Robot.from_urdf(resolve_robot(name), **keywords))


# 43 for a 7R arm on a floor, 36 for the PUMA 560 (Gautier 1991, section 5), and by the
# formulas of the planar arms 6 and 9; the RPR moves level.
@pytest.mark.parametrize(('name', 'count'), [('arm7', 43), ('puma560', 36), ('planar_2r', 6),
                                             ('planar_3r', 9), ('rpr', 7)])
def test_as_many_as_the_literature_says_and_they_tell_the_efforts(name, count):
    dynamics = dynamics_of(name)
    base = base_parameters(dynamics)
    assert len(base) == len(base.names) == count
    random = np.random.default_rng(3)
    pi = random.normal(size=len(dynamics.parameters))
    for q, v, a in random.normal(size=(5, 3, dynamics.n)):
        Y = dynamics.regressor(q, v, a)
        np.testing.assert_allclose(Y[:, base.kept] @ base.values(pi), Y @ pi, atol=1e-11)
        np.testing.assert_allclose(Y[:, base.without_effect], 0.0, atol=1e-12)


def test_combinations_of_a_planar_arm_are_those_of_its_formulas():
    base = base_parameters(dynamics_of('planar_2r'))
    assert base.names == ('link1/mx + 0.45 link2/m', 'link1/my', 'link1/Jzz + 0.2025 link2/m',
                          'link2/mx', 'link2/my', 'link2/Jzz')


def test_base_parameters_of_some_columns():
    dynamics = dynamics_of('rpr')
    names = dynamics.parameter_names()
    unknown = [names.index(name) for name in ('link1/Jzz', 'link2/mx', 'link2/m', 'link2/Jzz')]
    base = base_parameters(dynamics, columns=unknown)
    assert base.names == ('link1/Jzz + link2/Jzz', 'link2/mx', 'link2/m')
    assert base_parameters(dynamics, columns=[]).matrix.shape == (0, 30)


def test_friction_is_a_base_parameter_by_itself():
    dynamics = dynamics_of('planar_2r')
    base = base_parameters(dynamics, ('viscous', 'coulomb'))
    assert base.names[-4:] == dynamics.parameter_names(('viscous', 'coulomb'))[-4:]


def test_floating_bodies_show_all_of_their_first_body():
    dynamics = dynamics_of('planar_2r', floating_base=True)
    assert {'base/m', 'base/mx', 'base/Jzz'} <= {name.split(' ')[0] for name
                                                in base_parameters(dynamics).names}


@pytest.mark.parametrize('columns', [[0, 0], [-1], [20]])
def test_columns_that_are_none_are_refused(columns):
    with pytest.raises(ParameterError, match='from 0 to 19'):
        base_parameters(dynamics_of('planar_2r'), columns=columns)


def test_parameters_of_another_robot_are_refused():
    with pytest.raises(DimensionError, match=r'not \(\.\.\., 20\)'):
        base_parameters(dynamics_of('planar_2r')).values(np.zeros(30))
