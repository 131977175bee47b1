# SPDX-License-Identifier: Apache-2.0
"""Rate and stamps of joint states, and simulated time."""

from dataclasses import replace

import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.replay import replay, uses_simulated_time
from robot_dynamics.bringup.doctor.requirements import StateRequirements
from robot_dynamics.bringup.doctor.timing import check_clock, check_rate, check_stamps
from robot_dynamics.nodes.observing.graph_snapshot import (
    ClockSample,
    Endpoint,
    GraphSnapshot,
    NodeInfo,
    Topic,
)

TOPIC = '/joint_states'
SECOND = 1_000_000_000


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
    (result,) = check_rate(TOPIC, stream(400, change=late), StateRequirements(rate=400.0))
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


NOW, STEP = 1_790_000_000_000_000_000, 10_000_000


def system(*nodes, publishers=('/gazebo',), factor=1.0, count=100):
    clock = tuple(ClockSample(NOW + k * STEP, round(k * STEP * factor)) for k in range(count))
    topic = Topic('/clock', tuple(Endpoint(name, 'rosgraph_msgs/msg/Clock')
                                  for name in publishers))
    return GraphSnapshot(nodes=tuple(NodeInfo(name, {'use_sim_time': simulated})
                                 for name, simulated in nodes),
                     topics={'/clock': topic}, clock=clock if publishers else (), seconds=1.0)


def test_wall_time_everywhere(healthy):
    assert check_clock(healthy) == []


def test_simulated_time_everywhere():
    (result,) = check_clock(system(('/a', True), ('/b', True), ('/gazebo', False)))
    assert result.level is Level.OK


@pytest.mark.parametrize(('graph', 'level', 'subject', 'words'), [
    (system(('/a', True), ('/b', False), publishers=()), Level.ERROR, '/clock',
     'has no publisher, and /a wait for it'),
    (system(('/a', True), ('/b', False)), Level.WARNING, '/b', 'does not use simulated time'),
    (system(('/a', False)), Level.WARNING, '/clock', 'no node uses it'),
    (system(('/a', True), publishers=('/x', '/y')), Level.ERROR, '/clock',
     'has 2 publishers: /x, /y'),
    (system(('/a', True), count=1), Level.WARNING, '/clock', 'had 1 messages'),
    (system(('/a', True), factor=0.0), Level.WARNING, '/clock', 'stands still'),
    (system(('/a', True), factor=0.5), Level.NOTE, '/clock', 'at 0.50 of real time'),
    (system(('/a', True), factor=-1.0), Level.ERROR, '/clock', 'goes back')])
def test_what_is_wrong_with_time(graph, level, subject, words):
    (result,) = check_clock(graph)
    assert (result.level, result.subject) == (level, subject)
    assert words in result.message


def test_a_node_that_does_not_answer_is_not_judged(healthy):
    graph = replace(system(('/a', True)), nodes=(NodeInfo('/silent'),
                                                 NodeInfo('/a', {'use_sim_time': True})))
    assert [result.level for result in check_clock(graph)] == [Level.OK]
