# SPDX-License-Identifier: Apache-2.0
"""Write the equations of motion of a robot as formulas, in a language of choice.

The robot is one of this package by name, a URDF or xacro file, or a DH table, where lengths and
gravity may be symbols.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from robot_dynamics.bringup.descriptions import DH_SUFFIXES, load_description
from robot_dynamics.bringup.xacro_args import add_xacro_args
from robot_dynamics.closed_form.description import Description, describe, rotations_note
from robot_dynamics.closed_form.quantities import METHODS, QUANTITIES, derive
from robot_dynamics.closed_form.recording import Recording
from robot_dynamics.closed_form.reduction import combinations, reduced, structure
from robot_dynamics.closed_form.writers import (
    LANGUAGES,
    columns_note,
    constants_note,
    decimal_text,
    document,
)
from robot_dynamics.errors import BringupError
from robot_dynamics.files import require_replaceable, write_file
from robot_dynamics.model.shipped import resolve_robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_xacro_args(parser)
    parser.add_argument('robot', metavar='ROBOT',
                        help='name of a robot of this package, or a URDF, xacro or DH file')
    parser.add_argument('--what', choices=QUANTITIES, default='slotine-li', metavar='WHAT',
                        help='what to derive: ' + ', '.join(QUANTITIES))
    parser.add_argument('--format', choices=LANGUAGES, default='text', metavar='FORMAT',
                        help='language to write in: ' + ', '.join(LANGUAGES))
    parser.add_argument('--output', type=Path, metavar='FILE', help='file to write, not stdout')
    parser.add_argument('--method', choices=METHODS, default='recursion', metavar='METHOD',
                        help='recursion through the bodies, or blocks: from the energies')
    parser.add_argument('--symbols', action='store_true',
                        help='lengths and gravity as symbols, not as numbers')
    parser.add_argument('--numbers', action='store_true',
                        help="the robot's own inertial parameters as numbers in M, C, g and tau")
    parser.add_argument('--explicit', action='store_true',
                        help='every entry written out, without intermediates (small robots; '
                             'needs SymPy)')
    parser.add_argument('--reduced', action='store_true',
                        help='a regressor without the columns that are zero')
    parser.add_argument('--combinations', action='store_true',
                        help='list the combinations of parameters that determine the efforts '
                             '(small robots; needs SymPy)')


def run(options: argparse.Namespace) -> int:
    """Derive the formulas and write them."""
    _check_options(options)
    if options.output is not None:
        require_replaceable(options.output.parent, (options.output.name,))
    path = resolve_robot(options.robot)
    source = path if path.suffix in DH_SUFFIXES else \
        load_description(path, options.robot_args).robot
    description = describe(source, symbolic=options.symbols)
    recording = derive(description, options.what, method=options.method,
                       numeric_parameters=options.numbers)
    notes = [*rotations_note(description), *constants_note(recording)]
    if QUANTITIES[options.what].is_regressor:
        recording, facts = _facts(recording, description, options)
        notes += facts
    text = document(recording, options.format, notes=notes, is_explicit=options.explicit)
    if options.output is None:
        sys.stdout.write(text)
        return 0
    write_file(options.output, text)
    return 0


def _check_options(options: argparse.Namespace) -> None:
    """Raise an error for an option that does not apply to the quantity."""
    is_regressor = QUANTITIES[options.what].is_regressor
    given = {'--reduced': options.reduced and not is_regressor,
             '--combinations': options.combinations and not is_regressor,
             '--numbers': options.numbers and is_regressor}
    for option, has_no_effect in given.items():
        if has_no_effect:
            kinds = ', '.join(name for name, quantity in QUANTITIES.items()
                              if quantity.is_regressor != is_regressor)
            raise BringupError(f'has no effect on {options.what}', subject=option,
                               remedy=f'leave it out, or give --what one of: {kinds}')


def _facts(recording: Recording, description: Description, options: argparse.Namespace
           ) -> tuple[Recording, list[str]]:
    """Regressor, optionally without zero columns, and notes on its structure."""
    found = structure(recording)
    names = recording.columns
    facts = [f'{len(found.zero)} of {len(names)} parameters have no effect: '
             + ', '.join(names[c] for c in found.zero)] if found.zero else []
    facts.append(f'{found.rank} combinations of parameters can be identified from motion and '
                 'effort')
    if options.combinations:
        facts += [f'  {decimal_text(combination)}' for combination in combinations(description)]
    if options.reduced:
        recording = reduced(recording, found.effective)
    return recording, columns_note(recording) + facts
