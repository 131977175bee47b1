# SPDX-License-Identifier: Apache-2.0
"""Packages that import their names on first use, so that each use imports one module only.

The ``__init__`` of such a package imports its names only for type checkers::

    if TYPE_CHECKING:
        from robot_dynamics.model.robot import Robot
    else:
        __getattr__ = lazy_names(__name__, __file__)

These imports are read from its text, so that they are not repeated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(package: str, file: str) -> Callable[[str], Any]:
    """``__getattr__`` of a package: the names that its file imports, each on first use."""
    @cache
    def modules() -> dict[str, str]:
        tree = ast.parse(Path(file).read_text(encoding='utf-8'))
        return {alias.name: node.module for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom) and node.module for alias in node.names}

    def attribute(name: str) -> Any:
        if name in modules():
            return getattr(import_module(modules()[name]), name)
        raise AttributeError(f'module {package!r} has no attribute {name!r}')

    return attribute
