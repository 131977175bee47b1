# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.control.motion.goal_tolerances import (
    ErrorBounds,
    GoalTolerances,
    bounds_of,
)
from robot_dynamics.errors import JointNamesError, TrajectoryError

NAMES = ('a', 'b')
BOUNDS = ErrorBounds(np.array([0.1, 0.2]), np.array([np.inf, 1.0]))
TOLERANCES = GoalTolerances(BOUNDS, BOUNDS, 2.0)


@pytest.mark.parametrize(('position', 'velocity', 'words'), [
    ([0.1, -0.2], [9.0, 1.0], ''),
    ([0.0, -0.21], [0.0, 0.0], 'the position of b is -0.21 away from the trajectory, more than '
                               '0.2'),
    ([0.0, 0.0], [0.0, 1.5], 'the velocity of b is 1.5 away'),
    ([np.nan, 0.0], [0.0, 0.0], 'the position of a is nan away'),
])
def test_the_first_joint_beyond_a_bound_is_named(position, velocity, words):
    found = BOUNDS.violation(NAMES, np.array(position), np.array(velocity))
    assert words in found and bool(found) == bool(words)


def test_a_goal_keeps_changes_and_removes_bounds():
    own = TOLERANCES.overridden(NAMES, path=[('b', 0.5, -1.0), ('a', 0.0, 0.3)], time=-1.0)
    assert own.path.position.tolist() == [0.1, 0.5]
    assert own.path.velocity.tolist() == [0.3, np.inf]
    assert own.goal.position.tolist() == [0.1, 0.2] and own.time == np.inf
    assert TOLERANCES.overridden(NAMES).time == 2.0
    assert TOLERANCES.path.position.tolist() == [0.1, 0.2]


def test_a_wrong_tolerance_is_rejected():
    with pytest.raises(JointNamesError, match='goal_tolerance names the unknown joint c'):
        TOLERANCES.overridden(NAMES, goal=[('c', 0.1, 0.0)])
    for wrong in (-0.5, np.nan):
        with pytest.raises(TrajectoryError, match='path_tolerance of a must be positive'):
            TOLERANCES.overridden(NAMES, path=[('a', 0.0, wrong)])


def test_a_bound_of_zero_is_none():
    assert bounds_of(np.array([0.0, 0.3])).tolist() == [np.inf, 0.3]
