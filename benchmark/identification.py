# SPDX-License-Identifier: Apache-2.0
"""Identification on real logs, beside goals: one command, one table in docs/identification.md.

The logs are not part of the repository: ``--data`` is the folder that the YAML files in
benchmark/identification_logs, which describe each log, refer to.
``--speed`` identifies a simulated arm from a recording of a million samples instead, and
``--fleet`` measures the tasks of examples/identify_fleet.py; ``--blocks`` compares an hour of
production, its best blocks and an excitation run.

    python benchmark/identification.py --data ../shared/data --write    # both tables of logs
    python benchmark/identification.py --results FOLDER --logs tiago    # kept in the folder
    python benchmark/identification.py --results FOLDER --write         # only what is missing
    python benchmark/identification.py --speed --write
    python benchmark/identification.py --fleet --write
    python benchmark/identification.py --blocks --write
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from identification_blocks import measure_blocks
from identification_drives import run_drives
from identification_speed import measure_fleet, measure_speed
from sections import DOCS, write_section

from robot_dynamics.bringup.commands.identify import load_robot
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.closed_loop.estimators import CLOSED_LOOP
from robot_dynamics.identification.dataset.dataset import Dataset, load_dataset
from robot_dynamics.identification.dataset.settings import read_settings
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.result import Identification
from robot_dynamics.identification.rigid import estimate_settings, identify
from robot_dynamics.identification.signals import low_pass, motions_of
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot, effort_units
from robot_dynamics.report.words import VERDICT_WORDS

LOGS = Path(__file__).parent / 'identification_logs'
DOCUMENT = DOCS / 'identification.md'
#: Seconds that do not count at both ends of a segment, as filters settle there.
TRIM = 0.5

Result = TypeVar('Result')


def described(name: str, data: Path) -> Robot:
    """Robot of a log."""
    return load_robot(read_settings(LOGS / f'{name}.yaml')[1], (LOGS, data))[1]


def load(name: str, data: Path) -> tuple[Robot, Dataset, Mapping[str, Any]]:
    """Robot, log and content of the YAML of a log."""
    settings, content = read_settings(LOGS / f'{name}.yaml')
    robot = load_robot(content, (LOGS, data))[1]
    return robot, load_dataset(data / content['source'], robot, settings), content


def squares(found: Identification, dataset: Dataset, model: Model, cutoff: float,
            times: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """Sums of squares of low-passed errors and efforts of each joint between two times.

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
    """Total relative error of several pieces, in percent."""
    return 100.0 * float(np.sqrt(sum(e.sum() for e, _ in parts) / sum(s.sum() for _, s in parts)))


def errors(found: Identification, dataset: Dataset, cutoff: float) -> tuple[float, float]:
    """Errors of the fit, and of each half of the log predicted from the other, in percent."""
    ever = (-np.inf, np.inf)
    return (relative([squares(found, dataset, found.model, cutoff, ever)]), relative([
        squares(found, dataset, found.halves[0], cutoff, (found.middle, np.inf)),
        squares(found, dataset, found.halves[1], cutoff, (-np.inf, found.middle))]))


def with_cost(work: Callable[[], Result]) -> tuple[Result, str]:
    """Result of a computation, and two cells: its processor time, s, and largest memory, MB."""
    Path('/proc/self/clear_refs').write_text('5')  # the largest memory so far is forgotten
    start = time.process_time()
    result = work()
    seconds = time.process_time() - start
    memory = int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) / 1024
    return result, f'{seconds:.1f} | {memory:.0f}'


def run(name: str, data: Path) -> tuple[str, str]:
    """Identify the robot of one log; its rows of both tables."""
    robot, dataset, content = load(name, data)
    cutoff = float(content['evaluation_cutoff'])
    found, cost = with_cost(lambda: identify(dataset, robot, estimate_settings(content)))
    inside, twofold = errors(found, dataset, cutoff)
    chosen = {choice.what: choice.value for choice in found.choices}
    for choice in found.choices:
        print(f'  {choice.what}: {choice.value} ({choice.reason})')
    goal, baseline = content['goal'], content['baseline']
    row = (f'| {content["name"]} | {baseline[0]:g} / {baseline[1]:g} | {goal[0]:g} / {goal[1]:g} '
           f'| **{inside:.2f} / {twofold:.2f}** | {chosen["friction"]} | '
           f'{chosen.get("gravity", "as described")} | {chosen.get("lag of efforts", "0")} | '
           f'{found.signals.cutoff:.3g} Hz, {found.signals.velocity} | {verdict(found)} |')
    print(row, flush=True)
    cells = [f'{baseline[0]:g} / {baseline[1]:g}', f'{inside:.2f} / {twofold:.2f}',
             *(other_estimator(name, found, dataset, robot, content) for name in CLOSED_LOOP),
             VERDICT_WORDS[found.verdict], cost]
    methods = f'| {content["name"]} | ' + ' | '.join(cells) + ' |'
    print(methods, flush=True)
    return row, methods


def other_estimator(name: str, found: Identification, dataset: Dataset, robot: Robot,
                    content: Mapping[str, Any]) -> str:
    """Errors of another estimator with the signals and the friction that were selected."""
    friction = next(choice.value for choice in found.choices if choice.what == 'friction')
    settings = replace(estimate_settings(content), estimator=name, friction=friction,
                       cutoff=found.signals.cutoff, lag=found.signals.lag)
    start = time.process_time()
    try:
        other = identify(replace(dataset, velocity_source=found.signals.velocity), robot, settings)
    except RecordingError as error:
        print(f'  {name}: {error}', flush=True)
        return 'loop diverges'
    print(f'  {name}: {time.process_time() - start:.1f} s', flush=True)
    return ' / '.join(f'{one:.2f}' for one in errors(
        other, dataset, float(content['evaluation_cutoff'])))


def verdict(found: Identification) -> str:
    """Verdict, and the largest error of a joint relative to what it is compared with."""
    shares = found.validation.rmse / found.reference
    worst = int(np.argmax(shares))
    robot = found.model.robot
    return (f'{VERDICT_WORDS[found.verdict]}; {robot.joint_names[worst]} '
            f'{found.validation.rmse[worst]:.2g} {effort_units(robot)[worst]}, '
            f'{100 * shares[worst]:.2g} % of {found.reference[worst]:.3g}')


def as_published(found: Identification, term: str) -> dict[str, float]:
    """Parameters of a friction term as in publications of coupled wrists.

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
    found = identify(dataset, robot, estimate_settings(
        {'estimate': content['published_estimate']}))
    rows = []
    for term, values in content['published'].items():
        ours = as_published(found, term)
        rows.append(f'| {term} | ' + ' | '.join(
            f'{value:g}: {one:.4g} ± {found.standard_deviations[f"{name}/{term}"]:.2g} '
            f'({100 * (one / value - 1):+.1f} %)' + _shared(found, f'{name}/{term}')
            for value, (name, one) in zip(values, ours.items(), strict=True)) + ' |')
    heads = list(ours)
    return ['| | ' + ' | '.join(heads) + ' |', '|---' * (len(heads) + 1) + '|', *rows]


def _shared(found: Identification, name: str) -> str:
    """Note on a parameter that is only determined together with others."""
    return ' with its link' if found.classes[name] == 'combined' else ''


def measured(name: str, data: Path) -> tuple[str, str, list[str]]:
    """Rows of a log in both tables, and the lines below the first one."""
    print(name, flush=True)
    content = read_settings(LOGS / f'{name}.yaml')[1]
    if 'output_error' in content:
        robot = load_robot(content, (LOGS, data))[1]
        (row, table), cost = with_cost(lambda: run_drives(robot, data, content))
        cells = [cell.strip() for cell in row.split('|')]
        methods = f'| {content["name"]} | - | - | {cells[4]} | - | {cells[9]} | {cost} |'
    else:
        row, methods = run(name, data)
        table = published(name, data) if 'published' in content else []
        print('\n'.join(table), flush=True)
    head = f'{content["name"]}, published: ours, by the friction terms of the publication'
    return row, methods, ['', head, '', *table] if table else []


def kept(name: str, data: Path, folder: Path | None) -> tuple[str, str, list[str]]:
    """Result of `measured`, from a folder if it was measured before."""
    if folder is None:
        return measured(name, data)
    path = folder / f'{name}.json'
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(measured(name, data)))
    row, methods, table = json.loads(path.read_text())
    return row, methods, table


def write(section: str, lines: list[str]) -> None:
    """Put tables into the document."""
    write_section(DOCUMENT, section, '\n'.join(['', *lines, '']))


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--data', type=Path, default=Path('../shared/data'))
    parser.add_argument('--logs', nargs='*', default=sorted(p.stem for p in LOGS.glob('*.yaml')))
    parser.add_argument('--speed', action='store_true')
    parser.add_argument('--fleet', action='store_true')
    parser.add_argument('--blocks', action='store_true')
    parser.add_argument('--samples', type=int, default=1_000_000)
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--results', type=Path, help='folder of what was measured before')
    arguments = parser.parse_args()
    if arguments.speed or arguments.fleet:
        with tempfile.TemporaryDirectory() as folder:
            lines = measure_speed(Path(folder), described('ur10', arguments.data),
                                  arguments.samples) if arguments.speed \
                else measure_fleet(Path(folder))
        if arguments.write:
            write(f'identification {"speed" if arguments.speed else "fleet"}', lines)
        return 0
    if arguments.blocks:
        lines = measure_blocks()
        if arguments.write:
            write_section(DOCUMENT, 'identification blocks', '\n'.join(['', *lines, '']))
        return 0
    lines = ['| log | plain baseline | goal | in sample / 2fold, % | friction | gravity | lag | '
             'signals | verdict; largest error of a joint |',
             '|---|---|---|---|---|---|---|---|---|']
    methods = ['| log | plain least squares | consistent | output error | IDIM-IV | verdict | '
               'processor, s | memory, MB |', '|---|---|---|---|---|---|---|---|']
    tables: list[str] = []
    for name in arguments.logs:
        row, other, table = kept(name, arguments.data, arguments.results)
        lines.append(row)
        methods.append(other)
        tables += table
    lines += tables
    if arguments.write:
        write('identification', lines)
        write('identification methods', methods)
    return 0


if __name__ == '__main__':
    sys.exit(main())
