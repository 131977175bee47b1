# SPDX-License-Identifier: Apache-2.0
import re
import time
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.feedback.loaded_model import FeedforwardModel
from robot_dynamics.control.feedback.typical_motions import typical_motions
from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
from robot_dynamics.control.lq.certificate import ModelErrors, certify
from robot_dynamics.control.lq.design import FeedbackDesign, Schedule
from robot_dynamics.control.lq.gain_table import GainTable
from robot_dynamics.control.lq.rules import rule_of_design
from robot_dynamics.control.session.modes import Cause, Mode
from robot_dynamics.control.session.session import ControlSession, SessionSettings
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import (
    ControlError,
    DimensionError,
    InertiaError,
    ModelError,
    ParameterError,
    StateError,
    StopRequestedError,
)
from robot_dynamics.model.modify import with_payload
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots

T = 0.002


@pytest.fixture(scope='module')
def geared(arm3):
    return replace(arm3, armature=[0.3, 0.2, 0.1], damping=[1.0, 0.5, 0.2],
                   friction=[2.0, 1.0, 0.5])


@pytest.fixture
def states():
    return np.random.default_rng(0).normal(size=(5, 3))


def law_of(robot, **options):
    """A law that nothing stops, judged on the arm as modelled alone: that is faster."""
    return FeedforwardLQController(robot, **{'schedule': Schedule(eps2=100.0),
                                             'errors': ModelErrors(0.0, 0.0, 0.0), **options})


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
def test_is_feedforward_of_the_desired_motion_and_feedback_of_the_error(geared, states, kind):
    q, v, q_d, v_d, a_d = states
    law = law_of(geared, gain=kind)
    tau = law.update(q, v, q_d, v_d, a_d, 0.0, adapt=True).copy()
    forward = (Dynamics(geared).inverse_dynamics(q_d, v_d, a_d)
               + geared.damping * v_d + geared.friction * np.tanh(v_d / 0.05))
    np.testing.assert_allclose(law.tau_model, forward)
    x = np.concatenate([q - q_d, v - v_d])
    np.testing.assert_allclose(tau, forward - law.K @ x)
    rule = rule_of_design(kind, 3, law.design, T, order=law.rule.order)
    K = np.empty((3, 6))
    rule.gain(law.model.linearise(q_d, v_d, a_d), K)
    rule.gain(law.model.linearise(q_d, v_d, a_d), K)
    np.testing.assert_allclose(law.K, K, rtol=0.1, atol=0.05 * np.abs(K).max())
    np.testing.assert_allclose(law.e, q_d - q)
    np.testing.assert_allclose(law.e_dot, v_d - v)
    assert law.error_norm == pytest.approx(np.abs(q_d - q).mean()
                                           + law.design.time_constant * np.abs(v_d - v).mean())


def test_on_the_trajectory_it_is_the_model_alone(geared, states):
    law = law_of(geared)
    _, _, q_d, v_d, a_d = states
    tau = law.update(q_d, v_d, q_d, v_d, a_d, T, adapt=False)
    np.testing.assert_array_equal(tau, law.tau_model)


def test_a_joint_without_end_is_led_the_short_way_round(turning_arm3):
    law = law_of(turning_arm3)
    still = np.zeros(3)
    law.update(np.array([0.0, 0.0, 6.2]), still, still, still, still, T, adapt=False)
    np.testing.assert_allclose(law.e, [0.0, 0.0, 2.0 * np.pi - 6.2])


def test_the_gain_goes_to_its_next_value_without_a_jump(geared):
    """Along a fast motion, updated every 20 ms: no sample changes it by more than its share."""
    law = law_of(geared, schedule=Schedule(update_period=0.02, eps2=100.0))
    gains, phases = [], np.arange(0.0, 1.0, T)
    for t in phases:
        q_d = np.array([1.0, 1.2, 0.8]) * np.sin(6.0 * t)
        v_d = 6.0 * np.array([1.0, 1.2, 0.8]) * np.cos(6.0 * t)
        law.update(q_d, v_d, q_d, v_d, -36.0 * q_d, T, adapt=False)
        gains.append(law.K.copy())
    steps = np.abs(np.diff(gains, axis=0)).max(axis=(1, 2))
    change = np.abs(np.diff(gains[::10], axis=0)).max(axis=(1, 2)).max()
    assert steps.max() < 0.25 * change
    assert law.schedule.counts['updates'] == pytest.approx(50, abs=3)


def test_below_eps0_nothing_is_fed_back(geared, states):
    law = law_of(geared, schedule=Schedule(eps0=1e-3))
    _, _, q_d, v_d, a_d = states
    tau = law.update(q_d + 1e-4, v_d, q_d, v_d, a_d, T, adapt=False)
    np.testing.assert_array_equal(tau, law.tau_model)
    tau = law.update(q_d + 2e-3, v_d, q_d, v_d, a_d, T, adapt=False)
    assert np.abs(tau - law.tau_model).max() > 0.01
    assert law.schedule.counts['skipped'] == 1


def test_weights_follow_the_errors_where_that_is_asked_for(geared, states):
    plain, following = (law_of(geared, schedule=Schedule(update_period=0.0, rescale=rescale,
                                                         eps2=100.0)) for rescale in (1.0, 3.0))
    _, _, q_d, v_d, a_d = states
    off = q_d + [0.01, 0.0, 0.0]
    for law in (plain, following):
        for _ in range(30):
            law.update(off, v_d, q_d, v_d, a_d, T, adapt=False)
    # The joint that is off gets stiffer, the others softer.
    stiffer = np.diag(following.K)[:3] / np.diag(plain.K)[:3]
    assert stiffer[0] > 1.2 and np.all(stiffer[1:] < 0.9)


MAKES_UP = FeedbackDesign(disturbance_rate=5.0)


@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
def test_unknown_torques_are_summed_up_only_where_that_is_allowed(geared, states, kind):
    law = law_of(geared, gain=kind, design=MAKES_UP)
    q_d, v_d, a_d = states[2:]
    off = (q_d - [0.01, -0.02, 0.03], v_d, q_d, v_d, a_d, T)
    first = law.update(*off, adapt=True).copy()
    np.testing.assert_allclose(first, law.tau_model + law.K[:, :6] @ np.r_[law.e, law.e_dot])
    np.testing.assert_allclose(law.disturbance.effort, T * law.K[:, 6:] @ law.e)
    for _ in range(40):
        law.update(*off, adapt=True)
    summed = law.disturbance.effort.copy()
    np.testing.assert_allclose(summed, 41.0 * T * law.K[:, 6:] @ law.e, rtol=0.05)
    # While efforts are cut, the arm is halted or states are missing, it stays, and acts.
    for _ in range(100):
        tau = law.update(*off, adapt=False)
    np.testing.assert_array_equal(law.disturbance.effort, summed)
    np.testing.assert_allclose(tau, law.tau_model + law.tau_feedback + summed)
    # It goes on from there, without a jump, and is forgotten with the rest.
    np.testing.assert_array_equal(law.update(*off, adapt=True), tau)
    law.reset(*states[:2])
    np.testing.assert_array_equal(law.disturbance.effort, 0.0)


def test_without_a_rate_there_is_nothing_to_sum_up(geared, states):
    law = law_of(geared)
    before = law.update(*states, T, adapt=True).copy()
    for _ in range(10):
        after = law.update(*states, T, adapt=True).copy()
    assert law.disturbance is None and law.K.shape == (3, 6)
    np.testing.assert_allclose(after, before, rtol=0.1)


def test_what_is_summed_up_has_a_share_of_the_effort_limits(geared, states):
    law = law_of(geared, design=replace(MAKES_UP, largest_disturbance=0.1))
    q_d, v_d, a_d = states[2:]
    for _ in range(3000):
        law.update(q_d - 0.5, v_d, q_d, v_d, a_d, T, adapt=True)
    np.testing.assert_allclose(np.abs(law.disturbance.effort), 0.1 * geared.limits.effort)
    unlimited = replace(geared, limits=replace(geared.limits, effort=np.full(3, np.nan)))
    law = law_of(unlimited, design=MAKES_UP)
    for _ in range(3000):
        law.update(q_d - 0.5, v_d, q_d, v_d, a_d, T, adapt=True)
    assert np.all(np.isfinite(law.disturbance.effort))
    assert np.all(np.abs(law.disturbance.effort) > geared.limits.effort)


def test_below_eps0_what_is_made_up_for_stays(geared, states):
    law = law_of(geared, design=MAKES_UP, schedule=Schedule(eps0=1e-2))
    q_d, v_d, a_d = states[2:]
    for _ in range(50):
        law.update(q_d - 0.05, v_d, q_d, v_d, a_d, T, adapt=True)
    summed = law.disturbance.effort.copy()
    tau = law.update(q_d - 1e-4, v_d, q_d, v_d, a_d, T, adapt=True)
    np.testing.assert_array_equal(tau, law.tau_model + summed)
    np.testing.assert_array_equal(law.disturbance.effort, summed)


@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
def test_it_begins_as_it_has_held(geared, states, kind):
    """An arm that hangs in its holding effort does not drop when it is to track."""
    law = law_of(geared, gain=kind, design=MAKES_UP)
    pose, still = states[0], np.zeros(3)
    q = pose - 0.01
    for _ in range(100):
        held = law.holding_effort(q, still, pose)
    law.reset(q, still)
    tracked = law.update(q, still, pose, still, still, 0.0, adapt=False)
    np.testing.assert_allclose(tracked, held, rtol=1e-6)


def test_it_rests_in_a_halt_and_is_forgotten_when_the_arm_is_held_anew(arm3):
    """Something pushes the arm away by two thousandths of a radian, all the time."""
    law = FeedforwardLQController(arm3, design=MAKES_UP, schedule=Schedule(eps2=10.0))
    session = ControlSession(arm3, law, SessionSettings(period=T, resume_after=5))
    pose, t, effort = np.array([0.3, 0.4, -0.2]), 100.0, np.zeros(3)

    def tell(samples, speed=0.0, gap=0.0):
        nonlocal pose, t, effort
        t += gap
        for _ in range(samples):
            t, pose = t + T, pose + T * speed
            command = session.on_joint_state(t, t, list(arm3.joint_names), pose,
                                             np.full(3, speed), effort)
            if command is not None:
                effort = command.effort.copy()
    tell(2000)
    assert session.mode is Mode.TRACKING
    tell(100, speed=0.01)
    tell(50)
    assert session.adapted and session.counts['saturated'] == 0
    pushed = law.disturbance.effort.copy()
    assert np.abs(pushed).max() > 0.1
    session.halt()
    tell(200)
    assert session.mode is Mode.HALTED
    halted, before = law.disturbance.effort.copy(), effort
    np.testing.assert_allclose(halted, pushed)
    session.resume()
    tell(1)
    assert session.mode is Mode.TRACKING
    np.testing.assert_allclose(effort, before, rtol=0.01, atol=0.01 * np.abs(halted).max())
    tell(20)
    assert np.abs(law.disturbance.effort).max() > np.abs(halted).max()
    session.on_tick(t + 1.0)
    assert session.mode is Mode.SAFE
    tell(2000, gap=1.0)
    assert session.mode is Mode.TRACKING
    # It holds where the arm was found: there is no error there, and nothing made up for.
    np.testing.assert_allclose(law.disturbance.effort, 0.0, atol=1e-9)


def test_a_table_of_another_design_is_refused(geared, states):
    law = law_of(geared, design=MAKES_UP)
    motion = tuple(x[None] for x in states[2:])
    with pytest.raises(DimensionError, match='got 3 with 6'):
        law.follow(GainTable.along(rule_of_design('riccati', 3, FeedbackDesign(), T), law.model,
                                   *motion, 0.01))
    law.follow(GainTable.along(rule_of_design('riccati', 3, MAKES_UP, T), law.model, *motion,
                               0.01))
    before = law.from_table
    law.update(*states[:2], *states[2:], T, adapt=True)
    assert law.from_table == before + 1


@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
def test_gains_come_from_a_table_where_there_is_one(geared, kind):
    law = law_of(geared, gain=kind, schedule=Schedule(update_period=0.0, eps2=100.0))
    times = np.arange(0.0, 0.5, 0.01)[:, None]
    motion = (np.sin(times) * [1.0, 2.0, 3.0], np.cos(times) * [1.0, 2.0, 3.0],
              -np.sin(times) * [1.0, 2.0, 3.0])
    rule = rule_of_design(kind, 3, law.design, T, order=law.rule.order)
    law.follow(GainTable.along(rule, law.model, *motion, 0.01))
    before = law.from_table
    for q_d, v_d, a_d in zip(*motion, strict=True):
        law.update(q_d, v_d, q_d, v_d, a_d, 0.01, adapt=False)
    assert law.from_table - before == 50
    ahead = law.K.copy()
    assert law.follows_table
    law.carry(with_payload(geared, 0.5, (0.1, 0.0, 0.0)).inertial_parameters
              - geared.inertial_parameters, 0.0)
    assert not law.follows_table
    law.update(motion[0][-1], motion[1][-1], motion[0][-1], motion[1][-1], motion[2][-1], 0.01,
               adapt=False)
    assert law.from_table - before == 50
    assert np.abs(law.K - ahead).max() > 0.05 * np.abs(ahead).max()


def test_a_load_taken_up_makes_no_jump(geared, states):
    law = law_of(geared, gain='one_step')
    q, v, q_d, v_d, a_d = states
    q, v = q_d + 0.01, v_d - 0.05
    load = with_payload(geared, 2.0, (0.1, 0.0, 0.05)).inertial_parameters \
        - geared.inertial_parameters
    efforts = []
    for k in range(400):
        if k == 50:
            law.carry(load, 0.5)
        law.advance(T)
        efforts.append(law.update(q, v, q_d, v_d, a_d, T, adapt=False).copy())
    steps, change = np.abs(np.diff(efforts, axis=0)), np.abs(efforts[-1] - efforts[0])
    assert change.max() > 10.0
    # A smooth step over 250 samples is 1.5 of its mean at its steepest.
    assert np.all(steps.max(axis=0) < 2.0 / 250.0 * change + 0.02 * change.max() / 250.0 * 5.0)
    loaded = law_of(with_payload(geared, 2.0, (0.1, 0.0, 0.05)), gain='one_step',
                    order=law.rule.order)
    wanted = loaded.update(q, v, q_d, v_d, a_d, T, adapt=False)
    np.testing.assert_allclose(efforts[-1], wanted, rtol=1e-9)


@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
def test_a_pose_is_held_by_the_gain_that_is_certified_there(geared, states, kind):
    """Whatever weights followed errors before, and without what the integral would add."""
    law = law_of(geared, gain=kind, design=MAKES_UP,
                 schedule=Schedule(update_period=0.0, rescale=3.0, eps2=100.0))
    q, v, pose, *_ = states
    for _ in range(30):
        law.update(*states, T, adapt=False)
    for _ in range(200):
        tau = law.holding_effort(q, v, pose)
    still = np.zeros((1, 3))
    K = rule_of_design(kind, 3, MAKES_UP, T, order=law.rule.order).gains_at(
        law.model.linearise(pose[None], still, still))[0]
    wanted = Dynamics(geared).gravity_torque(pose) - K[:, :6] @ np.concatenate([q - pose, v])
    np.testing.assert_allclose(tau, wanted, rtol=1e-6)


def test_the_safe_command_brakes_as_designed_or_as_the_loop_can(geared, states):
    q, v, *_ = states
    dynamics = Dynamics(geared)
    M = dynamics.mass_matrix(q)
    for period, delay, damping in ((T, T, FeedbackDesign().damping), (0.01, 0.002, 0.5 / 0.007)):
        law = law_of(geared, period=period, delay=delay)
        np.testing.assert_allclose(law.safe_effort(q, v),
                                   dynamics.gravity_torque(q) - damping * M @ v)


def test_an_excessive_error_makes_the_session_safe_with_the_reason(arm3):
    """Somebody pushes the elbow away at 2.5 rad/s."""
    law = FeedforwardLQController(arm3, schedule=Schedule(eps2=0.07, debounce=3))
    session = ControlSession(arm3, law, SessionSettings(period=T))
    pose, t, effort = np.array([0.3, 0.4, -0.2]), 100.0, np.zeros(3)

    def tell(speed):
        nonlocal pose, t, effort
        t, pose = t + T, pose + T * speed
        command = session.on_joint_state(t, t, list(arm3.joint_names), pose, speed, effort)
        effort = command.effort.copy()
        return command
    for _ in range(2000):
        tell(np.zeros(3))
    assert session.mode is Mode.TRACKING
    norms = []
    while session.mode is Mode.TRACKING:
        tell(np.array([0.0, 2.5, 0.0]))
        norms.append(law.error_norm)
    assert np.all(np.array(norms[:-3]) <= 0.07) and np.all(np.array(norms[-3:]) > 0.07)
    assert session.mode is Mode.SAFE
    assert session.cause is Cause.CONTROLLER_STOPS and not session.cause.passes
    assert 'eps2' in session.reason and 'requests a stop' in session.reason
    command = tell(np.zeros(3))
    assert command.is_safe
    np.testing.assert_allclose(command.effort, Dynamics(arm3).gravity_torque(pose))


@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
@pytest.mark.parametrize('name', sorted(shipped_robots()))
def test_every_shipped_robot_has_a_certified_feedback(name, kind):
    path = shipped_robots()[name]
    robot = Robot.from_dh(path) if path.suffix == '.yaml' else Robot.from_urdf(path)
    law = FeedforwardLQController(robot, gain=kind)
    assert law.certificate.is_stable and len(law.certificate.verdicts) == 8
    still = np.zeros(robot.n)
    assert np.all(np.isfinite(law.update(still, still, still, still, still, T, adapt=False)))


def test_it_does_not_start_with_an_unstable_feedback(arm3):
    with pytest.raises(ControlError, match='unstable') as caught:
        FeedforwardLQController(arm3, design=FeedbackDesign(400.0, 0.005))
    assert caught.value.subject == 'feedback'
    # Nor where only weights that follow errors would make it so.
    stiff = {'design': FeedbackDesign(80.0, 1.0 / 80.0), 'gain': 'one_step'}
    FeedforwardLQController(arm3, **stiff)
    with pytest.raises(ControlError, match='unstable'):
        FeedforwardLQController(arm3, schedule=Schedule(rescale=10.0), **stiff)
    # The same is stable where the loop is fast enough.
    FeedforwardLQController(arm3, design=FeedbackDesign(400.0, 0.005), period=1e-4, delay=1e-4)


@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
def test_gains_may_not_be_older_than_the_arm_allows(kind):
    """In 0.2 s a wrist at half its speed is somewhere else, and the gain it then has unstable."""
    arm7 = Robot.from_urdf(shipped_robots()['arm7'])
    law_of(arm7, gain=kind, schedule=Schedule(update_period=0.05))
    with pytest.raises(ControlError, match='too long for this arm') as caught:
        law_of(arm7, gain=kind, schedule=Schedule(update_period=0.2))
    assert caught.value.subject == 'update_period' and '0.01 s' in caught.value.remedy


def test_it_is_judged_with_what_it_carries(arm3):
    law = law_of(arm3)
    assert law.certified_load is law.model.load
    empty = law.certificate
    load = with_payload(arm3, 1.0, (0.1, 0.0, 0.0)).inertial_parameters - arm3.inertial_parameters
    law.carry(load, 0.0)
    assert law.certified_load is not law.model.load
    law.certify()
    assert law.certified_load is law.model.load
    loaded = law_of(with_payload(arm3, 1.0, (0.1, 0.0, 0.0)), order=law.rule.order).certificate
    assert [v.radius for v in law.certificate.verdicts] == pytest.approx(
        [v.radius for v in loaded.verdicts], rel=1e-9)
    assert law.certificate.worst.radius != pytest.approx(empty.worst.radius, rel=1e-6)


@pytest.mark.parametrize('kind', ['one_step', 'riccati'])
def test_gains_of_a_payload_are_for_an_arm_that_has_it(kind):
    """docs/controllers.md: it is to be told of 1 kg when that is in the hand, not before."""
    arm7 = Robot.from_urdf(shipped_robots()['arm7'])
    loaded = with_payload(arm7, 1.0, (0.02, 0.0, 0.18), frame='flange')
    motions = typical_motions(arm7)
    motion = tuple(x[:40] for x in (motions.q, motions.v, motions.a))
    rule = rule_of_design(kind, 7, FeedbackDesign(), T)
    gains = rule.gains_at(FeedforwardModel(loaded).linearise(*motion))
    there, gone = (certify(rule, arm, *motion, period=T, delay=T, gains=gains,
                           errors=ModelErrors(0.0, 0.0, 0.0)) for arm in (loaded, arm7))
    assert there.is_stable and gone.worst.radius > 1.2


SMALL = """
<robot name="small"><link name="base"/>
  <link name="rod"><inertial><origin xyz="0.1 0.02 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="{kind}"><parent link="base"/><child link="rod"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="50"/></joint>{more}
</robot>"""
FINGERS = """
  <link name="left"><inertial><origin xyz="0 0.1 0"/><mass value="0.4"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><origin xyz="0 0.1 0"/><mass value="0.4"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="left_finger" type="prismatic"><parent link="rod"/><child link="left"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="50"/></joint>
  <joint name="right_finger" type="prismatic"><parent link="rod"/><child link="right"/>
    <axis xyz="0 -1 0"/><limit lower="-2" upper="2" velocity="3" effort="50"/>{mimic}</joint>"""
MIMIC = '<mimic joint="left_finger" multiplier="-0.5"/>'


@pytest.mark.parametrize(('gain', 'rate'), [('one_step', 0.0), ('one_step', 3.0),
                                            ('riccati', 0.0), ('riccati', 3.0)])
@pytest.mark.parametrize('text', [
    SMALL.format(kind='revolute', more=''), SMALL.format(kind='prismatic', more=''),
    SMALL.format(kind='continuous', more=FINGERS.format(mimic='')),
    SMALL.format(kind='revolute', more=FINGERS.format(mimic=MIMIC)),
], ids=['hinge', 'slide', 'tree', 'mimic'])
def test_arms_of_every_kind(text, gain, rate):
    robot = Robot.from_urdf(text)
    law = law_of(robot, gain=gain, design=FeedbackDesign(disturbance_rate=rate))
    q, v, q_d, v_d, a_d = np.random.default_rng(3).normal(size=(5, robot.n)) * 0.1
    for _ in range(2):
        tau = law.update(q, v, q_d, v_d, a_d, T, adapt=True)
    assert tau.shape == (robot.n,) and np.all(np.isfinite(tau))
    # All joints are as stiff as was asked for, and make up for torques as soon.
    gains = np.linalg.solve(law.model.mass_matrix(q_d), law.K)
    stiffness = np.diag(gains[:, :robot.n])
    np.testing.assert_allclose(stiffness, law.design.stiffness + rate * law.design.damping,
                               rtol=0.15)
    if rate:
        np.testing.assert_allclose(np.diag(gains[:, 2 * robot.n:]), rate * law.design.stiffness,
                                   rtol=0.15)


@pytest.mark.parametrize('gain', ['one_step', 'riccati'])
def test_a_joint_that_moves_no_mass_is_named(gain):
    weightless = re.sub('<link name="left">.*?</link>', '<link name="left"/>',
                        SMALL.format(kind='revolute', more=FINGERS.format(mimic='')), flags=re.S)
    with pytest.raises(InertiaError, match='moves no mass') as caught:
        FeedforwardLQController(Robot.from_urdf(weightless), gain=gain)
    assert caught.value.subject == 'left_finger'


def test_certificate_along_a_trajectory(arm3, states):
    law = law_of(arm3, errors=ModelErrors(10.0, 0.0, 0.0))
    certificate = law.certify_along(*(x[None] for x in states[2:]))
    assert certificate.is_stable and len(certificate.q) == 1
    assert [verdict.arm for verdict in certificate.verdicts] == [
        'as modelled', 'masses +10 %', 'masses -10 %', 'all more', 'all less']


@pytest.mark.parametrize('place', range(5))
@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_what_is_not_finite_is_named_and_forgotten(geared, states, place, value):
    law = law_of(geared, schedule=Schedule(rescale=2.0, eps2=100.0))
    good = law.update(*states, T, adapt=False).copy()
    bad = states.copy()
    bad[place, 1] = value
    with pytest.raises(StateError) as caught:
        law.update(*bad, T, adapt=False)
    assert caught.value.subject == 'elbow'
    law.reset(*states[:2])
    again = [law.update(*states, T, adapt=False).copy() for _ in range(200)][-1]
    np.testing.assert_allclose(again, good, rtol=0.1, atol=0.05 * np.abs(good).max())


def test_read_only_and_strided_arguments_give_the_same(geared, states):
    plain = law_of(geared).update(*states, T, adapt=False).copy()
    states.setflags(write=False)
    np.testing.assert_array_equal(law_of(geared).update(*states, T, adapt=False), plain)
    strided = [np.repeat(x, 2)[::2] for x in states]
    np.testing.assert_array_equal(law_of(geared).update(*strided, T, adapt=False), plain)


@pytest.mark.parametrize('place', range(5))
def test_vectors_of_another_length_are_refused(geared, states, place):
    law = law_of(geared)
    for length in (0, 2, 4):
        wrong = list(states)
        wrong[place] = np.zeros(length)
        with pytest.raises(DimensionError) as caught:
            law.update(*wrong, T, adapt=False)
        assert caught.value.subject and 'wrist' in caught.value.remedy
    table = GainTable(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 2, 4)), 0.1)
    with pytest.raises(DimensionError, match='got 2 with 4'):
        law.follow(table)
    with pytest.raises(DimensionError):
        table.find(np.zeros(3), np.zeros(2))


@pytest.mark.parametrize('dt', [np.nan, -1.0, 0.0, np.inf, 1e9])
def test_no_time_step_does_harm(geared, states, dt):
    law = law_of(geared)
    for _ in range(3):
        assert np.all(np.isfinite(law.update(*states, dt, adapt=False)))
    assert np.all(np.isfinite(law.update(*states, T, adapt=False)))


@pytest.mark.parametrize(('options', 'error', 'subject'), [
    ({'gain': 'pid'}, ParameterError, 'gain'), ({'period': 0.0}, ParameterError, 'period'),
    ({'delay': np.nan}, ParameterError, 'delay'), ({'order': 0}, ParameterError, 'series_order'),
    ({'gain': np.ones((2, 2))}, ParameterError, 'gain'),
    ({'period': 1e-300}, ParameterError, 'period'), ({'period': 1e3}, ParameterError, 'period'),
])
def test_wrong_settings_are_named(arm3, options, error, subject):
    with pytest.raises(error) as caught:
        FeedforwardLQController(arm3, **options)
    assert caught.value.subject == subject


def test_what_floats_is_refused():
    floating = Robot.from_urdf(shipped_robots()['arm7'], floating_base=True)
    with pytest.raises(ModelError, match='feedforward and LQ'):
        FeedforwardLQController(floating)


def test_the_stop_is_an_error_of_control(arm3):
    law = FeedforwardLQController(arm3, schedule=Schedule(eps2=0.1, debounce=1))
    still = np.zeros(3)
    with pytest.raises(StopRequestedError) as caught:
        law.update(still + 1.0, still, still, still, still, T, adapt=False)
    assert isinstance(caught.value, ControlError) and caught.value.remedy


def test_an_answer_takes_microseconds(slowness):
    """The median on a quiet machine is half of this; see benchmark/lq.py."""
    arm7 = Robot.from_urdf(shipped_robots()['arm7'])
    law = FeedforwardLQController(arm7, schedule=Schedule(eps1=50.0, eps2=100.0))
    q, still, best = np.full(7, 0.3), np.zeros(7), np.inf
    for _ in range(500):
        start = time.perf_counter()
        law.update(q, still, q, still, still, T, adapt=False)
        best = min(best, time.perf_counter() - start)
    assert best < 12e-6 * slowness()
