# SPDX-License-Identifier: Apache-2.0
"""Wrong inputs by the thousand, and how the product answers them: ``--help``.

Robot descriptions, DH tables, parameter files, recordings, joint states and trajectories are
mutated, and handed to the product in processes with bounded memory, two at a time. Each is
made from the seed, its kind and its number alone, so that any of them can be looked at again.

    python benchmark/fuzz.py --count 20000 --seed 1 --write
    python benchmark/fuzz.py --repeat urdf:1:4711 --save /tmp/input
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from fuzzing import pool, table
from fuzzing.judge import examine
from fuzzing.kinds import KINDS, counts
from fuzzing.worker import Share, work

DOCUMENT = Path(__file__).resolve().parent.parent / 'docs' / 'reliability.md'


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.share:
        share = json.loads(options.share)
        work(Share(**{**share, 'after': share['after'] and tuple(share['after'])}))
        return 0
    if options.repeat:
        return _repeat(options.repeat, options.save)
    begin = time.monotonic()
    wanted = counts(options.count)
    if options.kinds:
        wanted = {name: options.count for name in options.kinds}
    results = pool.run(wanted, options.seed, options.workers)
    rows = table.rows(results, wanted)
    print(table.markdown(rows))
    seconds = time.monotonic() - begin
    print(f'\n{sum(wanted.values())} inputs, seed {options.seed}, {options.workers} processes, '
          f'{seconds:.0f} s')
    print(table.growth(results))
    faults = table.faults(results, options.seed)
    print('\n'.join(faults))
    if options.json:
        options.json.write_text(json.dumps([row.__dict__ for row in rows]), encoding='utf-8')
    if options.write:
        table.write(DOCUMENT, rows, results, sum(wanted.values()), options.seed)
    return 1 if faults else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--count', type=int, default=20_000, help='inputs of all kinds together')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--kinds', nargs='+', choices=KINDS,
                        help='only these, each with as many inputs as --count says')
    parser.add_argument('--workers', type=int, default=2, help='processes at a time')
    parser.add_argument('--write', action='store_true', help=f'put the table into {DOCUMENT.name}')
    parser.add_argument('--json', type=Path, metavar='FILE', help='leave the table in this file')
    parser.add_argument('--repeat', metavar='KIND:SEED:NUMBER', help='examine one input again')
    parser.add_argument('--save', type=Path, help='where to leave the input that is repeated')
    parser.add_argument('--share', help=argparse.SUPPRESS)
    return parser


def _repeat(which: str, save: Path | None) -> int:
    """Examine one input again, here, and show what happens."""
    name, seed, index = which.split(':')
    with tempfile.TemporaryDirectory() as folder:
        kind = KINDS[name](Path(folder))
        item = kind.make(int(seed), int(index))
        if save is None:
            sys.stdout.write(kind.shown(item)[:4000].decode('utf-8', 'backslashreplace') + '\n')
        else:
            save.write_bytes(kind.shown(item))
        outcome = examine(kind, item)
        print(outcome, file=sys.stderr)
        if outcome.label in ('crashed', 'broken'):
            kind.run(item)
    return 1 if outcome.fault else 0


if __name__ == '__main__':
    sys.exit(main())
