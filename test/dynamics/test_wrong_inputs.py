# SPDX-License-Identifier: Apache-2.0
"""Every method, on what no caller should give: plain results, or an error that says what to do."""

import warnings

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

#: Number of joint vectors that each method takes.
METHODS = {
    'inverse_dynamics': 3, 'gravity_torque': 1, 'matrices': 2, 'mass_matrix': 1,
    'coriolis_matrix': 2, 'forward_dynamics': 3, 'regressor': 3, 'slotine_li_regressor': 4,
    'inverse_dynamics_derivatives': 3, 'forward_dynamics_derivatives': 3,
    'matrix_time_derivatives': 3,
    'time_derivatives': 3, 'state_derivatives': 2, 'parameter_derivatives': 2,
    'forward_kinematics': 1, 'jacobian': 1, 'jacobian_dot': 2, 'jacobian_ddot': 3,
    'jacobian_derivatives': 2, 'com_position': 1, 'com_jacobian': 1, 'normal_equations': 4,
}
OF_A_LINK = ('jacobian', 'jacobian_dot', 'jacobian_ddot', 'jacobian_derivatives')


class Subclass(np.ndarray):
    """An array with a name of its own."""


def acceptable(x):
    """The same numbers, or nearly, as other things than a plain array."""
    read_only = x.copy()
    read_only.flags.writeable = False
    bytes_ = np.frombuffer(b'0' + x.tobytes() + bytes(7), np.uint8)
    return {
        'float32': x.astype(np.float32), 'big-endian': x.astype('>f8'), 'list': x.tolist(),
        'long double': x.astype(np.longdouble), 'strided': np.repeat(x, 2)[::2],
        'backwards': x[::-1].copy()[::-1], 'read-only': read_only, 'subclass': x.view(Subclass),
        'nothing masked': np.ma.array(x), 'objects': x.astype(object),
        'unaligned': bytes_[1:1 + x.nbytes].view(np.float64), 'view': memoryview(x),
        'repeated': np.broadcast_to(x, (2, 3, len(x))), 'no samples': np.zeros((3, 0, len(x))),
    }


def wrong(x):
    """What is no joint vector, or not one of this robot, or no number that it can have."""
    n = len(x)
    return {
        'nan': np.full(n, np.nan), 'infinite': np.full(n, np.inf), 'huge': np.full(n, 1e308),
        'large': 1e200 * x, 'tiny': 1e-308 * x, 'masked': np.ma.array(x, mask=[1] * n),
        'nothing': np.zeros(0), 'a number': 1.0, 'text': ['1'] * n, 'None': None,
        'complex': x + 0j, 'short': x[:-1], 'long': np.append(x, 1.0),
        'square': np.zeros((n + 1, n + 1)), 'mapping': {}, 'bytes': b'12',
        'fields': np.zeros(n, [('x', 'f8')]), 'dates': np.zeros(n, 'M8[s]'),
    }


ROBOTS = {
    'arm': lambda cases: Robot.from_urdf(resolve_robot('puma560')),
    'prismatic': lambda cases: Robot.from_urdf(resolve_robot('rpr')),
    'mimic': lambda cases: Robot.from_urdf(cases / 'urdf_mimic' / 'mimic.urdf'),
    'floating': lambda cases: Robot.from_urdf(resolve_robot('arm7'), floating_base=True),
    'one joint': lambda cases: Robot.from_urdf(resolve_robot('planar_2r'), joints=['joint1'],
                                               locked={'joint2': 0.3}),
}


@pytest.fixture(scope='module', params=ROBOTS)
def dynamics(request, cases):
    return Dynamics(ROBOTS[request.param](cases))


def call(dynamics, name, arguments):
    """Results as a tuple of arrays; warnings are errors."""
    more = (dynamics.robot.body_names[-1],) if name in OF_A_LINK else ()
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        results = getattr(dynamics, name)(*arguments, *more)
    return [np.asarray(x) if isinstance(x, float) else x
            for x in (results if isinstance(results, tuple) else (results,))]


def state(dynamics):
    robot = dynamics.robot
    rates = np.random.default_rng(0).uniform(-1.0, 1.0, (4, robot.n))
    return [robot.integrate(robot.neutral(), rates[0]), *rates[1:]]


@pytest.mark.parametrize('name', METHODS)
def test_other_things_than_plain_arrays(dynamics, name):
    count = METHODS[name]
    plain = state(dynamics)[:count]
    expected = call(dynamics, name, plain)
    for position in range(count):
        for kind, value in acceptable(plain[position]).items():
            given = [*plain[:position], value, *plain[position + 1:]]
            for found, right in zip(call(dynamics, name, given), expected, strict=True):
                assert type(found) is np.ndarray and found.dtype == np.float64, kind
                assert found.flags.c_contiguous and found.flags.writeable, kind
                if kind not in ('repeated', 'no samples'):
                    np.testing.assert_allclose(found, right, err_msg=kind, rtol=1e-4,
                                               atol=1e-5 * max(1.0, np.abs(right).max()))


@pytest.mark.parametrize('name', METHODS)
def test_what_is_wrong_is_refused_or_travels(dynamics, name):
    count = METHODS[name]
    plain = state(dynamics)[:count]
    for position in range(count):
        for kind, value in wrong(plain[position]).items():
            try:
                call(dynamics, name, [*plain[:position], value, *plain[position + 1:]])
            except RobotDynamicsError as error:
                assert error.subject and error.remedy, kind
            else:
                assert kind in ('nan', 'infinite', 'huge', 'large', 'tiny')
