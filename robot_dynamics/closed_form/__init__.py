# SPDX-License-Identifier: Apache-2.0
"""The equations of motion as formulas, derived once and written in five languages.

`derive` records a quantity of a robot as a `Recording`, and `document` writes it as text,
LaTeX, Python, C or in the Wolfram language. Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from robot_dynamics.closed_form.algebra import explicit, expressions
    from robot_dynamics.closed_form.description import describe
    from robot_dynamics.closed_form.quantities import derive
    from robot_dynamics.closed_form.reduction import combinations, reduced, structure
    from robot_dynamics.closed_form.writers import document
else:
    __getattr__ = lazy_names(__name__, __file__)

__all__ = ['combinations', 'derive', 'describe', 'document', 'explicit', 'expressions', 'reduced',
           'structure']
