# SPDX-License-Identifier: Apache-2.0
"""Hours of simulated time: whether every estimate is that of a body, its mass in its cap."""

from __future__ import annotations

import time
from collections.abc import Sequence

from controllers_parts.conditions import CONDITIONS
from controllers_parts.contenders import CONTENDERS
from controllers_parts.motions import MOTIONS
from controllers_parts.results import Results
from controllers_parts.runs import run
from robot_dynamics.model.robot import Robot

#: Of so many samples one is recorded, as two million do not fit.
EVERY = 50


def measure(robot: Robot, results: Results, conditions: Sequence[str], motions: Sequence[str],
            contenders: Sequence[str], hours: float, *, missing: bool) -> None:
    """Run each case for so long, and keep what came of it."""
    for condition in CONDITIONS:
        for motion in motions if condition.name in conditions else ():
            for name in contenders:
                before = results.get(condition.name, motion, name)
                if missing and before is not None and before['hours'] >= hours:
                    continue
                began = time.time()
                entry = run(robot, condition, motion, name, 3600.0 * hours, every=EVERY)
                entry['hours'] = hours
                results.put(condition.name, motion, name, 0, 0, entry)
                print(f'{condition.name}, {motion}: {name}: {hours:g} h simulated in '
                      f'{time.time() - began:.0f} s: {_words(entry)}', flush=True)


def is_good(entry: dict) -> bool:
    """Whether a run ended, every estimate was that of bodies, and masses were in their caps."""
    return not (entry['trouble'] or entry['frozen'] or entry['inconsistent']
                or entry['mass_share'] > 1.0 + 1e-9)


def holds(results: Results) -> bool:
    """Whether every run was good."""
    return all(is_good(entry) for _, _, _, entry in _entries(results))


def as_table(results: Results) -> str:
    """Return a row for each run."""
    return '\n'.join([
        '| condition | motion | law | simulated, h | estimates looked at that no body has | '
        'largest mass, % of its cap | RMS error after a minute, mrad | |',
        '|---|---|---|---:|---:|---:|---:|---|',
        *(f'| {condition} | {motion} | {name} | {entry["hours"]:g} | {entry["inconsistent"]} | '
          f'{100.0 * entry["mass_share"]:.3g} | {entry["rms"]["60"]:.3g} | '
          f'{"held" if is_good(entry) else "**" + _words(entry) + "**"} |'
          for condition, motion, name, entry in _entries(results))])


def _entries(results: Results):
    """Return condition, motion, law and entry of every run, in the order of the study."""
    return [(condition.name, motion, name, entry) for condition in CONDITIONS
            for motion in MOTIONS for name in CONTENDERS
            if (entry := results.get(condition.name, motion, name)) is not None]


def _words(entry: dict) -> str:
    return entry['trouble'] or entry['frozen'] or (
        'every estimate is that of bodies, masses within their caps' if is_good(entry)
        else f'{entry["inconsistent"]} estimates that no body has, mass {entry["mass_share"]:.3g} '
             'of its cap')
