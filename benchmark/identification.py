# SPDX-License-Identifier: Apache-2.0
"""Identification on real logs, beside goals: one command, one table in docs/identification.md.

The logs are not part of the repository: ``--data`` is the folder that the YAML files in
benchmark/identification_logs, which say all that is special about each log, point into.
``--speed`` identifies a simulated arm from a recording of a million samples instead.

    python benchmark/identification.py --data ../shared/data --write
    python benchmark/identification.py --speed
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from identification_speed import measure_speed
from numpy.typing import NDArray
from sections import DOCS, write_section

from robot_dynamics.identification.dataset import Dataset, load_dataset, read_settings
from robot_dynamics.identification.identify import (
    EstimateSettings,
    estimate_settings,
    identify,
)
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.result import Identification
from robot_dynamics.identification.signals import motions_of
from robot_dynamics.identification.signals.filters import low_pass
from robot_dynamics.model.robot import Robot

FloatArray = NDArray[np.float64]

LOGS = Path(__file__).parent / 'identification_logs'
DOCUMENT = DOCS / 'identification.md'
#: Seconds that do not count at both ends of a segment, as filters settle there.
TRIM = 0.5


def load(name: str, data: Path) -> tuple[Robot, Dataset, Mapping[str, Any]]:
    """Return robot, log and all that the YAML of a log says."""
    settings, content = read_settings(LOGS / f'{name}.yaml')
    about = content['robot']
    text = (data / about['urdf']).read_text(encoding='utf-8')
    if 'second_origin_of' in about:
        text = without_second_origin(text, about['second_origin_of'])
    robot = Robot.from_urdf(text, joints=about.get('joints'))
    return robot, load_dataset(data / content['source'], robot, settings), content


def without_second_origin(text: str, joint: str) -> str:
    """Return a description of which a joint has one origin, as lenient readers see it."""
    head, joint_text, tail = re.split(rf'(<joint name="{joint}".*?</joint>)', text, maxsplit=1,
                                      flags=re.DOTALL)
    for other in re.findall(r'<origin[^>]*/>', joint_text)[1:]:
        joint_text = joint_text.replace(other, '')
    return head + joint_text + tail


def squares(found: Identification, dataset: Dataset, model: Model, cutoff: float,
            times: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """Return sums of squares of low-passed errors and efforts of each joint between two times.

    rel = |LP(tau) - LP(prediction)| / |LP(tau)|, LP the same filter for every method; the
    prediction stands for what is slower than the cut-off of its equations, and is filtered
    there as they are.
    """
    errors = efforts = 0.0
    for motion in motions_of(dataset, found.signals):
        predicted = low_pass(model.efforts(motion), motion.rate, found.signals.cutoff)
        left = low_pass(motion.effort - predicted, motion.rate, cutoff)
        effort = low_pass(motion.effort, motion.rate, cutoff)
        trim = int(TRIM * motion.rate)
        kept = (motion.time >= times[0]) & (motion.time < times[1])
        kept[:trim] = kept[motion.count - trim:] = False
        errors = errors + np.sum(left[kept] ** 2, axis=0)
        efforts = efforts + np.sum(effort[kept] ** 2, axis=0)
    return errors, efforts


def relative(parts: list[tuple[FloatArray, FloatArray]]) -> float:
    """Return the total relative error of several pieces, in percent."""
    return 100.0 * float(np.sqrt(sum(e.sum() for e, _ in parts) / sum(s.sum() for _, s in parts)))


def run(name: str, data: Path) -> str:
    """Identify the robot of one log; return its row of the table."""
    robot, dataset, content = load(name, data)
    cutoff = float(content['evaluation_cutoff'])
    start = time.perf_counter()
    found = identify(dataset, robot, estimate_settings(content))
    seconds = time.perf_counter() - start
    ever = (-np.inf, np.inf)
    inside = relative([squares(found, dataset, found.model, cutoff, ever)])
    twofold = relative([
        squares(found, dataset, found.halves[0], cutoff, (found.middle, np.inf)),
        squares(found, dataset, found.halves[1], cutoff, (-np.inf, found.middle))])
    chosen = {choice.what: choice.value for choice in found.choices}
    for choice in found.choices:
        print(f'  {choice.what}: {choice.value} ({choice.reason})')
    goal, baseline = content['goal'], content['baseline']
    row = (f'| {content["name"]} | {baseline[0]:g} / {baseline[1]:g} | {goal[0]:g} / {goal[1]:g} '
           f'| **{inside:.2f} / {twofold:.2f}** | {chosen["friction"]} | '
           f'{chosen.get("gravity", "as described")} | {chosen.get("lag of efforts", "0")} | '
           f'{found.signals.cutoff:.3g} Hz, {found.signals.velocity} |')
    print(row, f'{seconds:.1f} s', flush=True)
    return row


def as_published(found: Identification, term: str) -> dict[str, float]:
    """Return parameters of a friction term as publications of coupled wrists have them.

    What is linear in the speed of a motor that two joints turn belongs, as far as a joint's
    own speed counts, to that joint's parameter.
    """
    own, axes, names = found.friction(term), found.model.axes, found.model.axis_names
    if term == 'coulomb':
        return own
    return {name: value + sum(own[names[k]] * axes[k, j] ** 2
                              for k in range(len(axes[0]), len(axes)) if j < len(axes[0]))
            for j, (name, value) in enumerate(own.items())}


def published(name: str, data: Path) -> list[str]:
    """Compare friction and rotors with published values, by the terms of the paper."""
    robot, dataset, content = load(name, data)
    found = identify(dataset, robot, EstimateSettings(
        estimator='wls', friction=('offset', 'viscous', 'coulomb'), gravity='known', lag=0.0,
        cutoff=float(content['evaluation_cutoff']), coulomb_width=0.02))
    rows = []
    for term, values in content['published'].items():
        ours = as_published(found, term)
        rows.append(f'| {term} | ' + ' | '.join(
            f'{value:g}: {one:.4g} ({100 * (one / value - 1):+.1f} %)'
            for value, one in zip(values, ours.values(), strict=True)) + ' |')
    heads = list(ours)
    return ['| | ' + ' | '.join(heads) + ' |', '|---' * (len(heads) + 1) + '|', *rows]


def write(lines: list[str]) -> None:
    """Put the tables into the document."""
    write_section(DOCUMENT, 'identification', '\n'.join(['', *lines, '']))


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--data', type=Path, default=Path('../shared/data'))
    parser.add_argument('--logs', nargs='*', default=sorted(p.stem for p in LOGS.glob('*.yaml')))
    parser.add_argument('--speed', action='store_true')
    parser.add_argument('--samples', type=int, default=1_000_000)
    parser.add_argument('--write', action='store_true')
    arguments = parser.parse_args()
    if arguments.speed:
        with tempfile.TemporaryDirectory() as folder:
            print(measure_speed(Path(folder), arguments.samples))
        return 0
    lines = ['| log | plain baseline | goal | in sample / 2fold, % | friction | gravity | lag | '
             'signals |', '|---|---|---|---|---|---|---|---|']
    for name in arguments.logs:
        print(name)
        lines.append(run(name, arguments.data))
    for name in arguments.logs:
        if 'published' in read_settings(LOGS / f'{name}.yaml')[1]:
            table = published(name, arguments.data)
            print('\n'.join(table))
            lines += ['', f'{name}, published: ours, by the friction terms of the publication',
                      '', *table]
    if arguments.write:
        write(lines)
    return 0


if __name__ == '__main__':
    sys.exit(main())
