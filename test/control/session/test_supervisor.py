# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from robot_dynamics import Dynamics, Robot
from robot_dynamics.control.session.modes import Cause
from robot_dynamics.control.session.supervisor import (
    BOTH,
    NONE,
    POSITION,
    VELOCITY,
    LatenessCounter,
    MotionSupervisor,
)
from robot_dynamics.model.modify import with_payload

PERIOD = 0.002
POSE = np.array([0.0, 0.4, 0.0, -1.5, 0.0, 1.6, 0.0])


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf('arm7')


def motion(t):
    """Position and velocity of a motion with 0.28 of the speed limits of arm7."""
    omega, size = 2.5, 0.6
    return POSE + size / omega * math.sin(omega * t), np.full(7, size * math.cos(omega * t))


def watch(supervisor, lie, *, begin=1.0, end=6.0):
    """Time from the begin of a lie to the finding, and the finding; None without one."""
    supervisor.begin(*(motion(0.0)[0], 0.0))
    for t in np.arange(PERIOD, end, PERIOD):
        q, v = motion(t)
        if t >= begin:
            q, v = lie(t - begin, q.copy(), v.copy())
        finding = supervisor.check_state(q, v, t)
        if finding is not None:
            return t - begin, finding
    return None


def test_an_honest_arm_is_never_suspected(robot):
    """Noise, resolution, and a velocity that a driver filters with 15 ms."""
    supervisor, rng = MotionSupervisor(robot), np.random.default_rng(0)
    filtered = np.zeros(7)

    def honest(_, q, v):
        filtered[:] += (1.0 - math.exp(-PERIOD / 0.015)) * (v - filtered)
        return (np.round(q / 1e-3) * 1e-3 + rng.normal(0.0, 2e-4, 7),
                filtered + rng.normal(0.0, 0.05, 7))

    assert watch(supervisor, honest, begin=0.0, end=20.0) is None
    assert not supervisor.lies.any()


def test_lost_states_are_bridged(robot):
    supervisor, rng = MotionSupervisor(robot), np.random.default_rng(1)
    supervisor.begin(motion(0.0)[0], 0.0)
    for t in np.arange(PERIOD, 20.0, PERIOD):
        if rng.random() < 0.3 or 5.0 < t < 5.3:
            continue
        assert supervisor.check_state(*motion(t), t) is None


def with_joint(joint, q=None, v=None):
    def lie(t, positions, velocities):
        if q is not None:
            positions[joint] = q(t, positions[joint])
        if v is not None:
            velocities[joint] = v(t, velocities[joint])
        return positions, velocities
    return lie


@pytest.mark.parametrize(('lie', 'within', 'wrong'), [
    ({'v': lambda t, v: -v}, 0.04, VELOCITY),
    ({'v': lambda t, v: 3.0}, 0.03, VELOCITY),
    ({'v': lambda t, v: 0.0}, 0.05, VELOCITY),
    ({'v': lambda t, v: 2.0 * v}, 0.10, VELOCITY),
    ({'q': lambda t, q: q + 3.0 * t}, 0.03, POSITION),
    ({'q': lambda t, q: q + 0.1}, 0.01, POSITION),
    ({'q': lambda t, q: q - 1.5 * t}, 0.06, POSITION)])
def test_a_wrong_measurement_is_found_and_named(robot, lie, within, wrong):
    supervisor = MotionSupervisor(robot)
    time, finding = watch(supervisor, with_joint(3, **lie), begin=2.4)
    assert finding.cause is Cause.INCONSISTENT and finding.joint == 3
    assert finding.detail.startswith('joint4 ')
    assert time <= within
    assert supervisor.lies.tolist() == [NONE] * 3 + [wrong] + [NONE] * 3


def test_a_single_wrong_measurement_is_no_fault(robot):
    supervisor = MotionSupervisor(robot)
    lie = with_joint(2, v=lambda t, v: 6.0 if round(t / PERIOD) % 250 == 0 else v)
    assert watch(supervisor, lie, end=10.0) is None


def follow(supervisor, moves, force, *, end=1.0, reference=0.9):
    """Finding where joint 2 is asked to move; `moves` and `force` are its position and effort."""
    q, q_d, effort = POSE.copy(), POSE.copy(), np.zeros(7)
    supervisor.begin(q, 0.0)
    supervisor.begin_following(q, q_d, effort)
    for t in np.arange(PERIOD, end, PERIOD):
        q_d[1] = POSE[1] + reference * t
        q[1], effort[1] = POSE[1] + moves(t), force(t)
        supervisor.check_state(q, np.zeros(7), t)
        finding = supervisor.check_following(q, q_d, effort, PERIOD)
        if finding is not None:
            return t, finding
    return None


def test_a_joint_that_does_not_follow_is_found(robot):
    supervisor = MotionSupervisor(robot)
    time, finding = follow(supervisor, lambda t: 0.0, lambda t: 1000.0 * t)
    assert finding.cause is Cause.NOT_FOLLOWING and finding.joint == 1
    assert time == pytest.approx(0.03 / 0.9, abs=0.004)
    assert supervisor.lies[1] == BOTH
    # Free, it would have gained what the effort gives it.
    inertia = Dynamics(robot).mass_matrix(POSE)[1, 1]
    assert supervisor.slope[1] == pytest.approx(500.0 * time**2 / inertia, rel=0.1)


def test_a_joint_that_moves_again_is_measured_again(robot):
    supervisor = MotionSupervisor(robot)
    time, _ = follow(supervisor, lambda t: 0.0, lambda t: 1000.0 * t)
    q, v = POSE.copy(), np.zeros(7)
    for k in range(1, 100):
        supervisor.check_state(q, v, time + PERIOD * k)
    assert supervisor.lies[1] == BOTH
    # A tenth of the distance within which it had to move.
    while q[1] < POSE[1] + 0.003:
        assert supervisor.lies[1] == BOTH
        k, q[1], v[1] = k + 1, q[1] + 0.5 * PERIOD, 0.5
        supervisor.check_state(q, v, time + PERIOD * k)
    assert not supervisor.lies.any()


@pytest.mark.parametrize(('moves', 'force'), [
    (lambda t: 0.9 * (t - 0.01), lambda t: 1000.0 * t),  # late by 10 ms
    (lambda t: 0.2 * t, lambda t: 1000.0 * t),           # by far too slow
    (lambda t: 0.0, lambda t: 8.0)])                     # less effort than friction may take
def test_a_joint_that_follows_badly_is_left_to_other_guards(robot, moves, force):
    assert follow(MotionSupervisor(robot), moves, force) is None


def test_an_arm_that_stands_still_altogether_is_named_so(robot):
    supervisor = MotionSupervisor(robot)
    supervisor.begin(POSE, 0.0)
    supervisor.begin_following(POSE, POSE, np.zeros(7))
    for t in np.arange(PERIOD, 1.0, PERIOD):
        supervisor.check_state(POSE, np.zeros(7), t)
        finding = supervisor.check_following(POSE, POSE + 0.5 * t, np.full(7, 1000.0 * t), PERIOD)
        if finding is not None:
            break
    assert finding.joint == -1 and 'protective stop' in finding.detail
    assert not supervisor.lies.any() and t < 0.2


@pytest.mark.parametrize('payload', [0.0, 2.0])
@pytest.mark.parametrize('reversed_joint', [None, 1, 3])
def test_an_effort_of_the_wrong_sign_is_found_at_once(robot, payload, reversed_joint):
    """The arm is let go from rest with the gravity of its model, as when control begins."""
    real = Dynamics(with_payload(robot, payload, (0.0, 0.0, 0.1), frame='flange')
                    if payload else robot)
    supervisor = MotionSupervisor(robot)
    q, v = POSE.copy(), np.zeros(7)
    effort = Dynamics(robot).gravity_torque(q)
    acting = effort.copy()
    if reversed_joint is not None:
        acting[reversed_joint] *= -1.0
    supervisor.begin(q, 0.0)
    finding = None
    for k in range(25):
        for _ in range(20):
            v = v + 1e-4 * real.forward_dynamics(q, v, acting)
            q = q + 1e-4 * v
        finding = supervisor.check_obedience(q, v, PERIOD, effort)
        if finding is not None:
            found_at = k * PERIOD
            break
    if reversed_joint is None:
        assert finding is None
    else:
        assert finding.cause is Cause.MOVES_AGAINST and finding.joint == reversed_joint
        assert found_at <= 0.014 and 'sign' in finding.detail


def test_late_states_are_counted():
    counter = LatenessCounter(0.01)
    assert not any(counter.count(0.001, PERIOD) for _ in range(1000))
    # Single late ones do no harm.
    assert not any(counter.count(0.04 if k % 4 == 0 else 0.001, PERIOD) for k in range(1000))
    counter = LatenessCounter(0.01)
    late = [counter.count(0.012, PERIOD) for _ in range(50)]
    assert 10 <= late.index(True) <= 15
    assert counter.age == pytest.approx(0.012)
    prompt = [counter.count(0.001, PERIOD) for _ in range(300)]
    assert not prompt[-1] and prompt.index(False) > 20
    assert [counter.count(0.04, PERIOD) for _ in range(2)] == [False, True]


def test_a_late_state_counts_for_the_time_in_which_the_last_effort_acted():
    """Of five states one is late, but for most of the time the arm has an effort that is."""
    counter = LatenessCounter(0.01)
    late = [counter.count(0.06 if k % 5 == 0 else 0.001, 0.06 if k % 5 == 0 else PERIOD)
            for k in range(20)]
    # One delay of the machine does no harm.
    assert not any(late[:5]) and late[5]
