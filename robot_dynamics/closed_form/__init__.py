# SPDX-License-Identifier: Apache-2.0
"""The equations of motion as formulas: derived once, written in five languages.

`derive` records a quantity of a robot as a `Recording`, and `document` writes it as text,
LaTeX, Python, C or in the Wolfram language. Names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robot_dynamics.closed_form.algebra import explicit, expressions
    from robot_dynamics.closed_form.description import describe
    from robot_dynamics.closed_form.quantities import derive
    from robot_dynamics.closed_form.reduction import combinations, reduced, structure
    from robot_dynamics.closed_form.writers import document

_HOMES = {
    'robot_dynamics.closed_form.algebra': ('explicit', 'expressions'),
    'robot_dynamics.closed_form.quantities': ('derive',),
    'robot_dynamics.closed_form.description': ('describe',),
    'robot_dynamics.closed_form.writers': ('document',),
    'robot_dynamics.closed_form.reduction': ('combinations', 'reduced', 'structure'),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ['combinations', 'derive', 'describe', 'document', 'explicit', 'expressions', 'reduced',
           'structure']


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
