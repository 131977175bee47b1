# SPDX-License-Identifier: Apache-2.0
"""How joint states come in time: rate, gaps and stamps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.bringup.doctor.findings import Remark, error, note, ok, warning
from robot_dynamics.bringup.doctor.replay import Replay, clock_at
from robot_dynamics.bringup.doctor.requirements import Wishes
from robot_dynamics.control.states.joint_state import Reason
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.nodes.observing.graph_snapshot import ClockSample, StateSample

#: How far a rate may be from the one that a controller was told, as a share of it.
RATE_TOLERANCE = 0.1
#: Rate below which joint states are for looking at, not for torque control. Hz.
SLOWEST = 80.0
#: Share of late states beyond which a loop is unsteady; late is 1.5 periods after the last.
LATE_SHARE = 0.05
#: Age at which states are late for control, in s and in periods.
LATE, LATE_PERIODS = 0.005, 3.0
_CLOCKS = 'set the clocks of both machines by NTP or PTP (chrony)'
#: Stamps before this are no wall clock: 2001. ns.
_NO_WALL_CLOCK = 10**18


def judge_pace(topic: str, samples: Sequence[StateSample], wishes: Wishes | None,
               lowest: float = SLOWEST, *, simulated: bool = False) -> list[Remark]:
    """Say how fast and how steadily states come.

    Parameters
    ----------
    topic : str
        Name of the topic.
    samples : sequence of StateSample
        What came on it.
    wishes : Wishes, optional
        What a controller was told; None where there is none.
    lowest : float
        Lowest rate that its gains can do with. Hz.
    simulated : bool
        Whether the stamps are simulated time: the rate is then one by that time, which may go by
        as slowly as it likes. Silence is counted by this machine's time all the same.
    """
    if len(samples) < 3:
        return [error(topic, f'{len(samples)} messages came in all', 'a controller needs them '
                      'hundreds of times a second: start the driver, or joint_state_broadcaster')]
    gaps = np.diff([1e-9 * (sample.received - samples[0].received) for sample in samples])
    steps = np.diff([1e-9 * (sample.stamp - samples[0].stamp) for sample in samples
                     if sample.stamp]) if simulated else gaps
    rate = float(len(steps) / steps.sum()) if steps.sum() > 0.0 else np.inf
    silent = _silent(topic, gaps, wishes)
    remarks = [*_slow(topic, rate, wishes, lowest), *silent]
    if not silent and not simulated:
        remarks += _unsteady(topic, gaps, rate, wishes)
    of_what = ' of simulated time' if simulated else ''
    return remarks or [ok(topic, f'{rate:.0f} Hz{of_what}, the longest gap '
                                 f'{1e3 * gaps.max():.3g} ms')]


def judge_stamps(topic: str, samples: Sequence[StateSample], clock: Sequence[ClockSample],
                 replayed: Replay, wishes: Wishes, *, simulated: bool) -> list[Remark]:
    """Say what is wrong with the stamps of states.

    Parameters
    ----------
    topic, samples, clock
        The topic, what came on it, and simulated time.
    replayed : Replay
        What a controller makes of them.
    wishes : Wishes
        What it stands.
    simulated : bool
        Whether the stamps are simulated time.
    """
    stamped = [sample for sample in samples if sample.stamp]
    if not stamped:
        return [warning(topic, 'no message has a stamp: the time of receiving is taken',
                        'let the driver stamp them; delays go unnoticed like this')]
    if len(stamped) > 2 and len({sample.stamp for sample in stamped}) == 1:
        return [error(topic, f'the stamp never changes in {len(stamped)} messages',
                      'the driver repeats an old state: is the hardware connected and active?')]
    remarks = _sequence(topic, replayed)
    if len(stamped) < len(samples):
        remarks.append(warning(topic, f'{len(samples) - len(stamped)} of {len(samples)} messages '
                               'have no stamp', 'let everything that publishes stamp them'))
    ages = np.array([1e-9 * ((clock_at(clock, sample.received) if simulated else sample.received)
                             - sample.stamp) for sample in stamped])
    remarks += _age(topic, stamped, ages, wishes, simulated)
    if remarks:
        return remarks
    kind = 'simulated time' if simulated else "this machine's time"
    return [ok(topic, f'stamps are {kind}, {1e3 * max(float(np.median(ages)), 0.0):.2g} ms old '
                      'when they are received')]


def _slow(topic: str, rate: float, wishes: Wishes | None, lowest: float) -> list[Remark]:
    if rate < lowest:
        told = '' if wishes is None else f'; the controller was told {wishes.rate:g} Hz'
        return [error(topic, f'{rate:.3g} Hz is too slow to control torque{told}',
                      f'publish them at {lowest:.0f} Hz or more, best at 500 Hz: update_rate of '
                      'the controller manager, and no joint_state_publisher in between')]
    if wishes is not None and abs(rate / wishes.rate - 1.0) > RATE_TOLERANCE:
        return [warning(topic, f'{rate:.0f} Hz, and the controller was told {wishes.rate:g} Hz',
                        f'set its parameter rate to {_round_rate(rate):g}, or the update_rate of '
                        f'the driver to {wishes.rate:g}')]
    return []


def _silent(topic: str, gaps: FloatArray, wishes: Wishes | None) -> list[Remark]:
    worst = float(gaps.max())
    if wishes is None or worst <= wishes.state_timeout:
        return []
    return [warning(topic, f'a gap of {worst:.2g} s: after {wishes.state_timeout:g} s the arm is '
                    'made safe', 'free the machine that the driver runs on; wireless links do not '
                    'do')]


def _unsteady(topic: str, gaps: FloatArray, rate: float, wishes: Wishes | None) -> list[Remark]:
    period = 1.0 / (rate if wishes is None else wishes.rate)
    late = float(np.mean(gaps > 1.5 * max(period, float(np.median(gaps)))))
    if late <= LATE_SHARE:
        return []
    return [warning(topic, f'{100 * late:.0f} % of them come more than half a period late, '
                    f'the latest {1e3 * float(gaps.max()):.3g} ms after the one before',
                    'free the processor of the driver, or give it a real-time priority')]


def _sequence(topic: str, replayed: Replay) -> list[Remark]:
    """Say where stamps repeat or go back."""
    remarks = []
    for reason, remedy in (
            (Reason.DUPLICATE, 'one of them is ignored: stop whatever repeats states'),
            (Reason.OUT_OF_ORDER, 'two publishers, or a clock that is set back: leave one, and '
                                  'keep the clock steady')):
        if replayed.counts[reason]:
            remarks.append(_by_share(topic, replayed, reason, remedy))
    return remarks


def _age(topic: str, stamped: Sequence[StateSample], ages: FloatArray, wishes: Wishes,
         simulated: bool) -> list[Remark]:
    """Say how old states are when they come."""
    age, period = float(np.median(ages)), 1.0 / wishes.rate
    if not simulated and stamped[-1].stamp < _NO_WALL_CLOCK:
        return [error(topic, f'stamps read {1e-9 * stamped[-1].stamp:.1f} s: that is no wall '
                      'clock', 'simulated time? bridge /clock and set use_sim_time on every '
                               'node; else let the driver stamp with its ROS clock')]
    clock = '/clock' if simulated else 'the clock of this machine'
    if age < -wishes.max_future:
        return [error(topic, f'stamps are {-age:.3g} s ahead of {clock}: the controller turns '
                      'them away', _CLOCKS)]
    where, remedy = _delay(stamped)
    if age > wishes.max_age:
        return [error(topic, f'stamps are {age:.3g} s behind {clock}: the controller turns them '
                      f'away{where}', remedy)]
    if not simulated and age > max(LATE, LATE_PERIODS * period):
        return [warning(topic, f'states are {_shown(age)} old when they are received{where}: '
                        'efforts that answer old states make an arm swing', remedy)]
    if -age > period and not simulated:
        return [note(topic, f'stamps are {_shown(-age)} ahead of {clock}', _CLOCKS)]
    return []


def _delay(stamped: Sequence[StateSample]) -> tuple[str, str]:
    """Return where the age comes from, as far as the middleware tells, and what to do."""
    told = [sample for sample in stamped if sample.sent]
    if not told:
        return '', f'{_CLOCKS}, or find where states wait'
    before = float(np.median([1e-9 * (sample.sent - sample.stamp) for sample in told]))
    after = float(np.median([1e-9 * (sample.received - sample.sent) for sample in told]))
    where = f' ({_shown(before)} of it before they were sent, {_shown(after)} on the way)'
    if before > after:
        return where, 'the driver stamps by another clock, or holds states back: let it stamp ' \
                      'them with its ROS clock when it measures, and send them at once'
    return where, f'{_CLOCKS}, or look for what holds messages up on the network'


def _shown(seconds: float) -> str:
    """Return a short time as one reads it."""
    return f'{seconds:.3g} s' if abs(seconds) >= 0.1 else f'{1e3 * seconds:.2g} ms'


def _by_share(topic: str, replayed: Replay, reason: Reason, remedy: str) -> Remark:
    """Return a remark about messages turned away: an error where they are many."""
    count = replayed.counts[reason]
    make = error if count > 0.1 * replayed.total else warning
    return make(topic, f'{count} of {replayed.total} messages turned away: {reason.value}',
                remedy)


def _round_rate(rate: float) -> float:
    """Return a rate as somebody would have written it."""
    for usual in (100.0, 125.0, 200.0, 250.0, 400.0, 500.0, 800.0, 1000.0, 2000.0):
        if abs(rate / usual - 1.0) < 0.05:
            return usual
    return float(f'{rate:.2g}')
