# SPDX-License-Identifier: Apache-2.0
"""Checks of time: rate, gaps and stamps of joint states, and simulated time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.bringup.doctor.findings import CheckResult, error, listed, note, ok, warning
from robot_dynamics.bringup.doctor.replay import Replay, clock_at
from robot_dynamics.bringup.doctor.requirements import StateRequirements
from robot_dynamics.control.states.joint_state import Reason
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.nodes.observing.graph_snapshot import (
    CLOCK,
    ClockSample,
    GraphSnapshot,
    StateSample,
)

#: Tolerance of the rate that a controller expects, as a share of it.
RATE_TOLERANCE = 0.1
#: Lowest rate for torque control. Hz.
SLOWEST = 80.0
#: Largest share of late states; late is 1.5 periods after the last.
LATE_SHARE = 0.05
#: Largest age of states for control, in s and in periods.
LATE, LATE_PERIODS = 0.005, 3.0
_CLOCKS = 'set the clocks of both machines by NTP or PTP (chrony)'
#: Stamps before this, in 2001, are not from a wall clock. ns.
_NO_WALL_CLOCK = 10**18
#: Ratios of simulated to real time below which it counts as slow, and as paused.
_SLOW_CLOCK, _PAUSED_CLOCK = 0.8, 0.02


def check_rate(topic: str, samples: Sequence[StateSample],
               requirements: StateRequirements | None, lowest: float = SLOWEST, *,
               simulated: bool = False) -> list[CheckResult]:
    """Check rate and regularity of states.

    `lowest` is the lowest rate for the gains of the controller, Hz. With `simulated` stamps the
    rate is by simulated time, however slow it runs; gaps count in this machine's time all the
    same.
    """
    if len(samples) < 3:
        return [error(topic, f'had {len(samples)} messages in all', 'a controller needs hundreds '
                      'per second: start the driver, or joint_state_broadcaster')]
    gaps = np.diff([1e-9 * (sample.received - samples[0].received) for sample in samples])
    steps = np.diff([1e-9 * (sample.stamp - samples[0].stamp) for sample in samples
                     if sample.stamp]) if simulated else gaps
    rate = float(len(steps) / steps.sum()) if steps.sum() > 0.0 else np.inf
    gap = _check_gap(topic, gaps, requirements)
    results = [*_check_slow(topic, rate, requirements, lowest), *gap]
    if not gap and not simulated:
        results += _check_regular(topic, gaps, rate, requirements)
    of_what = ' of simulated time' if simulated else ''
    return results or [ok(topic, f'{rate:.0f} Hz{of_what}, the longest gap '
                                 f'{1e3 * gaps.max():.3g} ms')]


def check_stamps(topic: str, samples: Sequence[StateSample], clock: Sequence[ClockSample],
                 replayed: Replay, requirements: StateRequirements, *, simulated: bool
                 ) -> list[CheckResult]:
    """Check the stamps of states, of simulated time or of this machine's."""
    stamped = [sample for sample in samples if sample.stamp]
    if not stamped:
        return [warning(topic, 'has messages without stamp: the time of receiving is taken',
                        'let the driver stamp them; otherwise delays remain unnoticed')]
    if len(stamped) > 2 and len({sample.stamp for sample in stamped}) == 1:
        return [error(topic, f'has the same stamp in {len(stamped)} messages',
                      'the driver repeats an old state: is the hardware connected and active?')]
    results = _check_sequence(topic, replayed)
    if len(stamped) < len(samples):
        results.append(warning(topic, f'has {len(samples) - len(stamped)} of {len(samples)} '
                               'messages without stamp', 'let every publisher stamp them'))
    ages = np.array([1e-9 * ((clock_at(clock, sample.received) if simulated else sample.received)
                             - sample.stamp) for sample in stamped])
    results += _check_age(topic, stamped, ages, requirements, simulated)
    if results:
        return results
    kind = 'simulated time' if simulated else "this machine's time"
    return [ok(topic, f'stamps are {kind}, {1e3 * max(float(np.median(ages)), 0.0):.2g} ms old '
                      'when they are received')]


def _check_slow(topic: str, rate: float, requirements: StateRequirements | None, lowest: float
                ) -> list[CheckResult]:
    expected = '' if requirements is None else \
        f', and the controller expects {requirements.rate:g} Hz'
    if rate < lowest:
        return [error(topic, f'has {rate:.3g} Hz, too slow to control torque{expected}',
                      f'publish at {lowest:.0f} Hz or more, best at 500 Hz: update_rate of '
                      'the controller manager, and no joint_state_publisher in between')]
    if requirements is not None and abs(rate / requirements.rate - 1.0) > RATE_TOLERANCE:
        return [warning(topic, f'has {rate:.0f} Hz{expected}',
                        f'set its parameter rate to {_round_rate(rate):g}, or the update_rate of '
                        f'the driver to {requirements.rate:g}')]
    return []


def _check_gap(topic: str, gaps: FloatArray, requirements: StateRequirements | None
               ) -> list[CheckResult]:
    worst = float(gaps.max())
    if requirements is None or worst <= requirements.state_timeout:
        return []
    return [warning(topic, f'has a gap of {worst:.2g} s: after {requirements.state_timeout:g} s '
                    'the controller makes the arm safe', 'keep the machine of the driver free; '
                    'wireless links are not sufficient')]


def _check_regular(topic: str, gaps: FloatArray, rate: float,
                   requirements: StateRequirements | None) -> list[CheckResult]:
    period = 1.0 / (rate if requirements is None else requirements.rate)
    late = float(np.mean(gaps > 1.5 * max(period, float(np.median(gaps)))))
    if late <= LATE_SHARE:
        return []
    return [warning(topic, f'{100 * late:.0f} % of the messages come more than half a period '
                    f'late, the latest {1e3 * float(gaps.max()):.3g} ms after the one before',
                    'free the processor of the driver, or give it a real-time priority')]


def _check_sequence(topic: str, replayed: Replay) -> list[CheckResult]:
    """Report repeated and decreasing stamps; an error where they are many."""
    results = []
    for reason, remedy in (
            (Reason.DUPLICATE, 'one of them is ignored: stop the node that repeats states'),
            (Reason.OUT_OF_ORDER, 'two publishers, or a clock that is set back: leave one, and '
                                  'keep the clock steady')):
        count = replayed.counts[reason]
        if count:
            make = error if count > 0.1 * replayed.total else warning
            results.append(make(topic, f'{count} of {replayed.total} messages rejected: '
                                f'{reason.value}', remedy))
    return results


def _check_age(topic: str, stamped: Sequence[StateSample], ages: FloatArray,
               requirements: StateRequirements, simulated: bool) -> list[CheckResult]:
    age, period = float(np.median(ages)), 1.0 / requirements.rate
    if not simulated and stamped[-1].stamp < _NO_WALL_CLOCK:
        return [error(topic, f'has stamps of {1e-9 * stamped[-1].stamp:.1f} s, which are not from '
                      'a wall clock', 'simulated time? bridge /clock and set use_sim_time on '
                      'every node; else let the driver stamp with its ROS clock')]
    clock = '/clock' if simulated else 'the clock of this machine'
    if age < -requirements.max_future:
        return [error(topic, f'has stamps {-age:.3g} s ahead of {clock}: the controller rejects '
                      'them', _CLOCKS)]
    where, remedy = _delay(stamped)
    if age > requirements.max_age:
        return [error(topic, f'has stamps {age:.3g} s behind {clock}: the controller rejects '
                      f'them{where}', remedy)]
    if not simulated and age > max(LATE, LATE_PERIODS * period):
        return [warning(topic, f'has states that are {_time_text(age)} old when they are received'
                        f'{where}: efforts for old states make an arm oscillate', remedy)]
    if -age > period and not simulated:
        return [note(topic, f'has stamps {_time_text(-age)} ahead of {clock}', _CLOCKS)]
    return []


def _delay(stamped: Sequence[StateSample]) -> tuple[str, str]:
    """Origin of the delay, where the middleware reports the time of sending, and its remedy."""
    timed = [sample for sample in stamped if sample.sent]
    if not timed:
        return '', f'{_CLOCKS}, or find where states wait'
    before = float(np.median([1e-9 * (sample.sent - sample.stamp) for sample in timed]))
    after = float(np.median([1e-9 * (sample.received - sample.sent) for sample in timed]))
    where = f' ({_time_text(before)} of it before they were sent, {_time_text(after)} on the way)'
    if before > after:
        return where, 'the driver stamps by another clock, or holds states back: let it stamp ' \
                      'them with its ROS clock when it measures, and send them at once'
    return where, f'{_CLOCKS}, or find what delays messages in the network'


def _time_text(seconds: float) -> str:
    return f'{seconds:.3g} s' if abs(seconds) >= 0.1 else f'{1e3 * seconds:.2g} ms'


def _round_rate(rate: float) -> float:
    """Nearest usual rate, or the rate with two digits. Hz."""
    for usual in (100.0, 125.0, 200.0, 250.0, 400.0, 500.0, 800.0, 1000.0, 2000.0):
        if abs(rate / usual - 1.0) < 0.05:
            return usual
    return float(f'{rate:.2g}')


def check_clock(graph: GraphSnapshot) -> list[CheckResult]:
    """Compare ``/clock`` with the parameters ``use_sim_time`` of the nodes."""
    publishers = graph.topic(CLOCK).publishers
    use_sim_time = {node.name: (node.parameters or {}).get('use_sim_time')
                    for node in graph.nodes}
    simulated = [name for name, value in use_sim_time.items() if value is True]
    if not publishers:
        if simulated:
            return [error(CLOCK, f'has no publisher, and {listed(simulated)} wait for it',
                          'bridge /clock from the simulator, or set use_sim_time to false')]
        return []
    results = []
    if len(publishers) > 1:
        results.append(error(CLOCK, f'has {len(publishers)} publishers: '
                             + listed(publisher.node for publisher in publishers),
                             'leave one: time jumps back and forth between them'))
    # The source of simulated time itself uses the time of the machine.
    sources = {publisher.node for publisher in publishers}
    real = [name for name, value in use_sim_time.items() if value is False and name not in sources]
    if simulated and real:
        results.append(warning(listed(real), 'does not use simulated time, others do',
                               'set use_sim_time to true on every node'))
    elif real:
        results.append(warning(CLOCK, 'is published and no node uses it',
                               'set use_sim_time to true on every node, or stop the simulator '
                               'that is left over'))
    return [*results, *_check_clock_rate(graph)] or [ok(CLOCK, 'simulated time, on every node')]


def _check_clock_rate(graph: GraphSnapshot) -> list[CheckResult]:
    clock = graph.clock
    if len(clock) < 2:
        return [warning(CLOCK, f'had {len(clock)} messages in {graph.seconds:.2g} s',
                        'is the simulation paused?')]
    if np.any(np.diff([sample.time for sample in clock]) < 0):
        return [error(CLOCK, 'goes back', 'the simulation was reset: restart the nodes after '
                                          'that')]
    elapsed = clock[-1].received - clock[0].received
    factor = (clock[-1].time - clock[0].time) / elapsed if elapsed else 1.0
    if factor < _PAUSED_CLOCK:
        return [warning(CLOCK, 'stands still', 'is the simulation paused?')]
    if factor < _SLOW_CLOCK:
        return [note(CLOCK, f'runs at {factor:.2f} of real time')]
    return []
