# SPDX-License-Identifier: Apache-2.0
"""The result of a run in words and as a table for the terminal."""

from __future__ import annotations

import math

from robot_dynamics.report.summary import Loop, Summary


def verdict(summary: Summary) -> str:
    """Return in one sentence what came out."""
    before, after = (milli(tracking.total, summary.unit)
                     for tracking in (summary.before, summary.after))
    if summary.let_go:
        return (f'Let go, the arm is {before} from the pose held before at first, {after} at the '
                'end.')
    if summary.adaptation_start is None:
        return (f'Without adaptation the arm follows its reference to {before} at first and '
                f'{after} at the end.')
    if summary.adapts_from_start:
        length = summary.before.window.length
        return (f'Adapting from the start, the arm follows its reference to {before} in the first '
                f'{length:.0f} s and to {after} in the last.')
    seconds = summary.after.window.end - summary.adaptation_start
    if summary.improvement >= 1.05:
        return (f'After {seconds:.0f} s of adaptation the arm follows its reference '
                f'{times(summary.improvement)} more closely: {before} before, {after} now.')
    return (f'{seconds:.0f} s of adaptation did not improve tracking: {before} before, '
            f'{after} now.')


def table(summary: Summary) -> str:
    """Return the tracking error of each joint in the two windows, and the loop."""
    title = f'RMS tracking error, {summary.unit}'
    width = max(len(title), *map(len, summary.joint_names))
    first, last = summary.compared
    heading = f'{title:<{width}}   {first:>10}   {last:>10}   {"ratio":>7}'
    rows = [(name, float(before), float(after)) for name, before, after
            in zip(summary.joint_names, summary.before.rms, summary.after.rms, strict=True)]
    rows.append(('all joints', summary.before.total, summary.after.total))
    lines = [heading, '-' * len(heading)]
    for name, before, after in rows:
        if name == 'all joints':
            lines.append('-' * len(heading))
        lines.append(f'{name:<{width}}   {figures(1e3 * before):>10}   '
                     f'{figures(1e3 * after):>10}   {ratio(before, after):>7}')
    loop = summary.loop
    lines += [
        '',
        f'loop rate        {loop.state_rate:.1f} joint states a second, '
        f'{loop.command_rate:.1f} commands',
        f'longest period   {1e3 * loop.worst_period:.1f} ms',
        f'latency          {latency(loop, "{} ms median, {} ms at 99 %, {} ms worst")}',
    ]
    if summary.interruptions:
        lines += ['', interrupted(summary.interruptions)]
    return '\n'.join(lines)


def latency(loop: Loop, words: str) -> str:
    """Return median, 99 % and worst latency of a loop within these words, where they are known."""
    if math.isnan(loop.latency_median):
        return 'not known: it is told by a controller, and not in simulated time'
    return words.format(*(f'{1e3 * value:.2f}' for value in (
        loop.latency_median, loop.latency_p99, loop.latency_worst)))


def interrupted(count: int) -> str:
    """Return what to make of a run in which the controller stopped tracking now and then."""
    often = 'once' if count == 1 else f'{count} times'
    return (f'The controller stopped tracking {often}, in a simulation most likely because this '
            'machine was busy: the figures are worse than they could be.')


def milli(value: float, unit: str) -> str:
    """Return a value in thousandths with three figures, e.g. ``'21.4 mrad'``."""
    return f'{figures(1e3 * value)} {unit}'


def ratio(before: float, after: float) -> str:
    """Return how many times smaller the second is, e.g. ``'23 x'``."""
    return f'{figures(before / after, 2)} x' if after > 0 else '-'


def times(factor: float) -> str:
    """Return a factor in words, e.g. ``'23 times'``."""
    if factor == math.inf:
        return 'infinitely'
    return f'{figures(factor, 2)} times'


def figures(value: float, digits: int = 3) -> str:
    """Return a positive number with so many significant figures, without exponent."""
    if not 0.0 < value < math.inf:
        return f'{value:.0f}'
    # The exponent is that of the rounded number: 0.999 with two figures is 1.0.
    decimals = digits - 1 - int(f'{value:.{digits - 1}e}'.partition('e')[2])
    return f'{value:.{min(max(decimals, 0), digits + 1)}f}'
