# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.excitation.objective import (
    OBJECTIVES,
    POWER,
    TERMS,
    Information,
)


def motion_of(robot, count=60, seed=0):
    random = np.random.default_rng(seed)
    return [random.normal(size=(count, robot.n)) for _ in range(3)]


@pytest.mark.parametrize('name', ['arm7', 'rpr', 'tree'])
@pytest.mark.parametrize('objective', OBJECTIVES)
@pytest.mark.parametrize('terms', [(), TERMS], ids=['bodies', 'all'])
def test_gradients_against_differences(robots, name, objective, terms):
    robot = robots(name)
    information, motion = Information(robot, objective, terms), motion_of(robot)
    _, slopes = information.value_and_gradient(*motion)
    random, h = np.random.default_rng(2), 1e-5
    for k in range(3):
        direction = random.normal(size=motion[k].shape)
        up, down = ([x + sign * h * direction if i == k else x for i, x in enumerate(motion)]
                    for sign in (1.0, -1.0))
        wanted = (information.value_and_gradient(*up)[0]
                  - information.value_and_gradient(*down)[0]) / (2 * h)
        assert np.sum(slopes[k] * direction) == pytest.approx(
            wanted, abs=1e-6 * np.linalg.norm(slopes[k]) * np.sqrt(direction.size))


def test_the_objective_is_a_bound_of_the_condition_number(robots):
    robot = robots('arm7')
    information = Information(robot)
    for seed in range(5):
        motion = motion_of(robot, seed=seed)
        value, condition = (information.value_and_gradient(*motion)[0],
                            np.log(information.condition(*motion)))
        assert condition <= value <= condition + np.log(information.base.rank) / POWER


def test_volume_of_the_confidence_ellipsoid(robots):
    robot = robots('rpr')
    information, motion = Information(robot, 'd_optimal'), motion_of(robot)
    W = information.regressor(*motion)
    wanted = -np.linalg.slogdet(W.T @ W)[1] / W.shape[1]
    assert information.value_and_gradient(*motion)[0] == pytest.approx(wanted)


def test_condition_is_that_of_columns_of_unit_length(robots):
    robot = robots('rpr')
    information, motion = Information(robot), motion_of(robot)
    W = information.regressor(*motion)
    assert W.shape[1] == information.base.rank
    assert information.condition(*motion) == pytest.approx(
        np.linalg.cond(W / np.linalg.norm(W, axis=0)))
    standing = [np.zeros_like(x) for x in motion]
    assert information.condition(*standing) > 1e12


def test_wrong_wishes_are_refused(robots):
    with pytest.raises(ParameterError, match='choose among'):
        Information(robots('rpr'), 'a_optimal')
    with pytest.raises(ParameterError, match='joint term'):
        Information(robots('rpr'), terms=('stiction',))
