# SPDX-License-Identifier: Apache-2.0
"""Writes what is made of the parameter tables: a page, and a parameter file for each node.

To be run in the repository: ``python -m robot_dynamics.nodes.documents.parameter_documents``.
"""

from __future__ import annotations

from pathlib import Path

from robot_dynamics.nodes.documents.parameter_page import page
from robot_dynamics.nodes.documents.parameter_tables import TABLES
from robot_dynamics.nodes.documents.parameter_yaml import parameter_file

_COMMAND = 'python -m robot_dynamics.nodes.documents.parameter_documents'


def documents() -> dict[Path, str]:
    """Return every document by its path in the repository."""
    return {Path('docs', 'parameters.md'): page(_COMMAND),
            **{Path('config', 'parameters', f'{name}.yaml'): parameter_file(
                name, table, f'Every parameter of {name} at its default. Copy what you change: '
                             f'this file is written anew by {_COMMAND}.')
               for name, table in TABLES.items()}}


def write() -> None:
    """Write them below the current folder, which has to be the repository."""
    for path, text in documents().items():
        path.write_text(text, encoding='utf-8')
        print(path)


if __name__ == '__main__':
    write()
