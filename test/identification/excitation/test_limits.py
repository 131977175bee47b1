# SPDX-License-Identifier: Apache-2.0
import json
import re

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, ParameterError, TrajectoryError
from robot_dynamics.identification.excitation.curves import (
    BSplineBasis,
    RestToRest,
)
from robot_dynamics.identification.excitation.effort_bound import EffortEnclosure
from robot_dynamics.identification.excitation.limits import (
    MotionLimits,
    check_limits,
    check_rest,
    use_of,
)
from test.identification.excitation.fourier_curve import FourierCurve


@pytest.fixture(scope='module')
def case(cases):
    """A published kind of trajectory that breaks limits, and what is right about it."""
    folder = cases / 'ident_excitation_limits'
    given, wanted = (json.loads((folder / name).read_text())
                     for name in ('fourier.json', 'expected.json'))
    # sin and cos of k w t, k from 1: as `FourierCurve` has it.
    curve = FourierCurve(given['period'], given['q0'], given['a'], given['b'])
    bounds = given['limits']
    names = tuple(wanted['numbers'])
    return curve, MotionLimits(names, *(bounds[name] for name in (
        'lower', 'upper', 'velocity', 'acceleration')), np.full(3, np.inf)), wanted


def test_extremes_of_the_case(case):
    curve, limits, wanted = case
    within = {'abs': wanted['tolerance']}
    low, high = curve.extremes(0)
    used = use_of(curve, limits)
    for joint, numbers in enumerate(wanted['numbers'].values()):
        assert low[joint] == pytest.approx(numbers['min'], **within)
        assert high[joint] == pytest.approx(numbers['max'], **within)
        assert curve.largest(1)[joint] == pytest.approx(numbers['max_speed'], **within)
        assert curve.largest(2)[joint] == pytest.approx(numbers['max_accel'], **within)
        assert [used.position[joint] <= 1, used.velocity[joint] <= 1,
                used.acceleration[joint] <= 1] == [
            numbers['position_ok'], numbers['speed_ok'], numbers['accel_ok']]


def test_the_case_is_refused_with_joint_quantity_time_and_value(case):
    curve, limits, _ = case
    with pytest.raises(TrajectoryError) as caught:
        check_limits(curve, limits)
    assert caught.value.subject == 'joint2'
    found = re.match(r'position (\S+) at (\S+) s is beyond (\S+)', caught.value.message)
    value, when, limit = map(float, found.groups())
    assert value == pytest.approx(curve.evaluate([when])[0, 1], abs=2e-3)
    assert value == pytest.approx(-2.0158, abs=2e-3) and limit == -1.2


def test_the_case_is_refused_for_it_does_not_start_at_rest(case):
    curve, limits, _ = case
    with pytest.raises(TrajectoryError, match=r'joint2 velocity is .* at 0.000 s, not 0'):
        check_rest(curve, limits)


def test_a_motion_that_does_not_start_at_the_measured_pose_is_refused(robots, limited):
    _, start, limits = limited('rpr')
    basis = BSplineBasis(4.0, 6)
    motion = RestToRest(basis, start, np.zeros((basis.count, 3)))
    check_rest(motion, limits, start)
    with pytest.raises(TrajectoryError, match=r'position is 0\.1 away from the arm') as caught:
        check_rest(motion, limits, start + np.array([0.0, 0.1, 0.0]))
    assert caught.value.subject == limits.joint_names[1]


@pytest.mark.parametrize('name', ['rpr', 'tree'])
@pytest.mark.parametrize('quantity', ['position', 'velocity', 'acceleration', 'effort'])
def test_one_quantity_beyond_is_enough(limited, name, quantity):
    robot, start, limits = limited(name)
    basis, joint = BSplineBasis(4.0, 6), robot.n - 1
    x = np.zeros((basis.count, robot.n))
    x[:, joint] = 0.05 * np.random.default_rng(0).normal(size=basis.count)
    motion = RestToRest(basis, start, x)
    efforts = EffortEnclosure(Dynamics(robot))
    used = check_limits(motion, limits, efforts)
    assert 0.0 < used.largest < 1.0
    # The same motion under limits of which one is a little lower than what is used of it.
    share = getattr(used, quantity)[joint]
    tight = {name: getattr(limits, name).copy() for name in (
        'lower', 'upper', 'velocity', 'acceleration', 'effort')}
    if quantity == 'position':
        tight['lower'][joint] = motion.extremes()[0][joint] + 1e-4
    else:
        tight[quantity][joint] *= 0.9 * share
    with pytest.raises(TrajectoryError, match=quantity) as caught:
        check_limits(motion, MotionLimits(limits.joint_names, **tight), efforts)
    assert caught.value.subject == limits.joint_names[joint]
    assert ' s is beyond ' in caught.value.message


def test_limits_of_a_robot(robots):
    robot = robots('arm7')
    start = np.zeros(7)
    limits = MotionLimits.for_robot(robot, start, scale=0.8, acceleration=3.0, speed=1.5)
    np.testing.assert_allclose(limits.upper - limits.lower,
                               0.8 * (robot.limits.upper - robot.limits.lower))
    np.testing.assert_allclose(limits.velocity, np.minimum(1.5, 0.8 * robot.limits.velocity))
    np.testing.assert_allclose(limits.effort, 0.8 * robot.limits.effort)
    np.testing.assert_allclose(limits.acceleration, 3.0)
    with pytest.raises(TrajectoryError, match=r'joint4 must start between .*, got 0;'):
        limits.check_start(start)


@pytest.mark.parametrize(('settings', 'wanted'), [
    ({'scale': 0.0}, 'scale'), ({'scale': 1.1}, 'scale'), ({'scale': np.nan}, 'scale'),
    ({'acceleration': np.nan}, 'acceleration'), ({'acceleration': -1.0}, 'acceleration'),
    ({'speed': np.nan, 'acceleration': np.inf}, 'acceleration')])
def test_wrong_settings_are_refused(robots, settings, wanted):
    with pytest.raises(ParameterError, match=wanted):
        MotionLimits.for_robot(robots('arm7'), np.zeros(7), **settings)


def test_a_pose_of_another_robot_is_refused(robots):
    with pytest.raises(DimensionError, match='start'):
        MotionLimits.for_robot(robots('arm7'), np.zeros(3))


def test_a_joint_without_limits(robots):
    text = robots('rpr').to_urdf()
    free = re.sub(r'<limit [^>]*/>', '', text).replace('type="revolute"', 'type="continuous"')
    robot = type(robots('rpr')).from_urdf(free)
    with pytest.raises(ParameterError, match='has no speed limit'):
        MotionLimits.for_robot(robot, np.zeros(3))
    limits = MotionLimits.for_robot(robot, np.ones(3), speed=1.0)
    np.testing.assert_allclose(0.5 * (limits.lower + limits.upper), 1.0)
    assert np.all(np.isinf(limits.effort))
