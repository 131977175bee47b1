# SPDX-License-Identifier: Apache-2.0
"""Judges what was heard: it knows nothing of how the controller works, only what it owes.

- Every command has as many values as the arm has joints, all finite, none beyond the limit
  that the URDF states.
- When states that have to be believed stop, a safe command is heard within ``state_timeout``
  and one period. The arm is braked for a while; then the effort that carries it where it was last
  seen is sent a fixed number of times, the same each time, and nothing until there are states
  again.

The time is that between the publication of the last good state and the publication of the
safe command, on one steady clock. What the machine takes of it is measured as well and not
held against the controller: the time for which it was ready to run but the kernel had no core
for it, and the same of that other thread of its process for which there was none for longest
(``/proc/<pid>/task/<thread>/schedstat``), and of that thread of the kernel that delivers
packets; or that for which the whole machine stood still, if it was more; and the time for which
there was no core for the relay while it published that state. There is no tolerance.

These accounts do not tell of everything: who runs slowly because others have emptied the caches,
or waits for a lock whose owner waits for a core, does not wait itself. So a command that is late
by them all the same is told apart, and counted, where the observer, who sleeps for 2 ms at most,
did not come back for so long just then, and is a finding where he did.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

import numpy as np

from .records import ReceivedCommand, Records, Relayed
from .requirements import Loss, Requirements, Verdict
from .states import NANOSECONDS, Belief

Interval = tuple[int, int]

#: Efforts are within a limit up to rounding.
_ROUNDING = 1e-12
#: A safe command carries the arm within this share of each limit.
_CARRIES = 0.02
#: Times of even motion after which a braked arm is at rest, at its last speed. ns.
_BRAKING = (20_000_000, 40_000_000, 80_000_000)
#: Before a loss that is judged states were good for at least so long. ns.
_GOOD_BEFORE = 300_000_000
#: A state is taken up within this, or never; and nothing is learnt for so long after a loss. ns.
_SEEN, _TOLD = 50_000_000, 700_000_000
#: Safe commands follow each other within this, and the arm is braked for so long at most. ns.
_NEXT_COMMAND, _LONGEST_BRAKING = 30_000_000, 1_000_000_000


def assess(records: Records, requirements: Requirements, absences: Sequence[Interval]) -> Verdict:
    """Return what is wrong with what was heard.

    Parameters
    ----------
    records : Records
        What was heard.
    duties : Duties
        What is owed.
    absences : sequence of (int, int)
        When the controller was dead, stopped or not active, begin and end. ns.
    """
    verdict = Verdict(commands=len(records.commands),
                      largest_speed=max((speed for _, speed in records.speeds), default=0.0))
    _assess_efforts(records.commands, requirements, verdict)
    for begin, end in _gaps(records, requirements):
        if _leads(records, requirements, begin.time) \
                and not _is_silent_by_right(begin, requirements, absences):
            # Whoever lets go of the arm meanwhile says so with a safe command more.
            end = min([end, *(gone for gone, _ in absences if gone > begin.time)])
            _assess_loss(records, requirements, begin, end, verdict)
    return verdict


def _assess_efforts(commands: Sequence[ReceivedCommand], requirements: Requirements,
                    verdict: Verdict) -> None:
    """Assess every command by itself."""
    limit = requirements.effort_limit
    for command in commands:
        effort = np.array(command.effort)
        if effort.shape != limit.shape:
            verdict.findings.append(f'a command of {effort.size} values: {command.effort}')
        elif not np.isfinite(effort).all():
            verdict.findings.append(f'a command that is not finite: {command.effort}')
        else:
            share = float((np.abs(effort) / limit).max())
            verdict.largest_effort = max(verdict.largest_effort, share)
            if share > 1.0 + _ROUNDING:
                verdict.findings.append(f'a command beyond the limit: {command.effort}')


def _gaps(records: Records, requirements: Requirements) -> list[tuple[Relayed, int]]:
    """Return the last state before each loss, and when the loss ended.

    Only those are told after which something has to happen: good states had come for a
    while, and then there were none that had to or could be believed. A controller that has
    just lost the arm, or to which states came with gaps, has said its safe command already.
    """
    believed = [state for state in records.states if state.belief is not Belief.BAD]
    ends = [state.time for state in believed[1:]] + [records.end]
    patience = int((requirements.state_timeout + 3.0 * requirements.period) * NANOSECONDS)
    short = int(0.5 * requirements.state_timeout * NANOSECONDS)
    gaps, good_since = [], None
    for state, end in zip(believed, ends, strict=True):
        if state.belief is Belief.OPEN:
            good_since = None
        elif good_since is None:
            good_since = state.time
        if end - state.time > patience and good_since is not None \
                and state.time - good_since > _GOOD_BEFORE \
                and not _was_held_up(records, state.time - _GOOD_BEFORE, state.time, short):
            gaps.append((state, end))
        if end - state.time > short:
            good_since = None
    return gaps


def _was_held_up(records: Records, begin: int, end: int, time: int) -> bool:
    """Whether the machine has kept a core from the controller for so long at once. ns."""
    first, last = (bisect_left(records.waits, moment, key=attrgetter('time'))
                   for moment in (begin, end))
    looks = records.waits[first:last + 1]
    return any(after.taken_since(before) > time for before, after in pairwise(looks))


def _is_silent_by_right(begin: Relayed, requirements: Requirements,
                        absences: Sequence[Interval]) -> bool:
    """Whether the controller could not answer a loss, being dead, stopped or not active."""
    end = begin.time + int(2.0 * requirements.state_timeout * NANOSECONDS)
    return any(gone < end and back > begin.time for gone, back in absences)


def _leads(records: Records, requirements: Requirements, time: int) -> bool:
    """Whether the arm was the controller's at a time.

    One that is safe and answers no states has said its safe command already: what was good
    when it was sent to it has come too late, or too seldom, to be believed again.
    """
    index = bisect_right([at for at, _ in records.modes], time) - 1
    if index < 0 or records.modes[index][1] in ('waiting', 'stopped'):
        return False
    timeout = int(requirements.state_timeout * NANOSECONDS)
    return records.modes[index][1] != 'safe' or any(
        time - timeout < command.published < time + timeout // 2 for command in records.commands)


def _assess_loss(records: Records, requirements: Requirements, begin: Relayed, end: int,
                 verdict: Verdict) -> None:
    """Look for the safe command after a loss."""
    bound = requirements.state_timeout + requirements.period
    # The last good state is still answered, which takes a few ms and not half the time-out.
    soon = int(0.5 * requirements.state_timeout * NANOSECONDS)
    said = [command for command in records.commands if begin.time + soon < command.published < end]
    while said and _is_late_answer(records, requirements, begin, said, soon):
        del said[0]
    if not said:
        had = 1e-9 * (end - begin.time - _taken_by_machine(records, begin, end))
        if had > bound:
            _find(records, begin.time, end, had - bound, verdict,
                  f'no safe command in {1e3 * had:.1f} ms without states')
        return
    first = said[0]
    loss = Loss(1e-9 * (first.published - begin.time),
                1e-9 * _taken_by_machine(records, begin, first.published),
                1e-9 * first.late)
    verdict.losses.append(loss)
    if not loss.own <= bound:
        _find(records, begin.time, first.published, loss.own - bound, verdict,
              f'the safe command came {1e3 * loss.reaction:.1f} ms after the last good state, of '
              f'which {1e3 * loss.own:.1f} are its own; {1e3 * bound:.1f} are allowed')
    last = said[-1]
    copies = next((k for k, command in enumerate(reversed(said)) if command.effort != last.effort),
                  len(said))
    text = f'{copies} equal commands at the end, not {requirements.copies}'
    silence = end - last.published - records.taken(last.published, end)
    if copies > requirements.copies:
        verdict.findings.append(text)
    elif copies < requirements.copies and silence >= _NEXT_COMMAND:
        _find(records, last.published, end, 1e-9 * (silence - _NEXT_COMMAND), verdict, text)
    for before, after in pairwise(said):
        pause = after.published - before.published \
            - records.taken(before.published, after.published) - _NEXT_COMMAND
        if pause > 0:
            _find(records, before.published, after.published, 1e-9 * pause, verdict,
                  f'{1e-6 * (after.published - before.published):.0f} ms between safe commands')
    braking = said[-copies].published - first.published
    late = braking - records.taken(first.published, last.published) - _LONGEST_BRAKING
    if late > 0:
        _find(records, first.published, last.published, 1e-9 * late, verdict,
              f'the arm is braked for {1e-9 * braking:.2f} s')
    if copies > 1:  # a single one may be the last that was heard of those that brake
        _assess_safe_effort(requirements, records, begin, end, last, verdict)


def _is_late_answer(records: Records, requirements: Requirements, begin: Relayed,
                    said: Sequence[ReceivedCommand], soon: int) -> bool:
    """Whether the first command answers the last good state, held up by the machine.

    The copies of a safe command follow each other at once.
    """
    first = said[0]
    is_alone = len(said) == 1 or said[1].published - first.published > soon
    own = first.published - begin.time - _taken_by_machine(records, begin, first.published)
    if is_alone:
        own -= records.stalled(begin.time, first.published)
    return (is_alone or len(said) > requirements.copies) and own < soon


def _find(records: Records, begin: int, end: int, late: float, verdict: Verdict, text: str
          ) -> None:
    """Note what is late by so many s, as a finding unless the machine stood still for longer."""
    if 1e-9 * records.stalled(begin, end) >= late:
        verdict.stalls += 1
    else:
        verdict.findings.append(text)


def _assess_safe_effort(requirements: Requirements, records: Records, begin: Relayed, end: int,
                       command: ReceivedCommand, verdict: Verdict) -> None:
    """Compare a safe command with what carries the arm."""
    away = min(float((np.abs(np.array(command.effort) - effort) / requirements.effort_limit).max())
               for pose in _poses(records, begin) for estimate in _estimates(records, begin, end)
               for effort in requirements.gravity(np.array(pose), estimate))
    if not away <= _CARRIES:
        verdict.findings.append(f'the safe command is {100.0 * away:.1f} % of a limit away from '
                                f'what carries the arm: {command.effort}')


def _poses(records: Records, begin: Relayed) -> Iterator[Sequence[float]]:
    """Yield where the arm was last seen, and where a moving arm comes to rest after that.

    A controller that is busy answers the newest state that waits. Where that is a bad one, it
    has not seen the good one before it.
    """
    seen = [state for state in reversed(records.states)
            if begin.time - _SEEN < state.time <= begin.time and state.belief is not Belief.BAD]
    for state in seen:
        yield state.position
    if len(seen) > 1 and seen[0].time > seen[1].time:
        last = np.array(seen[0].position)
        speed = (last - seen[1].position) / (seen[0].time - seen[1].time)
        for time in _BRAKING:
            yield (last + time * speed).tolist()


def _estimates(records: Records, begin: Relayed, end: int) -> Iterator[Sequence[float] | None]:
    """Yield what was learnt by then, None where nothing was told.

    It is told 25 times a second, and goes on between; what was learnt last is told after the
    loss, before more is learnt.
    """
    told = [values for at, values in records.estimates if at <= begin.time][-1:]
    told += [values for at, values in records.estimates if begin.time < at < end + _TOLD]
    yield from told or [None]


def _taken_by_machine(records: Records, begin: Relayed, end: int) -> int:
    """Return for how long from a state on the machine had no core to give. ns."""
    return min(begin.held + records.taken(begin.time, end), end - begin.time)


def lost_commands(commands: Sequence[ReceivedCommand], last_numbers: dict[bytes, int]) -> int:
    """Return how many commands were published and not heard, by the publishers' own counting.

    Parameters
    ----------
    commands : sequence of Heard
        What was heard.
    last_numbers : dict
        The last number heard of each publisher; brought up to date.
    """
    missing = 0
    for command in commands:
        if command.number < 0:
            continue
        expected = last_numbers.get(command.publisher, command.number - 1) + 1
        missing += max(0, command.number - expected)
        last_numbers[command.publisher] = command.number
    return missing


def share(values: Sequence[float], fraction: float) -> float:
    """Return a quantile, nan of nothing."""
    return float(np.quantile(values, fraction)) if values else math.nan
