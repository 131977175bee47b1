# SPDX-License-Identifier: Apache-2.0
"""Gains of the adaptation ten times what is allowed, and whether that ends safely."""

from __future__ import annotations

import math

from controllers_parts.conditions import CONDITIONS
from controllers_parts.contenders import DELAY, PERIOD
from controllers_parts.runs import run
from robot_dynamics.control.feedback.gains import AdaptationGains, FeedbackGains, largest_frequency
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.model.robot import Robot

#: Gamma over the largest that is allowed.
EXCESS = 10.0
LAWS = ('projection', 'memory', 'natural', 'natural_memory')
MOVED = ('Fourier', 'point to point')
SECONDS = 20.0


def measure(robot: Robot) -> tuple[dict[str, str], bool]:
    """Return the table, and whether every run ended with finite efforts and real bodies."""
    # Gamma goes with the square of the frequency.
    frequency = math.sqrt(EXCESS) * largest_frequency(FeedbackGains().bandwidth, PERIOD, DELAY)
    lines = ['| law | condition | motion | what happened | RMS error 16-20 s, mrad |',
             '|---|---|---|---|---:|']
    good = True
    for law in LAWS:
        gains = AdaptationGains(law=law, frequency=frequency, composite=1.0)
        for condition in CONDITIONS:
            for motion in MOVED if condition.name in ('payload', 'mixed') else ():
                # They pass as gains of a faster loop.
                entry = run(robot, condition, motion, law, SECONDS,
                            make=lambda robot, gains=gains: AdaptiveController(
                                robot, adaptation=gains, period=1e-4, delay=0.0))
                good &= not (entry['trouble'] or entry['inconsistent'])
                happened = entry['trouble'] or (
                    f'frozen: {entry["frozen"]}' if entry['frozen'] else 'went on')
                error = '' if entry['trouble'] else f'{entry["rms"]["20"]:.3g}'
                lines.append(f'| `{law}` | {condition.name} | {motion} | {happened} | {error} |')
                print(lines[-1], flush=True)
    return {'excess': '\n'.join(lines)}, good
