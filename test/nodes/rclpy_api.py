# SPDX-License-Identifier: Apache-2.0
"""Lists what a version of rclpy offers, from its source: names, members and parameters.

``test/nodes/humble_rclpy_api.txt`` is what this says of tag 3.3.4, of May 2022, the rclpy that
Humble was released with::

    git clone --branch 3.3.4 https://github.com/ros2/rclpy.git
    python test/nodes/rclpy_api.py rclpy/rclpy > test/nodes/humble_rclpy_api.txt

Nothing of rclpy is imported or run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

#: ``py::class_<WaitSet, Destroyable>(module, "WaitSet")`` and ``.def("wait", ...)`` of pybind11.
_CLASS = re.compile(r'py::(?:class_|enum_)<[^;]*?>\s*\(\s*\w+\s*,\s*"(\w+)"')
_MEMBER = re.compile(r'\.\s*(?:def(?:_\w+)?|value)\s*\(\s*"(\w+)"')
_FUNCTION = re.compile(r'\bm\.def\s*\(\s*"(\w+)"')
_EXCEPTION = re.compile(r'register_exception<[^;]*?>\s*\(\s*\w+\s*,\s*"(\w+)"')
_ANY = '**'


def lines_of(source: Path) -> Iterator[str]:
    """Yield a line for each name: ``rclpy.timer.Timer.reset()``, ``rclpy.qos.QoSPolicyKind``.

    Parameters
    ----------
    source : Path
        The folder of the ROS package, with ``rclpy/`` and ``src/`` in it, or that of the Python
        package alone.
    """
    package = source / 'rclpy' if (source / 'rclpy' / '__init__.py').is_file() else source
    for path in sorted(package.rglob('*.py')):
        module = '.'.join(['rclpy', *path.relative_to(package).with_suffix('').parts])
        tree = ast.parse(path.read_text(encoding='utf-8'))
        yield from _of_body(module.removesuffix('.__init__'), tree.body)
    for path in sorted((source / 'src').rglob('*.cpp')):
        yield from _of_cpp(path.read_text(encoding='utf-8'))


def _of_body(scope: str, body: list[ast.stmt]) -> Iterator[str]:
    """Yield what the statements of a module or a class define."""
    yield scope
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f'{scope}.{node.name}({", ".join(_parameters(node.args))})'
            yield from _assigned_to_self(scope, node)
        elif isinstance(node, ast.ClassDef):
            yield from _of_body(f'{scope}.{node.name}', node.body)
            yield from (f'{scope}.{node.name}({", ".join(_parameters(member.args))})'
                        for member in node.body
                        if isinstance(member, ast.FunctionDef) and member.name == '__init__')
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (f'{scope}.{alias.asname or alias.name}' for alias in node.names)
        elif isinstance(node, (ast.If, ast.Try)):
            yield from _of_body(scope, [*node.body, *node.orelse])
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (f'{scope}.{target.id}' for target in targets
                        if isinstance(target, ast.Name))


def _parameters(arguments: ast.arguments) -> list[str]:
    """Return the names that can be given as keywords; `_ANY` where all can."""
    names = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)
             if argument.arg not in ('self', 'cls')]
    return names + [_ANY] * (arguments.kwarg is not None)


def _assigned_to_self(scope: str, function: ast.AST) -> Iterator[str]:
    """Yield the attributes that a method sets."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) \
                and isinstance(node.value, ast.Name) and node.value.id == 'self':
            yield f'{scope}.{node.attr}'


def _of_cpp(text: str) -> Iterator[str]:
    """Yield what a file hands to Python by pybind11; its parameters are not looked at."""
    scope = 'rclpy._rclpy'
    found = sorted((match.start(), kind, match.group(1))
                   for kind, pattern in (('class', _CLASS), ('function', _FUNCTION),
                                         ('exception', _EXCEPTION), ('member', _MEMBER))
                   for match in pattern.finditer(text))
    for _, kind, name in found:
        if kind == 'class':
            scope = f'rclpy._rclpy.{name}'
            yield scope
        elif kind == 'member':
            yield f'{scope}.{name}'
        else:
            yield f'rclpy._rclpy.{name}'


def main() -> None:
    """Print the list for the source that the command line names."""
    skipped = re.compile(r'\.__\w+__|\._(?!rclpy)')
    print('# SPDX-License-Identifier: Apache-2.0')
    print('# What the rclpy of Humble offers; test/nodes/rclpy_api.py says how this was made.')
    for line in sorted(set(lines_of(Path(sys.argv[1])))):
        if not skipped.search(line.partition('(')[0]):
            print(line)


if __name__ == '__main__':
    main()
