# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.identification.excitation.design import (
    KINDS,
    DesignSettings,
    Problem,
    design,
    resting_pose,
)
from robot_dynamics.identification.excitation.limits import MotionLimits, is_clear

SHORT = {'seconds': 6.0, 'restarts': 1, 'iterations': 40}


@pytest.mark.parametrize('kind', KINDS)
def test_a_motion_within_limits_that_is_much_better_than_random_ones(limited, kind):
    robot, start, limits = limited('rpr')
    told = []
    made = design(robot, start, limits, DesignSettings(kind=kind, **SHORT), progress=told.append)
    assert made.condition < 0.5 * made.random_condition
    assert made.restarts == (made.condition,) and made.rank == made.rank
    assert made.use.largest <= 1.0 + 1e-9
    assert told[-1] == 1.0 and all(0.0 <= share <= 1.0 for share in told)
    # What the bounds say holds at any time, here at many.
    t = np.random.default_rng(0).uniform(0.0, made.motion.duration, 5000)
    q, v, a = (made.motion.evaluate(t, k) for k in range(3))
    assert np.all((q >= limits.lower) & (q <= limits.upper))
    assert np.all(np.abs(v) <= limits.velocity)
    assert np.all(np.abs(a) <= limits.acceleration)
    np.testing.assert_allclose(made.motion.evaluate([0.0, made.motion.duration]), [start, start],
                               atol=1e-12)


@pytest.mark.slow
def test_the_same_seed_makes_the_same_motion_in_any_number_of_processes(limited):
    robot, start, limits = limited('rpr')
    wanted = {**SHORT, 'restarts': 2, 'iterations': 4}
    one, two = (design(robot, start, limits, DesignSettings(seed=3, **wanted), workers=workers)
                for workers in (1, 2))
    np.testing.assert_allclose(one.motion.coefficients, two.motion.coefficients, rtol=1e-6)
    other = design(robot, start, limits, DesignSettings(seed=4, **wanted))
    assert not np.allclose(one.motion.coefficients, other.motion.coefficients)


@pytest.mark.parametrize('objective', ['condition', 'd_optimal'])
def test_slopes_of_the_whole_cost_with_limits_broken(limited, objective):
    robot, start, limits = limited('tree')
    tight = MotionLimits(limits.joint_names, limits.lower, limits.upper, limits.velocity,
                         limits.acceleration, np.full(robot.n, 20.0) + robot.friction)
    problem = Problem(robot, start, tight, DesignSettings(objective=objective, **SHORT))
    random, h = np.random.default_rng(0), 1e-6
    x = 0.4 * random.normal(size=(problem.basis.count, robot.n))
    direction = random.normal(size=x.shape)
    value, slope = problem.cost(x, 10.0)
    assert value > problem.cost(0.05 * x, 10.0)[0] - 100.0
    up, down = (problem.cost(x + sign * h * direction, 10.0)[0] for sign in (1.0, -1.0))
    assert np.sum(slope * direction) == pytest.approx((up - down) / (2 * h), rel=1e-4)


def test_what_efforts_do_not_allow_is_left_out(limited):
    robot, start, limits = limited('rpr')
    standing = Problem(robot, start, limits, DesignSettings(**SHORT)).efforts.efforts(
        start[None], np.zeros((1, 3)), np.zeros((1, 3)))[0]
    tight = MotionLimits(limits.joint_names, limits.lower, limits.upper, limits.velocity,
                         limits.acceleration, 1.3 * np.abs(standing) + robot.friction + 2.0)
    made = design(robot, start, tight, DesignSettings(**SHORT))
    assert made.use.effort.max() <= 1.0 + 1e-9
    assert made.use.effort.max() > 0.5
    weak = MotionLimits(limits.joint_names, limits.lower, limits.upper, limits.velocity,
                        limits.acceleration, np.full(3, 1e-3))
    with pytest.raises(TrajectoryError, match='leaves no room to move'):
        design(robot, start, weak, DesignSettings(**SHORT))


def test_what_may_not_be_touched_is_not(limited):
    robot, start, limits = limited('rpr')

    def fence(q):
        """Joint 1 may not turn farther than 0.2."""
        return 0.2 - (q - start)[:, 0], 'fence'

    made = design(robot, start, limits, DesignSettings(**SHORT), clearance=fence)
    assert is_clear(made.motion, fence)


@pytest.mark.parametrize('settings', [
    {'seconds': 0.5}, {'seconds': np.nan}, {'kind': 'chirp'}, {'restarts': 0}, {'seed': -1},
    {'seed': 1.5}, {'iterations': 0}, {'restarts': True}])
def test_wrong_settings_are_refused(settings):
    with pytest.raises(ParameterError):
        DesignSettings(**settings)


def test_wrong_wishes_are_refused(limited, robots):
    robot, start, limits = limited('rpr')
    for wrong in ({'objective': 'a_optimal'}, {'terms': ('glue',)}, {'waves': 1},
                  {'waves': 0}, {'waves': 0, 'kind': 'fourier'}):
        with pytest.raises(ParameterError):
            design(robot, start, limits, DesignSettings(**{**SHORT, **wrong}))
    with pytest.raises(TrajectoryError, match='must start between'):
        design(robot, start + 100.0, limits, DesignSettings(**SHORT))
    with pytest.raises(ParameterError, match='start'):
        resting_pose(robots('arm7'), [0.0] * 3)
    with pytest.raises(ParameterError, match='start'):
        resting_pose(robots('rpr'), [0.0, np.nan, 0.0])


def test_an_arm_of_one_joint(robots):
    from robot_dynamics.model.robot import Robot
    arm = Robot.from_urdf(
        '<robot name="pendulum"><link name="base"/><link name="rod"><inertial><mass value="2"/>'
        '<origin xyz="0.1 0 0.3"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" '
        'iyz="0"/></inertial></link><joint name="hinge" type="revolute"><parent link="base"/>'
        '<child link="rod"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="2" '
        'effort="20"/></joint></robot>')
    limits = MotionLimits.for_robot(arm, np.zeros(1))
    made = design(arm, np.zeros(1), limits, DesignSettings(terms=('viscous',), **SHORT))
    assert made.rank == 4 and made.condition < made.random_condition
