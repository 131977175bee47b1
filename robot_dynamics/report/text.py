# SPDX-License-Identifier: Apache-2.0
"""The result of a run in words and as a table for the terminal."""

from __future__ import annotations

from robot_dynamics.report.summary import Summary


def verdict(summary: Summary) -> str:
    """Return in one sentence what came out."""
    before, after = milli(summary.before.total), milli(summary.after.total)
    if summary.adaptation_start is None:
        return (f'Without adaptation the arm follows its reference to {before} at first and '
                f'{after} at the end.')
    seconds = summary.after.window.end - summary.adaptation_start
    if summary.improvement >= 1.05:
        return (f'After {seconds:.0f} s of adaptation the arm follows its reference '
                f'{times(summary.improvement)} more closely: {before} before, {after} now.')
    return (f'{seconds:.0f} s of adaptation did not improve tracking: {before} before, '
            f'{after} now.')


def table(summary: Summary) -> str:
    """Return the tracking error of each joint before and after adaptation, and the loop."""
    width = max(len('all joints'), *map(len, summary.joint_names))
    heading = f'{"RMS tracking error":<{width}}   {"before":>10}   {"after":>10}   {"ratio":>7}'
    width = max(width, len('RMS tracking error'))
    rows = [(name, float(before), float(after)) for name, before, after
            in zip(summary.joint_names, summary.before.rms, summary.after.rms, strict=True)]
    rows.append(('all joints', summary.before.total, summary.after.total))
    lines = [heading, '-' * len(heading)]
    for name, before, after in rows:
        if name == 'all joints':
            lines.append('-' * len(heading))
        lines.append(f'{name:<{width}}   {milli(before):>10}   {milli(after):>10}   '
                     f'{ratio(before, after):>7}')
    loop = summary.loop
    lines += [
        '',
        f'loop rate        {loop.state_rate:.1f} Hz, {100 * loop.answered:.2f} % of the joint '
        'states answered',
        f'longest period   {1e3 * loop.worst_period:.1f} ms',
        f'latency          {1e3 * loop.latency_median:.2f} ms median, '
        f'{1e3 * loop.latency_p99:.2f} ms at 99 %, {1e3 * loop.latency_worst:.2f} ms worst',
    ]
    return '\n'.join(lines)


def milli(value: float) -> str:
    """Return an angle in mrad with three figures, e.g. ``'21.4 mrad'``."""
    return f'{figures(1e3 * value)} mrad'


def ratio(before: float, after: float) -> str:
    """Return how many times smaller the second is, e.g. ``'23 x'``."""
    return f'{figures(before / after, 2)} x' if after > 0 else '-'


def times(factor: float) -> str:
    """Return a factor in words, e.g. ``'23 times'``."""
    return f'{figures(factor, 2)} times'


def figures(value: float, digits: int = 3) -> str:
    """Return a positive number with so many significant figures and no exponent."""
    if value == 0 or value >= 10 ** digits:
        return f'{value:.0f}'
    text = f'{value:#.{digits}g}'
    return f'{value:.{digits}f}' if 'e' in text else text.rstrip('.')
