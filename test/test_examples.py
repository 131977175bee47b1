# SPDX-License-Identifier: Apache-2.0
"""Docstrings of public names: an example that runs, and every parameter.

Public is what ``__all__`` of the package and of each room lists, and every public method of
`Robot` and `Dynamics`. Examples run as doctests in the root of the repository.
"""

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics

docscrape = pytest.importorskip('numpydoc.docscrape')

ROOT = Path(__file__).resolve().parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

#: Rooms in which something is still missing; the test lists it. A room that is complete is
#: taken out and stays out.
INCOMPLETE: set[str] = set()


def modules():
    """Return the package and its rooms, those without public names left out."""
    names = ['robot_dynamics', *sorted(
        f'robot_dynamics.{info.name}' for info in pkgutil.iter_modules(robot_dynamics.__path__))]
    return [module for module in map(importlib.import_module, names)
            if hasattr(module, '__all__')]


def public_objects():
    """Return room and object of every public class, function and method, each once, by name."""
    found = {}
    for module in modules():
        for name in module.__all__:
            thing = getattr(module, name)
            if not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            room = thing.__module__.split('.')[1]
            found.setdefault(f'{thing.__module__}.{thing.__qualname__}', (room, thing))
            if thing in (robot_dynamics.Robot, robot_dynamics.Dynamics):
                for base in thing.__mro__[:-1]:
                    for attribute, member in vars(base).items():
                        member = getattr(member, '__func__', member)
                        if not attribute.startswith('_') and inspect.isfunction(member):
                            found.setdefault(f'{thing.__module__}.{thing.__name__}.{attribute}',
                                             (room, member))
    return found


PUBLIC = public_objects()
ROOMS = sorted({room for room, _ in PUBLIC.values()})


def has_example(thing):
    return '>>>' in (thing.__doc__ or '')


def documented(doc, *sections):
    """Return the names that the given sections of a numpydoc docstring describe."""
    entries = [entry for section in sections for entry in doc[section]]
    return {name.strip().lstrip('*') for entry in entries for name in entry.name.split(',')}


def undocumented(thing):
    """Return parameters of a public class or function that its docstring does not describe."""
    if inspect.isclass(thing):
        if issubclass(thing, Exception) or '__init__' not in vars(thing):
            return []
        doc = docscrape.FunctionDoc(thing, doc=inspect.getdoc(thing))
        known = documented(doc, 'Parameters', 'Attributes', 'Other Parameters')
    else:
        known = documented(docscrape.FunctionDoc(thing), 'Parameters', 'Other Parameters')
    try:
        parameters = inspect.signature(thing).parameters
    except ValueError:
        return []
    return [name for name in parameters
            if name not in known and name not in ('self', 'cls', 'args', 'kwargs')
            and not name.startswith('_')]


def missing(room):
    """Yield a line for each example or parameter that the docstrings of a room lack."""
    for name, (where, thing) in sorted(PUBLIC.items()):
        if where != room:
            continue
        if not has_example(thing) and not (
                inspect.isclass(thing) and issubclass(thing, Exception)):
            yield f'{name} has no example: add a section Examples with >>>'
        for parameter in undocumented(thing):
            yield f'{name} does not describe its parameter {parameter}'


@pytest.mark.parametrize('room', ROOMS)
def test_docstrings_are_complete(room):
    lines = list(missing(room))
    if lines and room in INCOMPLETE:
        pytest.xfail('\n'.join(lines))
    assert not lines, '\n'.join(lines)


@pytest.mark.parametrize('name', [name for name, (_, thing) in sorted(PUBLIC.items())
                                  if has_example(thing)])
def test_examples_run(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    thing = PUBLIC[name][1]
    # As doctest does: names of the module need no import.
    names = {'np': np, **vars(sys.modules[thing.__module__])}
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(thing), names, name, None, 0)
    report = []
    results = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert results.attempted and not results.failed, ''.join(report)


def test_docstrings_name_no_parameter_that_is_gone():
    wrong = []
    for name, (_, thing) in sorted(PUBLIC.items()):
        if inspect.isfunction(thing):
            known = documented(docscrape.FunctionDoc(thing), 'Parameters', 'Other Parameters')
            wrong += [f'{name}: {parameter}'
                      for parameter in known - set(inspect.signature(thing).parameters)
                      if re.fullmatch(r'\w+', parameter)]
    assert not wrong, '\n'.join(wrong)


if __name__ == '__main__':
    os.chdir(ROOT)
    for each in ROOMS:
        print(*missing(each), sep='\n')
    print({room: len(list(missing(room))) for room in ROOMS})
