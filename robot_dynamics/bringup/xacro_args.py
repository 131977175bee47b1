# SPDX-License-Identifier: Apache-2.0
"""Arguments of xacro files: their option on command lines, and their text."""

from __future__ import annotations

import argparse
import shlex

from robot_dynamics.errors import ModelError

#: The option; launch files have the argument ``robot_args``.
FLAG = '--xacro-args'
HELP = 'Values for arguments of a xacro file, in one text: name:=ur ur_type:=ur5e.'


def add_xacro_args(parser: argparse.ArgumentParser) -> None:
    """Add the option to a command line, as ``robot_args``."""
    parser.add_argument(FLAG, dest='robot_args', default='', metavar='ARGUMENTS', help=HELP)


def parse_xacro_args(text: str) -> dict[str, str]:
    """Arguments of xacro from a text like ``'name:=ur ur_type:=ur5e'``.

    Raises a `ModelError` for any other text.

    Examples
    --------
    >>> from robot_dynamics.bringup.xacro_args import parse_xacro_args
    >>> parse_xacro_args("name:=ur title:='UR 5e'")
    {'name': 'ur', 'title': 'UR 5e'}
    """
    try:
        pairs = [part.partition(':=') for part in shlex.split(text)]
    except ValueError:  # a quotation mark without its end
        pairs = [(text, '', '')]
    for name, is_assigned, _ in pairs:
        if not name or not is_assigned:
            raise ModelError(f'must be of the form NAME:=VALUE, got {name!r}',
                             subject='an argument of xacro',
                             remedy="separate several by spaces: 'name:=ur ur_type:=ur5e'")
    return {name: value for name, _, value in pairs}
