# SPDX-License-Identifier: Apache-2.0
"""Nothing of rclpy is used that Humble's does not have; `rclpy_api.py` made the list.

What runs under one version says nothing about an older one. So every file is read for what
it takes from rclpy: imports, names, members and keywords. The type of a variable is not
known, so a member is suspicious when some class of the rclpy that is installed has it and
none of Humble's has.
"""

from __future__ import annotations

import ast
import runpy
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / 'robot_dynamics'
#: No other room may import rclpy.
FILES = sorted((PACKAGE / 'nodes').rglob('*.py'))
ANY = '**'


def table_of(lines: Iterable[str]) -> dict[str, set[str] | None]:
    """Return full names, and the keywords of those that can be called."""
    table: dict[str, set[str] | None] = {}
    for line in lines:
        name, call, parameters = line.strip().partition('(')
        known = table.setdefault(name, None)
        if call:
            given = {word.strip() for word in parameters.removesuffix(')').split(',')} - {''}
            table[name] = given | (known or set())
    return table


def last_names(names: Iterable[str]) -> set[str]:
    return {name.rpartition('.')[2] for name in names}


def own_names() -> set[str]:
    """Return what this package defines itself, as functions, members or attributes."""
    names: set[str] = set()
    for path in PACKAGE.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
    return names


HUMBLE = table_of(line for line in (HERE / 'humble_rclpy_api.txt').read_text().splitlines()
                  if not line.startswith('#'))
KEYWORDS: defaultdict[str, set[str]] = defaultdict(set)
for _name, _parameters in HUMBLE.items():
    if _parameters is not None:
        KEYWORDS[_name.rpartition('.')[2]] |= _parameters
INSTALLED = last_names(table_of(runpy.run_path(str(HERE / 'rclpy_api.py'))['lines_of'](
    Path(rclpy.__file__).parent))) | {
        member for item in vars(rclpy_implementation).values() if isinstance(item, type)
        for member in dir(item)}
OURS = own_names()
NEWER = {name for name in INSTALLED - last_names(HUMBLE) - OURS if not name.startswith('_')}


def findings(text: str) -> list[str]:
    """Return what a file uses of rclpy that Humble's does not have."""
    tree = ast.parse(text)
    guarded = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Try)
               and any('ImportError' in ast.dump(handler) for handler in node.handlers)
               for statement in node.body for inner in ast.walk(statement)}
    known: dict[str, str] = {}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, path in imported(node):
                known[name] = path
                if path not in HUMBLE and id(node) not in guarded:
                    found.append(f'{path} is imported')
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in NEWER:
            found.append(f'member {node.attr}')
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) \
                and node.value.id in known and node.attr not in last_names(HUMBLE):
            found.append(f'{known[node.value.id]}.{node.attr}')
        elif isinstance(node, ast.Call):
            found += wrong_keywords(node, known)
    return found


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield what an import takes from rclpy: the name here and the full name there."""
    module = getattr(node, 'module', None)
    for alias in node.names:
        path = f'{module}.{alias.name}' if module else alias.name
        if path.split('.')[0] == 'rclpy':
            yield alias.asname or alias.name, path


def wrong_keywords(call: ast.Call, known: dict[str, str]) -> Iterator[str]:
    """Yield keywords of a call into rclpy that nothing of that name takes in Humble."""
    if isinstance(call.func, ast.Name) and call.func.id in known:
        name = known[call.func.id].rpartition('.')[2]
    elif isinstance(call.func, ast.Attribute) and call.func.attr not in OURS:
        name = call.func.attr
    else:
        return
    accepted = KEYWORDS.get(name)
    if accepted is not None and ANY not in accepted:
        yield from (f'{name}({keyword.arg}=)' for keyword in call.keywords
                    if keyword.arg is not None and keyword.arg not in accepted)


def test_the_list_is_that_of_rclpy():
    assert len(HUMBLE) > 1000
    assert {'rclpy.node.Node.create_subscription', 'rclpy.lifecycle.LifecycleNode',
            'rclpy._rclpy.WaitSet.is_ready', 'rclpy.qos.QoSProfile'} <= HUMBLE.keys()
    assert {'callback_group', 'raw'} <= KEYWORDS['create_subscription']
    # Much has come since, so there is something to find.
    assert {'add_post_set_parameters_callback', 'EventsExecutor', 'service_introspection'} <= NEWER
    assert not NEWER & {'spin_once', 'create_timer', 'take_message', 'wait_for_all_acked'}


@pytest.mark.parametrize('path', FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_humble_has_what_is_used(path):
    assert findings(path.read_text(encoding='utf-8')) == []


@pytest.mark.parametrize(('text', 'found'), [
    ('from rclpy.experimental import EventsExecutor', 'EventsExecutor is imported'),
    ('import rclpy.wait_for_message', 'rclpy.wait_for_message is imported'),
    ('def f(node):\n    node.add_post_set_parameters_callback(print)', 'add_post_set_parameters'),
    ('import rclpy\nrclpy.init(context=None, enable_logging=1)', 'init(enable_logging=)'),
    ('import rclpy\nrclpy.get_context_manager()', 'rclpy.get_context_manager'),
    ('node.create_timer(1.0, print, autostart=False)', 'create_timer(autostart=)'),
    ('from rclpy.qos import QoSProfile\nQoSProfile.nonsense', 'QoSProfile.nonsense')])
def test_what_is_newer_is_found(text, found):
    assert any(found in finding for finding in findings(text)), findings(text)


@pytest.mark.parametrize('text', [
    'try:\n    from rclpy.experimental import EventsExecutor\nexcept ImportError:\n    pass',
    'import rclpy\nrclpy.init(args=None, domain_id=3)\nrclpy.try_shutdown()',
    'node.create_timer(1.0, print, clock=None)', 'import json\njson.nonsense'])
def test_what_is_guarded_or_old_is_not(text):
    assert findings(text) == []
