# SPDX-License-Identifier: Apache-2.0
"""Joint states: publishers, rate, stamps, names, fields, motion and efforts."""

import math
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.joint_states import (
    REMEDIES,
    SEQUENCE_REMEDIES,
    check_fields,
    check_joint_states,
    check_names,
    check_publishers,
    check_rate,
    check_rejections,
    check_stamps,
)
from robot_dynamics.bringup.doctor.replay import (
    EffortPattern,
    check_efforts,
    check_motion,
    clock_at,
    effort_pattern,
    replay,
    uses_simulated_time,
)
from robot_dynamics.bringup.doctor.requirements import StateRequirements
from robot_dynamics.control.states.joint_state import Reason
from robot_dynamics.nodes.observing.graph_snapshot import (
    JOINT_STATE_TYPE,
    ClockSample,
    Endpoint,
    Topic,
)

TOPIC = '/joint_states'
SECOND = 1_000_000_000
NAN = float('nan')


def publishers(*names):
    return Topic(TOPIC, tuple(Endpoint(name, JOINT_STATE_TYPE) for name in names))


def content(robot, samples):
    return check_rejections(TOPIC, replay(samples, robot, StateRequirements(), simulated=False))


def test_a_healthy_system(healthy, robot, is_well):
    results = check_joint_states(healthy, robot)
    assert is_well(results)
    given = ' '.join(result.message for result in results)
    for words in ('published by /driver', '500 Hz', "stamps are this machine's time",
                  'the 7 joints of the description', 'efforts are joint torques: 1.00 times'):
        assert words in given


def test_motors_of_elastic_joints_are_checked_by_the_names_of_the_joints(
        healthy, robot, controller, is_well):
    elastic = replace(controller, name='/elastic_pd_controller',
                      subscribes={'/motor_states': (JOINT_STATE_TYPE,)}, publishes={
                          name.replace('adaptive', 'elastic_pd'): types
                          for name, types in controller.publishes.items()},
                      parameters={**controller.parameters, 'motor_prefix': 'motor_'})
    together = tuple(replace(
        sample, names=sample.names + tuple(f'motor_{name}' for name in sample.names),
        position=(NAN,) * robot.n + sample.position, effort=(NAN,) * robot.n + sample.effort,
        velocity=(NAN,) * robot.n + sample.velocity) for sample in healthy.states)
    for states in (together, tuple(replace(sample, names=sample.names[robot.n:],
                                           **{field: getattr(sample, field)[robot.n:]
                                              for field in ('position', 'velocity', 'effort')})
                                   for sample in together)):
        results = check_joint_states(replace(healthy, nodes=(elastic, *healthy.nodes[1:]),
                                       states=states), robot)
        assert is_well(results)
        assert 'the 7 joints of the description' in ' '.join(
            result.message for result in results)
    # A driver with states of links only is an error.
    links_only = replace(healthy, nodes=(elastic, *healthy.nodes[1:]))
    results = check_joint_states(links_only, robot)
    assert any(result.level is Level.ERROR and 'any joint of the description' in result.message
               for result in results), results
    # One with the motors on another topic is not; links have no efforts.
    topic = Topic('/motor_states', (Endpoint('/driver', JOINT_STATE_TYPE),))
    results = check_joint_states(replace(
        links_only, topics={**healthy.topics, topic.name: topic},
        states=tuple(replace(sample, effort=()) for sample in healthy.states)), robot)
    assert is_well(results)
    (given,) = [result for result in results if result.subject == topic.name]
    assert given.message == 'has the states that elastic_pd_controller uses; published by /driver'


def test_without_a_description_the_rest_is_judged(healthy, is_well):
    results = check_joint_states(healthy, None)
    assert is_well(results) and len(results) == 3


def test_no_publisher(healthy, robot, with_topic):
    (result,) = check_joint_states(
        replace(with_topic(healthy, TOPIC, publishers=()), states=()), robot)
    assert result.level is Level.ERROR and 'has no publisher' in result.message


def test_published_and_silent(healthy, robot, worst):
    result = worst(check_joint_states(replace(healthy, states=()), robot), Level.ERROR)
    assert 'no message' in result.message


@pytest.mark.parametrize(('names', 'wanted', 'level'), [
    (['/a'], 1, Level.OK), (['/a', '/b'], 2, Level.OK), (['/a', '/b'], 0, Level.OK),
    (['/a', '/b'], 1, Level.ERROR), (['/a'], 2, Level.ERROR)])
def test_how_many_publish(stream, names, wanted, level):
    (result,) = check_publishers(
        publishers(*names), stream(4), StateRequirements(state_publishers=wanted))
    assert result.level is level
    assert ', '.join(names) in result.message


def test_two_halves_of_an_arm(stream):
    halves = stream(4, change=lambda k, s: replace(s, names=s.names[:3] if k % 2 else s.names[3:]))
    (result,) = check_publishers(publishers('/a', '/b'), halves, StateRequirements())
    assert result.level is Level.WARNING
    assert result.remedy == 'if that is intended set state_publishers to 2'


def renamed(prefix):
    return lambda k, s: replace(s, names=tuple(prefix + name for name in s.names))


def test_the_joints_of_the_description(robot, stream):
    (result,) = check_names(TOPIC, stream(3), robot)
    assert result.level is Level.OK


def test_a_prefix_on_one_side(robot, stream):
    (result,) = check_names(TOPIC, stream(3, change=renamed('left_')), robot)
    assert result.level is Level.ERROR
    assert 'does not have any joint of the description; it has left_joint1' in result.message
    assert "give the description the prefix 'left_'" in result.remedy
    prefixed = replace(robot, joint_names=tuple(f'left_{name}' for name in robot.joint_names))
    (result,) = check_names(TOPIC, stream(3), prefixed)
    assert "give the driver the prefix 'left_'" in result.remedy


def test_another_arm(robot, stream):
    (result,) = check_names(TOPIC, stream(3, change=lambda k, s: replace(
        s, names=tuple('abcdefg'))), robot)
    assert result.level is Level.ERROR and 'another arm' in result.remedy


def test_a_joint_that_is_missing(robot, stream):
    (result,) = check_names(TOPIC, stream(3, change=lambda k, s: replace(
        s, names=s.names[:6], position=s.position[:6])), robot)
    assert result.level is Level.ERROR
    assert result.message.startswith('does not have joint7; it has joint1')


def test_further_joints_and_another_order_do_not_matter(robot, stream):
    samples = stream(3, change=lambda k, s: replace(s, names=(*s.names[::-1], 'finger')))
    first, second = check_names(TOPIC, samples, robot)
    assert first.level is second.level is Level.NOTE
    assert 'finger' in first.message and 'order' in second.message


def test_names_that_are_wrong_are_the_last_word(healthy, robot, stream, worst):
    graph = replace(healthy, states=stream(change=renamed('left_')))
    result = worst(check_joint_states(graph, robot), Level.ERROR)
    assert 'left_' in result.message


@pytest.mark.parametrize(('change', 'reason'), [
    (lambda s: replace(s, position=(NAN, *s.position[1:])), Reason.NOT_FINITE),
    (lambda s: replace(s, position=()), Reason.NO_POSITION),
    (lambda s: replace(s, velocity=s.velocity[:3]), Reason.LENGTH),
    (lambda s: replace(s, names=(s.names[0], *s.names[:6])), Reason.REPEATED_NAME),
    (lambda s: replace(s, position=tuple(x + 1.0 for x in s.position)), Reason.JUMP)])
@pytest.mark.parametrize(('share', 'level'), [(2, Level.ERROR), (50, Level.WARNING)])
def test_messages_that_are_turned_away(robot, stream, change, reason, share, level):
    samples = stream(200, change=lambda k, s: change(s) if k % share == 1 else s)
    (result,) = content(robot, samples)
    assert result.level is level
    assert f'{200 // share} of 200 messages rejected: {reason.value}' in result.message
    assert result.remedy == REMEDIES[reason]


def test_every_reason_is_spoken_of():
    # Those of time by the age of stamps, foreign joints and parts by the names.
    elsewhere = {Reason.ACCEPTED, Reason.WAITING, Reason.FOREIGN, Reason.FUTURE, Reason.STALE}
    assert {*REMEDIES, *SEQUENCE_REMEDIES} == set(Reason) - elsewhere


def test_joints_that_are_never_in_one_state(robot, stream):
    samples = stream(20, change=lambda k, s: replace(
        s, names=s.names[:6], position=s.position[:6], velocity=(), effort=()))
    (result,) = content(robot, samples)
    assert result.level is Level.ERROR and 'never has all joints' in result.message


def test_implausible_velocities(robot, stream):
    (result,) = content(robot, stream(20, change=lambda k, s: replace(
        s, velocity=tuple(1e3 for _ in s.velocity))))
    assert result.level is Level.WARNING
    assert '(20 times)' in result.message


@pytest.mark.parametrize('missing', [(), (NAN,) * 7])
def test_fields_that_are_missing(robot, stream, missing):
    names = robot.joint_names
    samples = stream(20, change=lambda k, s: replace(s, velocity=missing, effort=missing))
    first, second = check_fields(TOPIC, samples, names, StateRequirements())
    assert first.level is second.level is Level.WARNING
    assert 'no velocities' in first.message and 'effort_kind to none' in second.remedy
    assert check_fields(TOPIC, stream(20), names, StateRequirements()) == []
    # Who does not use efforts does not miss them.
    results = check_fields(TOPIC, samples, names, StateRequirements(effort_kind='none'))
    assert results[1].level is Level.NOTE


def test_a_finger_without_velocity_is_accepted(robot, stream):
    samples = stream(20, change=lambda k, s: replace(
        s, names=(*s.names, 'finger'), position=(*s.position, 0.0), velocity=(*s.velocity, NAN),
        effort=(*s.effort, NAN)))
    assert check_fields(TOPIC, samples, robot.joint_names, StateRequirements()) == []


def test_a_good_stream_is_taken_as_it_is(robot, stream):
    samples = stream(50)
    replayed = replay(samples, robot, StateRequirements(), simulated=False)
    assert replayed.counts[Reason.ACCEPTED] == replayed.total == 50
    np.testing.assert_allclose(replayed.q, [sample.position for sample in samples])
    np.testing.assert_allclose(replayed.effort, [sample.effort for sample in samples])
    np.testing.assert_allclose(np.diff(replayed.time), 0.002, atol=1e-8)


def test_joints_are_matched_by_name(robot, stream):
    samples = stream(5, change=lambda k, s: replace(
        s, names=s.names[::-1], position=s.position[::-1], velocity=s.velocity[::-1],
        effort=s.effort[::-1]))
    replayed = replay(samples, robot, StateRequirements(), simulated=False)
    np.testing.assert_allclose(replayed.q[0], stream(1)[0].position)


def test_without_a_robot_the_joints_are_those_named(stream):
    replayed = replay(stream(5), None, StateRequirements(), simulated=False)
    assert replayed.joints == tuple(f'joint{k}' for k in range(1, 8))
    assert replayed.counts[Reason.ACCEPTED] == 5


def test_messages_are_counted_by_what_became_of_them(robot, stream):
    nan = float('nan')
    samples = stream(10, change=lambda k, s: replace(s, position=(nan,) * 7) if k < 3 else s)
    replayed = replay(samples, robot, StateRequirements(), simulated=False)
    assert (replayed.counts[Reason.NOT_FINITE], replayed.counts[Reason.ACCEPTED]) == (3, 7)


def test_simulated_stamps_that_begin_at_zero_are_stamps(robot, stream):
    start = stream(1)[0].stamp
    samples = stream(5, change=lambda k, s: replace(s, stamp=s.stamp - start + 1))
    replayed = replay(samples, robot, StateRequirements(), simulated=True)
    assert replayed.counts[Reason.ACCEPTED] == 5


def test_nothing_at_all(robot):
    replayed = replay((), robot, StateRequirements(), simulated=False)
    assert replayed.total == 0 and replayed.q.shape == (0, 7)


def test_the_clock_is_read_between_its_samples():
    origin = 1_790_000_000_000_000_000
    clock = (ClockSample(origin, 100), ClockSample(origin + 10, 200))
    assert clock_at(clock, origin + 5) == 150
    assert clock_at(clock, origin - 5) == 100




def judge(robot, samples):
    return check_motion(
        robot, replay(samples, robot, StateRequirements(), simulated=False), samples)


def test_velocities_that_match_positions(robot, stream):
    assert judge(robot, stream()) == []


@pytest.mark.parametrize(('factor', 'guess'), [
    (-1.0, 'the other sign?'), (math.degrees(1.0) / 10.0, ''), (0.2, '')])
def test_velocities_of_something_else(robot, stream, factor, guess):
    slow = replace(robot, limits=replace(robot.limits, velocity=robot.limits.velocity * 0 + 10.0))
    (result,) = judge(slow, stream(change=lambda k, s: replace(
        s, velocity=tuple(factor * v for v in s.velocity))))
    assert result.level is Level.WARNING
    assert f'has a velocity of {factor:.3g} times the rate of change' in result.message
    assert guess in result.message
    assert result.subject == ', '.join(robot.joint_names)


def test_velocities_in_degrees(robot, stream):
    fast = replace(robot, limits=replace(robot.limits, velocity=robot.limits.velocity * 0 + 100.0))
    (result,) = judge(fast, stream(change=lambda k, s: replace(
        s, velocity=tuple(math.degrees(v) for v in s.velocity))))
    assert 'degrees per second?' in result.message


def test_velocities_that_are_always_zero(robot, stream):
    (result,) = judge(robot, stream(change=lambda k, s: replace(s, velocity=(0.0,) * 7)))
    assert result.level is Level.WARNING
    assert 'moves, and its velocity is always zero' in result.message


def test_an_arm_at_rest_gives_no_result_about_velocities(robot, stream):
    still = stream(1)[0].position
    assert judge(robot, stream(change=lambda k, s: replace(
        s, position=still, velocity=(0.001 * (-1) ** k,) * 7))) == []


def test_outside_its_limits(robot, stream):
    (result,) = judge(robot, stream(5, change=lambda k, s: replace(
        s, position=(*s.position[:6], 3.5))))
    assert (result.level, result.subject) == (Level.WARNING, 'joint7')
    assert result.message == 'is at 3.5 rad, outside its limits -2.897 to 2.897'


def test_positions_in_degrees(robot, stream):
    results = judge(robot, stream(5, change=lambda k, s: replace(
        s, position=tuple(math.degrees(q) for q in s.position), velocity=())))
    # Where the arm is near zero degrees are no wonder.
    assert {result.subject for result in results} >= {'joint4', 'joint6'}
    assert all('in degrees?' in result.message for result in results)


def test_nothing_that_could_be_judged(robot, stream):
    nan = float('nan')
    assert judge(robot, stream(5, change=lambda k, s: replace(s, position=(nan,) * 7))) == []



EFFORTS = {
    'torque': (lambda gravity: gravity, EffortPattern.TORQUE),
    'payload': (lambda gravity: 1.3 * gravity + 0.5, EffortPattern.TORQUE),
    'nothing': (lambda gravity: 0.0 * gravity, EffortPattern.ZERO),
    'current': (lambda gravity: gravity / 12.0, EffortPattern.SCALED),
    'sign': (lambda gravity: -gravity, EffortPattern.REVERSED),
    'other': (lambda gravity: 0.0 * gravity + [9.0, -1.0, 9.0, 1.0, -9.0, 9.0, 9.0],
              EffortPattern.OTHER),
    'none': (lambda gravity: np.nan * gravity, EffortPattern.UNKNOWN),
}


def seen(robot, stream, name):
    return replay(stream(50, effort=EFFORTS[name][0]), robot, StateRequirements(), simulated=False)


@pytest.mark.parametrize('name', EFFORTS)
def test_what_efforts_look_like(robot, stream, name):
    assert effort_pattern(robot, seen(robot, stream, name))[0] is EFFORTS[name][1]


def test_an_arm_without_gravity_gives_no_result_about_efforts(robot, stream):
    floating = robot.with_gravity((0.0, 0.0, 0.0))
    assert effort_pattern(floating, seen(robot, stream, 'nothing'))[0] is EffortPattern.UNKNOWN


@pytest.mark.parametrize(('name', 'kind', 'level', 'words'), [
    ('torque', 'torque', Level.OK, 'efforts are joint torques: 1.00 times'),
    ('nothing', 'torque', Level.ERROR, 'it cannot detect that the arm obeys'),
    ('current', 'torque', Level.WARNING, '(0.0833 times gravity)'),
    ('sign', 'torque', Level.WARNING, 'of the other sign (-1 times gravity)'),
    ('torque', 'gravity_compensated', Level.WARNING, 'expects them without'),
    ('torque', 'none', Level.NOTE, 'does not use them'),
    ('nothing', 'gravity_compensated', None, ''), ('nothing', 'none', None, ''),
    ('current', 'current', None, ''), ('other', 'torque', None, ''), ('none', 'torque', None, '')])
def test_efforts_and_effort_kind(robot, stream, name, kind, level, words):
    results = check_efforts(TOPIC, robot, seen(robot, stream, name),
                            StateRequirements(effort_kind=kind))
    assert [result.level for result in results] == ([] if level is None else [level])
    assert all(words in result.message for result in results)


def test_hardware_that_carries_itself_reports_what_it_was_sent(robot, stream):
    requirements = replace(StateRequirements(), hardware_gravity_compensation=True)
    assert check_efforts(TOPIC, robot, seen(robot, stream, 'nothing'), requirements) == []


@pytest.mark.parametrize(('name', 'words'), [
    ('torque', 'effort_kind torque is right'), ('nothing', 'gravity_compensated'),
    ('sign', 'effort_scale to -1'), ('current', 'effort_scale')])
def test_without_a_controller_the_remedy_names_effort_kind(robot, stream, name, words):
    (result,) = check_efforts(TOPIC, robot, seen(robot, stream, name), None)
    assert result.level is Level.NOTE
    assert words in result.remedy


def stamps(robot, samples, clock=(), requirements=StateRequirements()):  # noqa: B008
    simulated = uses_simulated_time(samples, clock)
    return check_stamps(TOPIC, samples, clock,
                        replay(samples, robot, requirements, simulated=simulated), requirements,
                        simulated=simulated)


def test_a_steady_stream(stream):
    (result,) = check_rate(TOPIC, stream(), StateRequirements())
    assert (result.level, result.message) == (Level.OK, '500 Hz, the longest gap 2 ms')


@pytest.mark.parametrize(('rate', 'given', 'level', 'words'), [
    (500.0, StateRequirements(rate=1000.0), Level.WARNING, 'set its parameter rate to 500'),
    (248.0, StateRequirements(rate=500.0), Level.WARNING, 'set its parameter rate to 250'),
    (1000.0, StateRequirements(rate=500.0), Level.WARNING, 'set its parameter rate to 1000'),
    (30.0, StateRequirements(rate=500.0), Level.ERROR, 'update_rate of the controller manager'),
    (30.0, None, Level.ERROR, 'no joint_state_publisher in between'),
    (470.0, StateRequirements(rate=500.0), Level.OK, ''), (100.0, None, Level.OK, '')])
def test_rates(stream, rate, given, level, words):
    (result,) = check_rate(TOPIC, stream(rate=rate), given)
    assert result.level is level
    assert words in result.remedy


def test_states_that_were_lost_here_do_not_change_the_rate_of_the_driver(stream):
    """A doctor that is starved has no advice on rates to give."""
    lossy = stream(1000, rate=1000.0, change=lambda k, s: None if k % 11 in (0, 4, 7) else s)
    (result,) = check_rate(TOPIC, lossy, StateRequirements(rate=1000.0), lowest=900.0)
    assert result.level is Level.WARNING
    assert result.message == 'has 1000 Hz by its stamps, of which 73 % arrived here'
    assert 'rate to' not in result.remedy


def test_the_gains_of_a_controller_say_what_is_too_slow(stream):
    samples = stream(rate=60.0)
    (result,) = check_rate(TOPIC, samples, StateRequirements(rate=60.0), lowest=40.0)
    assert result.level is Level.OK
    (result,) = check_rate(TOPIC, samples, StateRequirements(rate=60.0), lowest=80.0)
    assert result.level is Level.ERROR


@pytest.mark.parametrize('count', [0, 1, 2])
def test_hardly_any_message(stream, count):
    (result,) = check_rate(TOPIC, stream(count), None)
    assert result.level is Level.ERROR
    assert f'had {count} messages' in result.message


def test_a_gap_that_makes_the_arm_safe(stream):
    def late(index, sample):
        return replace(sample, received=sample.received + (0 if index < 100 else SECOND // 5))
    (result,) = check_rate(TOPIC, stream(400, change=late), StateRequirements(rate=500.0))
    assert result.level is Level.WARNING
    assert result.message == 'has a gap of 0.2 s: after 0.1 s the controller makes the arm safe'


def test_simulated_time_may_go_by_slowly(stream):
    slow = stream(200, rate=200.0, change=lambda k, s: replace(s, stamp=SECOND + 2_000_000 * k))
    (result,) = check_rate(TOPIC, slow, StateRequirements(rate=500.0), simulated=True)
    assert result.level is Level.OK
    assert result.message == '500 Hz of simulated time, the longest gap 5 ms'
    (result,) = check_rate(TOPIC, slow, StateRequirements(rate=200.0), simulated=True)
    assert result.message == 'has 500 Hz, and the controller expects 200 Hz'
    # Nobody is heard of for too long by the clock of the machine.
    strict = StateRequirements(rate=500.0, state_timeout=0.004)
    (result,) = check_rate(TOPIC, slow, strict, simulated=True)
    assert result.message == \
        'has a gap of 0.005 s: after 0.004 s the controller makes the arm safe'


def test_late_states(stream):
    def late(index, sample):
        return replace(sample, received=sample.received + (0 if index % 5 else 1_500_000))
    (result,) = check_rate(TOPIC, stream(change=late), StateRequirements())
    assert result.level is Level.WARNING
    assert '20 % of the messages come more than half a period late' in result.message


def test_good_stamps(robot, stream):
    (result,) = stamps(robot, stream())
    assert result.level is Level.OK
    assert result.message == "stamps are this machine's time, 0.5 ms old when they are received"


def test_no_stamps(robot, stream, worst):
    result = worst(stamps(robot, stream(change=lambda k, s: replace(s, stamp=0))), Level.WARNING)
    assert 'has messages without stamp' in result.message
    some = stream(change=lambda k, s: replace(s, stamp=0 if k % 2 else s.stamp))
    result = worst(stamps(robot, some), Level.WARNING)
    assert '100 of 200 messages without stamp' in result.message


def test_a_stamp_that_never_changes(robot, stream, worst):
    first = stream(1)[0].stamp
    samples = stream(20, change=lambda k, s: replace(s, stamp=first))
    result = worst(stamps(robot, samples), Level.ERROR)
    assert 'has the same stamp in 20 messages' in result.message


@pytest.mark.parametrize(('share', 'level'), [(2, Level.ERROR), (40, Level.WARNING)])
@pytest.mark.parametrize(('back', 'words'), [(2_000_000, 'stamp is a duplicate'),
                                             (9_000_000, 'stamp is out of order')])
def test_stamps_that_stand_or_go_back(robot, stream, worst, share, level, back, words):
    samples = stream(change=lambda k, s: replace(
        s, stamp=s.stamp - (back if k % share == share - 1 else 0)))
    result = worst(stamps(robot, samples), level)
    assert words in result.message


@pytest.mark.parametrize(('age', 'level', 'words'), [
    (5.2, Level.ERROR, '5.2 s behind the clock of this machine'),
    (0.05, Level.WARNING, '50 ms old'), (-0.3, Level.ERROR, '0.3 s ahead'),
    (-0.01, Level.NOTE, '10 ms ahead')])
def test_stamps_of_another_clock(robot, stream, age, level, words):
    found = [result for result in stamps(robot, stream(age=age)) if result.level is level]
    assert len(found) == 1
    assert words in found[0].message


@pytest.mark.parametrize(('before', 'where', 'remedy'), [
    (40, '(40 ms of it before they were sent, 10 ms on the way)', 'the driver stamps by another'),
    (5, '(5 ms of it before they were sent, 45 ms on the way)', 'the clocks of both machines')])
def test_where_the_age_comes_from(robot, stream, worst, before, where, remedy):
    samples = stream(age=0.05, change=lambda k, s: replace(s, sent=s.stamp + before * 1_000_000))
    result = worst(stamps(robot, samples), Level.WARNING)
    assert where in result.message and remedy in result.remedy
    untold = stream(age=0.05, change=lambda k, s: replace(s, sent=0))
    assert '(' not in worst(stamps(robot, untold), Level.WARNING).message


def test_simulated_time(robot, stream, worst):
    samples = stream(age=0.001, origin=1_790_000_000 * SECOND)
    shift = samples[0].stamp - 12 * SECOND
    simulated = tuple(replace(sample, stamp=sample.stamp - shift) for sample in samples)
    clock = tuple(ClockSample(sample.received, sample.stamp) for sample in simulated)
    (result,) = stamps(robot, simulated, clock)
    assert result.level is Level.OK and 'simulated time' in result.message
    # The same stamps, and nothing that says what they mean.
    result = worst(stamps(robot, simulated), Level.ERROR)
    assert 'not from a wall clock' in result.message and '/clock' in result.remedy
    # Wall time beside a clock that belongs to something else.
    assert not uses_simulated_time(samples, clock)
