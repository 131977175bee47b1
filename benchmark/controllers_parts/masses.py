# SPDX-License-Identifier: Apache-2.0
"""How soon the mass of a payload is known, where everything but the last link is."""

from __future__ import annotations

from controllers_parts.conditions import PAYLOADS, Condition
from controllers_parts.contenders import NATURAL_FREQUENCY, adaptive, all_links_but_the_last
from controllers_parts.motions import MOTIONS
from controllers_parts.runs import run
from robot_dynamics.model.robot import Robot

MASS, TOLERANCE = 2.0, 0.05

#: Condition, time after which the mass has to be known, and the same in words.
CASES = ((Condition('payload', payload=MASS), 5.0, 'after 5 s without friction'),
         (Condition('payload, friction', payload=MASS, friction=1.0), 20.0,
          'after 20 s with friction'))

LAWS = {'memory': {},
        'natural_memory': {'frequency': NATURAL_FREQUENCY, 'composite': 1.0},
        'natural': {'frequency': NATURAL_FREQUENCY, 'composite': 1.0}}
#: Laws that have to reach the mass in time.
WANTED = ('memory', 'natural_memory')


def measure(robot: Robot) -> tuple[dict[str, str], bool]:
    """Return the table, and whether the laws that have to reach it do."""
    lines = ['| law | payload at, m | motion | '
             + ' | '.join(f'{words}, kg' for _, _, words in CASES) + ' |',
             '|---|---|---|' + '---:|' * len(CASES)]
    good = True
    for law, gains in LAWS.items():
        for position, place in enumerate(PAYLOADS if law in WANTED else PAYLOADS[:1]):
            for motion in MOTIONS:
                cells = []
                for condition, seconds, _ in CASES:
                    entry = run(robot, condition, motion, law, seconds, position=position,
                                make=lambda robot, law=law, gains=gains: adaptive(
                                    robot, law=law, known=all_links_but_the_last(robot), **gains))
                    reached = not entry['trouble'] \
                        and abs(entry['mass'] - MASS) <= TOLERANCE * MASS
                    good &= reached or law not in WANTED
                    cells.append(entry['trouble'] or f'{entry["mass"]:.2f}'
                                 + ('' if reached else ' **missed**'))
                lines.append(f'| `{law}` | {place} | {motion} | ' + ' | '.join(cells) + ' |')
                print(lines[-1], flush=True)
    return {'masses': '\n'.join(lines)}, good
