# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from robot_dynamics.bringup.doctor.findings import Level
from robot_dynamics.bringup.doctor.replay import is_simulated, replay
from robot_dynamics.bringup.doctor.requirements import Wishes
from robot_dynamics.bringup.doctor.timing import judge_pace, judge_stamps
from robot_dynamics.nodes.observing.graph_snapshot import ClockSample

TOPIC = '/joint_states'
SECOND = 1_000_000_000


def stamps(robot, samples, clock=(), wishes=Wishes()):  # noqa: B008
    simulated = is_simulated(samples, clock)
    return judge_stamps(TOPIC, samples, clock,
                        replay(samples, robot, wishes, simulated=simulated), wishes,
                        simulated=simulated)


def test_a_steady_stream(stream):
    (remark,) = judge_pace(TOPIC, stream(), Wishes())
    assert (remark.level, remark.message) == (Level.OK, '500 Hz, the longest gap 2 ms')


@pytest.mark.parametrize(('rate', 'told', 'level', 'words'), [
    (500.0, Wishes(rate=1000.0), Level.WARNING, 'set its parameter rate to 500'),
    (248.0, Wishes(rate=500.0), Level.WARNING, 'set its parameter rate to 250'),
    (1000.0, Wishes(rate=500.0), Level.WARNING, 'set its parameter rate to 1000'),
    (30.0, Wishes(rate=500.0), Level.ERROR, 'update_rate of the controller manager'),
    (30.0, None, Level.ERROR, 'no joint_state_publisher in between'),
    (470.0, Wishes(rate=500.0), Level.OK, ''), (100.0, None, Level.OK, '')])
def test_rates(stream, rate, told, level, words):
    (remark,) = judge_pace(TOPIC, stream(rate=rate), told)
    assert remark.level is level
    assert words in remark.remedy


def test_the_gains_of_a_controller_say_what_is_too_slow(stream):
    samples = stream(rate=60.0)
    (remark,) = judge_pace(TOPIC, samples, Wishes(rate=60.0), lowest=40.0)
    assert remark.level is Level.OK
    (remark,) = judge_pace(TOPIC, samples, Wishes(rate=60.0), lowest=80.0)
    assert remark.level is Level.ERROR


@pytest.mark.parametrize('count', [0, 1, 2])
def test_hardly_any_message(stream, count):
    (remark,) = judge_pace(TOPIC, stream(count), None)
    assert remark.level is Level.ERROR
    assert f'{count} messages came' in remark.message


def test_a_gap_that_makes_the_arm_safe(stream):
    def late(index, sample):
        return replace(sample, received=sample.received + (0 if index < 100 else SECOND // 5))
    (remark,) = judge_pace(TOPIC, stream(400, change=late), Wishes(rate=400.0))
    assert remark.level is Level.WARNING
    assert remark.message == 'a gap of 0.2 s: after 0.1 s the arm is made safe'


def test_simulated_time_may_go_by_slowly(stream):
    slow = stream(200, rate=200.0, change=lambda k, s: replace(s, stamp=SECOND + 2_000_000 * k))
    (remark,) = judge_pace(TOPIC, slow, Wishes(rate=500.0), simulated=True)
    assert remark.level is Level.OK
    assert remark.message == '500 Hz of simulated time, the longest gap 5 ms'
    (remark,) = judge_pace(TOPIC, slow, Wishes(rate=200.0), simulated=True)
    assert remark.message == '500 Hz, and the controller was told 200 Hz'
    # Nobody is heard of for too long by the clock of the machine.
    (remark,) = judge_pace(TOPIC, slow, Wishes(rate=500.0, state_timeout=0.004), simulated=True)
    assert remark.message == 'a gap of 0.005 s: after 0.004 s the arm is made safe'


def test_late_states(stream):
    def late(index, sample):
        return replace(sample, received=sample.received + (0 if index % 5 else 1_500_000))
    (remark,) = judge_pace(TOPIC, stream(change=late), Wishes())
    assert remark.level is Level.WARNING
    assert '20 % of them come more than half a period late' in remark.message


def test_good_stamps(robot, stream):
    (remark,) = stamps(robot, stream())
    assert remark.level is Level.OK
    assert remark.message == "stamps are this machine's time, 0.5 ms old when they are received"


def test_no_stamps(robot, stream, worst):
    remark = worst(stamps(robot, stream(change=lambda k, s: replace(s, stamp=0))), Level.WARNING)
    assert 'no message has a stamp' in remark.message
    some = stream(change=lambda k, s: replace(s, stamp=0 if k % 2 else s.stamp))
    remark = worst(stamps(robot, some), Level.WARNING)
    assert '100 of 200 messages have no stamp' in remark.message


def test_a_stamp_that_never_changes(robot, stream, worst):
    first = stream(1)[0].stamp
    samples = stream(20, change=lambda k, s: replace(s, stamp=first))
    remark = worst(stamps(robot, samples), Level.ERROR)
    assert 'the stamp never changes in 20 messages' in remark.message


@pytest.mark.parametrize(('share', 'level'), [(2, Level.ERROR), (40, Level.WARNING)])
@pytest.mark.parametrize(('back', 'words'), [(2_000_000, 'stamp is a duplicate'),
                                             (9_000_000, 'stamp is out of order')])
def test_stamps_that_stand_or_go_back(robot, stream, worst, share, level, back, words):
    samples = stream(change=lambda k, s: replace(
        s, stamp=s.stamp - (back if k % share == share - 1 else 0)))
    remark = worst(stamps(robot, samples), level)
    assert words in remark.message


@pytest.mark.parametrize(('age', 'level', 'words'), [
    (5.2, Level.ERROR, '5.2 s behind the clock of this machine'),
    (0.05, Level.WARNING, '50 ms old'), (-0.3, Level.ERROR, '0.3 s ahead'),
    (-0.01, Level.NOTE, '10 ms ahead')])
def test_stamps_of_another_clock(robot, stream, age, level, words):
    found = [remark for remark in stamps(robot, stream(age=age)) if remark.level is level]
    assert len(found) == 1
    assert words in found[0].message


@pytest.mark.parametrize(('before', 'where', 'remedy'), [
    (40, '(40 ms of it before they were sent, 10 ms on the way)', 'the driver stamps by another'),
    (5, '(5 ms of it before they were sent, 45 ms on the way)', 'the clocks of both machines')])
def test_where_the_age_comes_from(robot, stream, worst, before, where, remedy):
    samples = stream(age=0.05, change=lambda k, s: replace(s, sent=s.stamp + before * 1_000_000))
    remark = worst(stamps(robot, samples), Level.WARNING)
    assert where in remark.message and remedy in remark.remedy
    untold = stream(age=0.05, change=lambda k, s: replace(s, sent=0))
    assert '(' not in worst(stamps(robot, untold), Level.WARNING).message


def test_simulated_time(robot, stream, worst):
    samples = stream(age=0.001, origin=1_790_000_000 * SECOND)
    shift = samples[0].stamp - 12 * SECOND
    simulated = tuple(replace(sample, stamp=sample.stamp - shift) for sample in samples)
    clock = tuple(ClockSample(sample.received, sample.stamp) for sample in simulated)
    (remark,) = stamps(robot, simulated, clock)
    assert remark.level is Level.OK and 'simulated time' in remark.message
    # The same stamps, and nothing that says what they mean.
    remark = worst(stamps(robot, simulated), Level.ERROR)
    assert 'that is no wall clock' in remark.message and '/clock' in remark.remedy
    # Wall time beside a clock that belongs to something else.
    assert not is_simulated(samples, clock)
