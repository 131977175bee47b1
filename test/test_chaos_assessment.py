# SPDX-License-Identifier: Apache-2.0
"""What judges chaos: it has to find every fault there is, and none that there is not."""

import math
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from benchmark.chaos_parts import faults
from benchmark.chaos_parts.assessment import assess, lost_commands
from benchmark.chaos_parts.leaks import marked_environment, processes_with
from benchmark.chaos_parts.records import ReceivedCommand, Records, Relayed, Wait
from benchmark.chaos_parts.requirements import Requirements
from benchmark.chaos_parts.states import CORRUPTIONS, Belief, State

MS = 1_000_000
PERIOD, TIMEOUT, COPIES = 4 * MS, 100 * MS, 5
POSE, CARRIES, LIMIT = (0.1, -0.2), (3.0, -4.0), (10.0, 20.0)
REQUIREMENTS = Requirements(np.array(LIMIT), 0.1, 0.004, COPIES,
                            lambda pose, estimate: [np.array(CARRIES)])
#: Of the last good state, and of the safe command after it.
LAST, SAFE = 996 * MS, 996 * MS + 101 * MS
#: How long a command is on its way.
WAY = MS // 2


def received_command(published, number, effort=CARRIES, publisher=b'controller'):
    return ReceivedCommand(published + WAY, WAY, number, publisher, effort)


def nothing(time):
    return 0


def waits(controller=nothing, others=nothing, stolen=nothing, couriers=nothing,
          overslept=nothing):
    return [Wait(time, controller(time), (0, others(time)), stolen(time), (couriers(time), 0),
                 overslept(time)) for time in range(0, 2000 * MS, MS)]


@pytest.fixture
def records():
    """A second of good states, each answered, then silence for as long, answered safely."""
    states = [Relayed(time, Belief.GOOD, POSE) for time in range(0, LAST + 1, PERIOD)]
    commands = [received_command(state.time + MS, number) for number, state in enumerate(states)]
    commands += [received_command(SAFE + 2 * MS * k, len(states) + k) for k in range(COPIES)]
    return Records(0, 1990 * MS, commands, states, modes=[(0, 'tracking')], waits=waits())


def findings(records, absences=()):
    return assess(records, REQUIREMENTS, absences).findings


def found(records, text):
    """The one fault that is found, and its text."""
    (finding,) = findings(records)
    assert text in finding
    return True


def test_nothing_is_found_where_nothing_is_wrong(records):
    verdict = assess(records, REQUIREMENTS, ())
    assert verdict.findings == []
    (loss,) = verdict.losses
    assert loss.reaction == pytest.approx(0.101) and loss.own == pytest.approx(0.101)
    assert loss.on_its_way == pytest.approx(0.0005)
    assert verdict.largest_effort == pytest.approx(0.3)


@pytest.mark.parametrize(('effort', 'text'), [
    ((math.nan, 0.0), 'not finite'), ((0.0, -math.inf), 'not finite'),
    ((10.0 * (1.0 + 1e-9), 0.0), 'beyond the limit'), ((0.0, -20.1), 'beyond the limit'),
    ((0.0,), '1 values'), ((0.0, 0.0, 0.0), '3 values'), ((), '0 values'),
])
@pytest.mark.parametrize('place', [0, 7, 100])
def test_one_wrong_command_among_all_is_found(records, effort, text, place):
    records.commands[place] = replace(records.commands[place], effort=effort)
    assert found(records, text)


def test_an_effort_at_its_limit_is_none(records):
    records.commands[7] = replace(records.commands[7], effort=(-10.0, 20.0))
    assert findings(records) == []


def later(records, nanoseconds):
    """Return the records with all safe commands published later."""
    moved = [replace(command, time=command.time + nanoseconds) if command.published >= SAFE
             else command for command in records.commands]
    return replace(records, commands=moved)


def test_a_safe_command_that_is_late_by_a_little_is_found(records):
    assert findings(later(records, 2 * MS)) == []
    assert found(later(records, 4 * MS), '105.0 are its own; 104.0 are allowed')


def test_time_on_the_way_is_not_the_controllers(records):
    records.commands = [replace(command, time=command.time + 50 * MS, late=command.late + 50 * MS)
                        if command.published >= SAFE else command for command in records.commands]
    assert findings(records) == []


@pytest.mark.parametrize('account', ['controller', 'others', 'stolen', 'couriers'])
def test_time_the_machine_took_is_what_was_measured_and_no_more(records, account):
    """The controller could not run for 10 ms just then, and is late by 10 ms."""
    def wait(time):
        return min(max(time - LAST - 50 * MS, 0), 10 * MS)
    records.waits = waits(**{account: wait})
    assert findings(later(records, 10 * MS)) == []
    assert found(later(records, 14 * MS), '105.0 are its own')
    # Time it has waited before or after that does not excuse it.
    records.waits = waits(**{account: lambda time: max(time - LAST - 150 * MS, 0)})
    assert found(later(records, 10 * MS), '111.0 are its own')
    records.waits = waits(**{account: lambda time: min(time, LAST)})
    assert found(later(records, 10 * MS), '111.0 are its own')


def at(moment, milliseconds):
    """Return an account that grows by so much from a moment on."""
    return lambda time: min(max(time - moment, 0), milliseconds * MS)


def test_what_only_a_machine_that_stood_still_explains_is_counted_and_no_finding(records):
    records.waits = waits(overslept=at(LAST + 50 * MS, 10))
    for late, stalls in ((0, 0), (10, 1)):
        verdict = assess(later(records, late * MS), REQUIREMENTS, ())
        assert (verdict.findings, verdict.stalls) == ([], stalls)
    # By so much and no more, and just then.
    assert found(later(records, 14 * MS), '115.0 are its own')
    records.waits = waits(overslept=at(LAST - 50 * MS, 10))
    assert found(later(records, 10 * MS), '111.0 are its own')


def test_missing_copies_are_counted_where_the_machine_stood_still(records):
    del records.commands[-2:]
    assert found(records, '3 equal commands at the end, not 5')
    records.waits = waits(overslept=at(SAFE, 900))
    verdict = assess(records, REQUIREMENTS, ())
    assert (verdict.findings, verdict.stalls) == ([], 1)


@pytest.mark.parametrize('account', ['controller', 'couriers', 'overslept'])
def test_no_stall_excuses_a_wrong_effort_or_a_command_too_many(records, account):
    records.waits = waits(**{account: at(LAST, 900)})
    records.commands[7] = replace(records.commands[7], effort=(math.nan, 0.0))
    assert found(records, 'not finite')
    records.commands[7] = replace(records.commands[7], effort=(11.0, 0.0))
    assert found(records, 'beyond the limit')


@pytest.mark.parametrize('account', ['controller', 'overslept'])
@pytest.mark.parametrize(('end', 'count'), [(157, 0), (240, 1)])
def test_an_answer_that_comes_late_is_no_safe_command(records, end, count, account):
    """The controller takes up the last state after 55 ms; the next ones come soon, or too late."""
    copies = len(records.commands) - COPIES
    records.commands[copies:] = [received_command(LAST + 55 * MS, copies, (1.0, 1.0))]
    records.waits = waits(**{account: at(LAST, 54)})
    records.states.append(Relayed(LAST + end * MS, Belief.GOOD, POSE))
    assert len(findings(records)) == count


def test_time_the_relay_took_is_not_the_controllers(records):
    records.states[-1] = replace(records.states[-1], held=10 * MS)
    assert findings(later(records, 10 * MS)) == []
    assert found(later(records, 14 * MS), '105.0 are its own')


def test_without_any_measurement_all_time_is_the_controllers(records):
    records.waits = []
    assert findings(records) == []
    assert found(later(records, 4 * MS), '105.0 are its own')


def test_no_safe_command_is_found(records):
    del records.commands[-COPIES:]
    assert found(records, 'no safe command')


def test_copies_are_counted_and_compared(records):
    assert found(replace(records, commands=records.commands[:-1]), '4 equal commands')
    for effort, count in ((CARRIES, 6), ((3.0, -4.1), 1)):
        more = [*records.commands, received_command(1500 * MS, len(records.commands), effort)]
        assert findings(replace(records, commands=more)) == [
            f'{count} equal commands at the end, not 5', '395 ms between safe commands']
    records.commands[-2] = replace(records.commands[-2], effort=(3.0, -4.1))
    assert found(records, '1 equal commands')


def braked(records, milliseconds, *, copies=COPIES):
    """The records with so many ms of braking before the copies of the last command."""
    count = len(records.commands) - COPIES
    efforts = [(3.0 - 2.0 / (1 + k), -4.0) for k in range(milliseconds // 2)]
    commands = [received_command(SAFE + 2 * MS * k, count + k, effort)
                for k, effort in enumerate([*efforts, *[CARRIES] * copies])]
    return replace(records, commands=[*records.commands[:count], *commands])


def test_the_arm_may_be_braked_before_the_copies(records):
    verdict = assess(braked(records, 300), REQUIREMENTS, ())
    assert verdict.findings == []
    # It is the first of them that has to come in time.
    assert verdict.losses[0].reaction == pytest.approx(0.101)
    assert found(braked(later(records, 4 * MS), 0, copies=4), '4 equal commands')


def test_braking_has_an_end(records):
    records.end = 3990 * MS
    assert findings(braked(records, 990)) == []
    assert found(braked(records, 1020), 'the arm is braked for 1.02 s')
    records.waits = [*waits(), *(replace(wait, time=wait.time + 2000 * MS) for wait in waits())]
    assert found(braked(records, 300, copies=0), '1 equal commands')


def test_braking_that_new_states_cut_short_is_not_judged(records):
    cut = braked(records, 300, copies=0)
    cut.states.append(Relayed(cut.commands[-1].published + MS, Belief.GOOD, POSE))
    cut.end = cut.states[-1].time + 60 * MS
    assert findings(cut) == []


def test_copies_that_new_states_cut_short_are_not_counted(records):
    del records.commands[-2:]
    records.states.append(Relayed(SAFE + 5 * MS, Belief.GOOD, POSE))
    records.end = SAFE + 60 * MS
    assert findings(records) == []


def test_an_answer_that_the_machine_has_kept_back_is_none_of_the_copies(records):
    records.commands[-COPIES - 1] = received_command(
        LAST + 60 * MS, len(records.commands) - COPIES - 1, (1.0, 1.0))
    assert found(records, '41 ms between safe commands')
    records.waits = waits(controller=lambda time: min(max(time - LAST, 0), 55 * MS))
    assert findings(records) == []


def test_a_safe_command_that_does_not_carry_the_arm_is_found(records):
    records.commands[-COPIES:] = [replace(command, effort=(0.0, 0.0))
                                  for command in records.commands[-COPIES:]]
    assert found(records, '30.0 % of a limit away')


#: A gravity that depends on the first joint and on what was learnt.
LEARNT = replace(REQUIREMENTS, gravity=lambda pose, estimate: [
    np.array((30.0 * pose[0], estimate[0] if estimate else 9.9))])


@pytest.mark.parametrize(('estimates', 'count'), [
    ((), 1), (((-1000, -4.0),), 0), (((-5, -4.0),), 0), (((300, -4.0),), 0),
    (((-1000, -4.0), (-5, 5.0)), 1), (((-1000, 5.0), (-5, 5.0), (300, -4.0)), 0)])
def test_what_was_learnt_is_what_is_told_last_before_the_loss_or_after_it(records, estimates,
                                                                          count):
    """When after the last good state, ms, and what."""
    records.estimates = [(LAST + at * MS, (value,)) for at, value in estimates]
    assert len(assess(records, LEARNT, ()).findings) == count


@pytest.mark.parametrize(('earlier', 'count'), [(0, 0), (1, 0), (20, 1)])
def test_the_arm_is_carried_where_it_was_seen_last(records, earlier, count):
    """One of the last good states may not have been seen: a bad one came right after it."""
    records.estimates = [(LAST, (-4.0,))]
    poses = [(0.2, 0.0)] * 40
    poses[-1 - earlier] = POSE
    records.states[-40:] = [replace(state, position=pose)
                            for state, pose in zip(records.states[-40:], poses, strict=True)]
    assert len(assess(records, LEARNT, ()).findings) == count


@pytest.mark.parametrize(('speed', 'count'), [(0.0, 1), (0.2, 1), (0.5, 0), (2.0, 0)])
def test_a_moving_arm_is_carried_where_it_comes_to_rest(records, speed, count):
    """The command carries it at 0.1 rad, and it was seen at 0.06 rad last."""
    records.estimates = [(LAST, (-4.0,))]
    records.states[-40:] = [replace(state, position=(0.06 + 1e-9 * speed * (state.time - LAST), 0))
                            for state in records.states[-40:]]
    assert len(assess(records, LEARNT, ()).findings) == count


def test_bad_states_are_no_sign_of_life(records):
    """They come all the time; whoever answers them is found."""
    bad = [Relayed(time, Belief.BAD, POSE) for time in range(LAST + PERIOD, 1990 * MS, PERIOD)]
    records.states += bad
    assert findings(records) == []
    number = len(records.commands)
    records.commands[-COPIES:] = [received_command(state.time + MS, number + k)
                                  for k, state in enumerate(bad)]
    assert found(records, 'equal commands at the end, not 5')


@pytest.mark.parametrize('belief', [Belief.OPEN, Belief.GOOD])
def test_states_that_may_be_believed_are_no_loss(records, belief):
    records.states += [Relayed(time, belief, POSE)
                       for time in range(LAST + PERIOD, 1990 * MS, PERIOD)]
    del records.commands[-COPIES:]
    assert findings(records) == []


@pytest.mark.parametrize(('gone', 'owed'), [(690, 1), (700, 0), (900, 0)])
def test_who_has_lost_the_arm_just_before_owes_nothing(records, gone, owed):
    """From when on there were no states for 60 ms, ms."""
    records.states = [state for state in records.states
                      if not gone - 60 < state.time / MS < gone]
    del records.commands[-COPIES:]
    assert len(findings(records)) == owed


@pytest.mark.parametrize(('at', 'owed'), [(600, 1), (800, 0)])
def test_whom_the_machine_has_held_up_just_before_owes_nothing(records, at, owed):
    records.waits = waits(controller=lambda time: 60 * MS if time > at * MS else 0)
    del records.commands[-COPIES:]
    assert len(findings(records)) == owed


@pytest.mark.parametrize('absence', [(500 * MS, 1500 * MS), (LAST + 50 * MS, 1990 * MS)])
def test_who_is_not_there_owes_nothing(records, absence):
    del records.commands[-COPIES:]
    assert findings(records, [absence]) == []
    assert len(findings(records, [(100 * MS, 500 * MS)])) == 1


@pytest.mark.parametrize('mode', ['waiting', 'stopped'])
def test_who_does_not_lead_the_arm_owes_nothing(records, mode):
    records.modes = [(0, mode)]
    del records.commands[-COPIES:]
    assert findings(records) == []


@pytest.mark.parametrize(('mode', 'answered', 'count'), [
    ('safe', True, 1), ('safe', False, 0), ('tracking', False, 1)])
def test_who_is_safe_and_answers_nothing_has_said_his_safe_command(records, mode, answered, count):
    records.modes = [(0, 'tracking'), (LAST - 500 * MS, mode)]
    del records.commands[-COPIES:]
    if not answered:
        records.commands = [command for command in records.commands
                            if command.published < LAST - 400 * MS]
    assert len(findings(records)) == count


def test_commands_that_were_not_heard_are_counted(records):
    numbers = {}
    assert lost_commands(records.commands[:100], numbers) == 0
    assert lost_commands(records.commands[103:], numbers) == 3
    other = [received_command(0, 7, publisher=b'other')]
    assert lost_commands(other, numbers) == 0
    assert numbers == {b'controller': len(records.commands) - 1, b'other': 7}


def test_processes_that_are_left_are_found():
    environment, mark = marked_environment(os.environ)
    assert processes_with(mark) == []
    # A child of a child, in a session of its own, as one that was forgotten.
    script = ('import subprocess as s; print(s.Popen(["sleep", "60"], start_new_session=True, '
              'stdout=s.DEVNULL).pid)')
    left = int(subprocess.check_output([sys.executable, '-c', script], env=environment))
    # For an instant after it has begun, a program has no environment yet.
    while not Path(f'/proc/{left}/environ').read_bytes():
        time.sleep(0.001)
    try:
        assert processes_with(mark) == [left]
    finally:
        os.kill(left, 9)


def good_state(names=('a', 'b', 'c')):
    return State(10**9, list(names), [0.1, 0.2, 0.3], [0.0] * 3, [1.0] * 3)


@pytest.mark.parametrize('kind', CORRUPTIONS)
def test_every_corruption_changes_the_state_and_not_the_original(kind):
    original = good_state()
    for seed in range(5):
        ((delay, spoilt),) = faults.Corrupt(Random(seed), kind).pass_on(original)
        assert delay == 0 and spoilt.belief is CORRUPTIONS[kind][1]
        if kind != 'shuffled':
            assert repr(replace(spoilt, belief=Belief.GOOD)) != repr(original)
    assert original == good_state()


@pytest.mark.parametrize('fault', [
    faults.Late(Random(1), 0.1, 0.2), faults.Duplicate(Random(1)), faults.FrozenStamp(),
    faults.FrozenValues(), faults.Offset(1.0, Belief.BAD), faults.Moved(Random(1), 1.0),
    faults.SecondPublisher('zero')], ids=lambda fault: type(fault).__name__)
def test_every_fault_changes_the_stream_and_not_the_original(fault):
    first, second = good_state(), good_state()
    second.stamp += 4 * MS
    second.position = [0.2, 0.3, 0.4]
    passed = [*fault.pass_on(first), *fault.pass_on(second)]
    assert passed != [(0, first), (0, second)]
    assert first == good_state() and second.belief is Belief.GOOD


def test_what_is_dropped_is_gone():
    assert list(faults.Drop(Random(1)).pass_on(good_state())) == []
    some = faults.Drop(Random(3), 0.5)
    assert 30 < sum(len(some.pass_on(good_state())) for _ in range(100)) < 70
