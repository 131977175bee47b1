# SPDX-License-Identifier: Apache-2.0
"""Robots whose formulas are derived, and what their formulas should give."""

import json

import numpy as np
import pytest

from robot_dynamics.closed_form.description import describe
from robot_dynamics.closed_form.languages import compiled
from robot_dynamics.closed_form.quantities import derive
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

RIGHT_ANGLE = 1.5707963267948966

#: Gabiccini et al., section V.
ELBOW = {'name': 'planar_elbow', 'convention': 'standard', 'gravity': [0, '-g', 0],
         'links': [{'a': 'a1', 'alpha': 0, 'd': 0}, {'a': 'a2', 'alpha': 0, 'd': 0}]}

#: De Luca, Robotics 2, exam of 12 July 2021, exercise 3: an RPR arm in a horizontal plane.
RPR = {'name': 'rpr', 'convention': 'standard', 'gravity': [0, 0, 0], 'links': [
    {'a': 0, 'alpha': RIGHT_ANGLE, 'd': 0, 'theta': RIGHT_ANGLE},
    {'type': 'prismatic', 'a': 0, 'alpha': -RIGHT_ANGLE, 'd': 0, 'theta': 0},
    {'a': 0, 'alpha': 0, 'd': 0, 'theta': -RIGHT_ANGLE}]}


def arguments(recording, values):
    """Arguments of a recording's function, from values by array."""
    return [values[array.group] for array in recording.inputs]


def evaluate(recording, values):
    """The output of a recording at these values."""
    return compiled(recording)(*arguments(recording, values))


@pytest.fixture(scope='session')
def elbow():
    """The planar elbow with symbols for lengths and gravity."""
    return describe(ELBOW)


@pytest.fixture(scope='session')
def elbow_called():
    """The planar elbow under another name."""
    return lambda name: describe({**ELBOW, 'name': name})


@pytest.fixture(scope='session')
def rpr():
    """The RPR arm."""
    return describe(RPR)


@pytest.fixture(scope='session')
def puma():
    """PUMA 560."""
    return Robot.from_urdf(resolve_robot('puma560'))


@pytest.fixture(scope='session')
def arm7():
    """A seven-joint arm."""
    return Robot.from_urdf(resolve_robot('arm7'))


@pytest.fixture(scope='session')
def reference(shared):
    """Load a file of reference values."""
    return lambda name: json.loads((shared / 'reference' / f'{name}.json').read_text())


@pytest.fixture(scope='session')
def at_random():
    """A random state of a robot by array, and what each quantity is there."""
    def state(robot, seed=0):
        dynamics = Dynamics(robot)
        q, v, a, v_r, a_r = np.random.default_rng(seed).uniform(-1.0, 1.0, (5, robot.n))
        M, C, g = dynamics.matrices(q, v)
        expected = {'regressor': dynamics.regressor(q, v, a), 'M': M, 'C': C, 'g': g,
                    'slotine-li': dynamics.slotine_li_regressor(q, v, v_r, a_r),
                    'tau': dynamics.inverse_dynamics(q, v, a)}
        values = {'q': q, 'v': v, 'a': a, 'v_r': v_r, 'a_r': a_r, 'pi': robot.parameters}
        return values, expected
    return state


@pytest.fixture(scope='session')
def evaluated():
    """`evaluate`."""
    return evaluate


@pytest.fixture(scope='session')
def derived():
    """`derive`, each result once."""
    known = {}

    def look_up(source, what='slotine-li', **options):
        key = (id(source), what, *sorted(options.items()))
        if key not in known:
            known[key] = derive(source, what, **options)
        return known[key]
    return look_up
