# SPDX-License-Identifier: Apache-2.0
"""Mutations of mappings and lists, and the texts they are written as."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

import yaml

from fuzzing import mutate_bytes, odd

#: Short texts that stand for much, or for something that runs.
_BOMBS = (
    'a: &a [x, x, x, x, x, x, x, x]\n' + ''.join(
        f'{after}: &{after} [{", ".join([f"*{before}"] * 8)}]\n'
        for before, after in zip('abcdefghijkl', 'bcdefghijklm', strict=True)),
    'a: &a {x: 1}\n' + ''.join(
        f'{after}: &{after} {{{", ".join(f"{k}: *{before}" for k in "pqrstuvw")}}}\n'
        for before, after in zip('abcdefghijkl', 'bcdefghijklm', strict=True)),
    'a: &a {x: 1}\n' + ''.join(
        f'{after}: &{after} {{<<: [{", ".join([f"*{before}"] * 8)}]}}\n'
        for before, after in zip('abcdefghijkl', 'bcdefghijklm', strict=True)),
    'a: &a\n  b: *a\n', 'a: &a [*a]\n', '&a a: *a\n', '? &a [*a]\n: 1\n',
    'a: !!python/object/apply:os.system ["true"]\n', 'a: !!python/name:os.system\n',
    'a: !!binary |\n  //79\n', 'a: !!int "x"\n', 'a: !!float "x"\n', 'a: !!timestamp x\n',
    'a: 2001-99-99\n', 'a: 2001-01-01T99:99:99Z\n', 'a: !!set {1, 2}\n', 'a: !!omap [1]\n',
    'a: !!pairs [[1, 2, 3]]\n', 'a: ' + '[' * 2000, 'a: ' + '{b: ' * 2000, '- ' * 2000,
    '? ' * 2000, 'a: ' + '9' * 100_000, 'a: 0x' + 'f' * 100_000, 'a: 1' + ':59' * 20_000,
    'a: 1:' + '9' * 10_000, 'a: ' + '1_' * 10_000, '{' * 5000, '"' + '\\' * 9999,
    '%YAML 9.9\n---\na: 1\n', '--- 1\n--- 2\n',
    '!!python/object:robot_dynamics.model.robot.Robot {}\n', 'a: !<tag:yaml.org,2002:int> []\n')


# Written in C where PyYAML has it.
_DUMPER = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


def mutate(data: Any, random: Random, most: int = 2) -> Any:
    """Return a copy of data with some mutations, not all of them rough."""
    root = [deepcopy(data)]
    change = _change_a_little if random.random() < 0.3 else _change
    for _ in range(random.randint(1, most)):
        places = list(_places(root))
        container, key = random.choice(places)
        change(container, key, random)
    return root[0]


def text(data: Any, random: Random) -> bytes:
    """Return data as YAML or JSON, now and then with something that data cannot say."""
    if random.random() < 0.3:
        try:
            written = json.dumps(data)
        except (TypeError, ValueError, RecursionError):
            written = str(data)
    else:
        written = _yaml(data, random)
    kind = random.random()
    if kind < 0.08:
        written = random.choice(_BOMBS) + written
    elif kind < 0.12:
        written = written + '\n' + random.choice(_BOMBS)
    raw = written.encode('utf-8', 'surrogatepass')
    if kind > 0.8:
        raw = mutate_bytes.mutate(raw, random, 2)
    elif kind > 0.78:
        raw = written.encode(random.choice(('utf-16', 'utf-32', 'utf-8-sig')), 'replace')
    elif kind > 0.775:
        raw = raw * random.choice((10, 100, 1000))
    return raw[:8 * 2**20]


def _yaml(data: Any, random: Random) -> str:
    try:
        return yaml.dump(data, Dumper=_DUMPER, allow_unicode=random.random() < 0.5,
                         default_flow_style=random.choice((None, True, False)), sort_keys=False)
    except (yaml.YAMLError, RecursionError, ValueError):
        return str(data)


def _places(root: list[Any]) -> Any:
    """Yield every place of a value: its container and its key."""
    waiting: list[Any] = [root]
    while waiting:
        container = waiting.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            yield container, key
            if isinstance(container[key], (dict, list)) and container[key]:
                waiting.append(container[key])


def _change_a_little(container: Any, key: Any, random: Random) -> None:
    """Change one value to another that could have been meant."""
    value = container[key]
    if isinstance(value, bool):
        container[key] = not value
    elif isinstance(value, (int, float)):
        factor = random.choice((-1, 0, 1.0, 0.5, 3.0, 10.0 ** random.randint(-9, 9)))
        container[key] = _scaled(value, factor)
    elif isinstance(value, list):
        random.shuffle(value)
    elif isinstance(value, dict) and value:
        value.pop(random.choice(list(value)))
    else:
        container[key] = random.choice((value, None, str(value).upper(), f'{value}2'))


def _scaled(value: float, factor: float) -> float:
    """Return a number times a factor; the largest integers are no floats."""
    try:
        return value * factor
    except OverflowError:
        return -value


def _change(container: Any, key: Any, random: Random) -> None:
    """Change one value, or its key."""
    kind = random.randrange(8)
    if kind < 3:
        container[key] = odd.value(random)
    elif kind == 3:
        container[key] = odd.number(random)
    elif kind == 4 and isinstance(container, dict):
        container[odd.name(random)] = container.pop(key)
    elif kind == 5 and isinstance(container, dict) and len(container) > 1:
        del container[key]
    elif kind == 5 and isinstance(container, list) and len(container) > 1:
        container.pop(key)
    elif kind == 6 and isinstance(container[key], list) and container[key]:
        container[key] = container[key] * random.choice((2, 3, 300))
    elif isinstance(container[key], str):
        container[key] = odd.name(random)
    elif isinstance(container[key], float):
        container[key] = container[key] * 10.0 ** random.randint(-20, 20)
    else:
        container[key] = [container[key]] if random.random() < 0.5 else {'a': container[key]}
