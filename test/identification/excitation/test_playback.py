# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.control.motion.references import PointToPoint
from robot_dynamics.errors import RobotDynamicsError, StateError, TrajectoryError
from robot_dynamics.identification.excitation.curves import BSplineBasis, RestToRest
from robot_dynamics.identification.excitation.limits import MotionLimits
from robot_dynamics.identification.excitation.plan import ExcitationPlan
from robot_dynamics.identification.excitation.playback import (
    SETTLING,
    ExcitationSession,
    Stage,
    Stopping,
    check_approach,
    check_plan,
    playback,
    stop_duration,
)


@pytest.fixture
def arm(limited):
    """Return a robot, a plan for it and a pose near its start."""
    robot, start, limits = limited('rpr')
    basis = BSplineBasis(3.0, 8)
    x = 0.02 * np.random.default_rng(0).normal(size=(basis.count, robot.n))
    return (robot, ExcitationPlan(robot.name, RestToRest(basis, start, x), limits),
            start + np.array([0.1, -0.02, 0.05]))


def test_the_way_there_the_periods_and_rest(arm):
    _, plan, pose = arm
    reference, begin = playback(plan, pose, periods=2)
    np.testing.assert_allclose(reference.sample(0.0)[0], pose)
    for period in range(2):
        for t in (0.3, 1.7, 2.9):
            np.testing.assert_allclose(reference.sample(begin + period * 3.0 + t)[0],
                                       plan.motion.evaluate([t])[0], atol=1e-9)
    q, v, a = reference.sample(reference.duration)
    np.testing.assert_allclose(q, plan.motion.start, atol=1e-9)
    assert not v.any() and not a.any()
    # On the way a quarter of speeds and accelerations is used.
    _, v, a = reference.sample_many(np.linspace(0.0, begin, 300))
    assert np.all(np.abs(v) <= 0.2501 * plan.limits.velocity)
    assert np.all(np.abs(a) <= 0.2501 * plan.limits.acceleration)


def test_a_stop_stays_on_the_path_and_its_derivatives_are_its_own():
    way = PointToPoint([0.0, 1.0], [1.0, -1.0], duration=2.0)
    stop = Stopping(way, 0.7, 0.5)
    t, h = np.linspace(0.0, 1.5, 301), 1e-5
    q, v, a = stop.sample_many(t)
    (before, v_before, _), (after, v_after, _) = (stop.sample_many(t + d) for d in (-h, h))
    np.testing.assert_allclose(v, (after - before) / (2 * h), atol=1e-4)
    np.testing.assert_allclose(a, (v_after - v_before) / (2 * h), atol=2e-3)
    np.testing.assert_allclose(q[:, 1], 1.0 - 2.0 * q[:, 0])
    early = t < 0.7
    np.testing.assert_allclose(q[early], way.sample_many(t[early])[0])
    assert np.all(v[t >= 1.2] == 0.0)
    assert np.all(np.diff(q[:, 0]) >= 0.0)


def test_stops_within_limits(arm):
    _, plan, _ = arm
    T = stop_duration(plan)
    assert np.all(1.875 * plan.motion.largest(1) / T <= plan.limits.acceleration * 1.001)


def test_a_session_from_the_first_look_to_the_end(arm):
    robot, plan, pose = arm
    session = ExcitationSession(plan, robot, periods=2)
    assert session.stage(5.0) is Stage.WAITING and session.period(5.0) == 0
    with pytest.raises(StateError, match='has not begun'):
        session.ahead(5.0, 0.5)
    session.prepare(pose, np.zeros(3))
    session.begin(10.0)
    assert session.stage(10.1) is Stage.APPROACHING
    first = session.first_period
    assert session.stage(first + 0.1) is Stage.PLAYING
    assert [session.period(first + t) for t in (-0.1, 0.1, 3.1, 6.1)] == [0, 1, 2, 2]
    end = first + 6.0 + 0.5
    assert session.stage(end) is Stage.PLAYING
    assert session.stage(end + SETTLING) is Stage.DONE
    # Every stretch sent ends at rest.
    for now in np.linspace(10.0, end, 40):
        reference, elapsed, duration = session.ahead(now, 0.4)
        assert np.abs(reference.sample(elapsed + duration)[1]).max() < 1e-12
        np.testing.assert_allclose(reference.sample(elapsed)[0],
                                   session.ahead(now, 5.0)[0].sample(elapsed)[0])


@pytest.mark.parametrize('broken', [np.array([0.0, 0.3, 0.0]), np.array([0.0, 0.0, np.nan])])
def test_an_arm_that_is_not_where_it_should_be_is_stopped(arm, broken):
    robot, plan, pose = arm
    session = ExcitationSession(plan, robot, max_deviation=0.2)
    session.look(1.0, pose)
    session.prepare(pose, np.zeros(3))
    session.begin(10.0)
    now = session.first_period + 1.3
    q = plan.motion.evaluate([1.3])[0]
    session.look(now, q + 0.1)
    assert session.stage(now) is Stage.PLAYING
    session.look(now, q + broken)
    assert session.stage(now) is Stage.STOPPING and 'from its reference' in session.reason
    reference, elapsed, duration = session.ahead(now, 5.0)
    assert duration == pytest.approx(session.stop_duration)
    np.testing.assert_allclose(reference.sample(elapsed)[0], q, atol=1e-9)
    session.doubt(now + 0.1, 'another reason')
    assert 'another' not in session.reason
    assert session.stage(now + session.stop_duration + SETTLING) is Stage.STOPPED


def test_no_motion_from_where_it_cannot_begin(arm):
    robot, plan, pose = arm
    session = ExcitationSession(plan, robot)
    with pytest.raises(StateError, match=r'moves at 0\.5'):
        session.prepare(pose, np.array([0.0, 0.5, 0.0]))
    with pytest.raises(StateError):
        session.prepare(pose, np.full(3, np.nan))
    with pytest.raises(RobotDynamicsError):
        session.prepare(np.full(3, np.nan), np.zeros(3))
    with pytest.raises(StateError, match='is not prepared'):
        session.begin(0.0)
    assert not session.has_begun


def test_an_arm_outside_its_range_begins_at_its_edge_or_not_at_all(arm):
    robot, plan, pose = arm
    name, upper = robot.joint_names[0], robot.limits.upper
    session = ExcitationSession(plan, robot)
    session.prepare(pose, np.zeros(3))
    assert session.notes == ()
    sagging = np.where(np.arange(3) == 0, upper + 0.02, pose)
    session.prepare(sagging, np.zeros(3))
    (note,) = session.notes
    assert note.startswith(f'{name} is at ') and f'begins at {upper[0]:.4g}' in note
    session.begin(0.0)
    reference, elapsed, duration = session.ahead(0.0, 100.0)
    q = reference.sample_many(elapsed + np.linspace(0.0, duration, 500))[0]
    assert np.all(q <= upper) and q[0, 0] == pytest.approx(upper[0], abs=1e-9)
    far = np.where(np.arange(3) == 0, upper + 0.3, pose)
    with pytest.raises(StateError, match=f'{name} is at .*, outside its range'):
        session.prepare(far, np.zeros(3))
    with pytest.raises(StateError, match=name):
        check_approach(plan, robot, *playback(plan, far))


def test_plans_are_checked_against_the_robot(arm, robots):
    robot, plan, _ = arm
    with pytest.raises(TrajectoryError, match='is for the joints'):
        ExcitationSession(plan, robots('arm7'))
    size = plan.motion
    # Limits in the file do not make those of the robot any wider.
    wide = MotionLimits(plan.joint_names, plan.limits.lower - 50.0, plan.limits.upper + 50.0,
                        100.0 * plan.limits.velocity, 100.0 * plan.limits.acceleration,
                        100.0 * plan.limits.effort)
    fast = ExcitationPlan('rpr', RestToRest(size.basis, size.start, 40.0 * size.coefficients),
                          wide)
    with pytest.raises(TrajectoryError, match=r' at .* s is beyond'):
        check_plan(fast, robot)

    def wall(q):
        return plan.motion.extremes()[1][0] - 1e-3 - q[:, 0], 'wall'

    with pytest.raises(TrajectoryError, match='wall the motion comes'):
        check_plan(plan, robot, wall)

    def fence(q):
        return plan.motion.extremes()[1][0] + 1e-3 - q[:, 0], 'fence'

    session = ExcitationSession(plan, robot, clearance=fence)
    with pytest.raises(TrajectoryError, match='fence the way to the start comes'):
        session.prepare(plan.motion.start + np.array([0.5, 0.0, 0.0]), np.zeros(3))
