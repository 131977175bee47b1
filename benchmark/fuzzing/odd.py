# SPDX-License-Identifier: Apache-2.0
"""Numbers, names and values that readers stumble over."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

#: Numbers as texts, and what only looks like one.
NUMBERS = (
    '0', '-0', '1', '-1', '0.5', '1e-9', '1e9', '1e12', '1.0000001e12', '-1e12', '1e15', '-1e15',
    '3.5e38', '1e300', '1e308', '-1e308', '1e-308', '5e-324', '1e999', '-1e999', 'nan', '-nan',
    'NaN', 'inf', '-inf', 'Infinity', '.nan', '.inf', '-.inf', '9' * 25, '9' * 400, '9' * 5000,
    '0x10', '0o7', '0b1', '010', '1:30', '1_000', '1,5', '1.5.2', '--1', '+-1', '1e', 'e1', '1 2',
    '', ' ', '\t1\n', '١', '½', 'true', 'None', 'null', '${1/0}', '$(arg x)', '1; 2', '1f', '0.1m')

#: Names: long ones, unprintable ones, and what means something to somebody else.
NAMES = (
    '', ' ', '  joint1  ', 'joint1', 'base', 'base_link', 'tool', 'world', 'a' * 200, 'a' * 201,
    'a' * 20_000, 'é', '关节', '\u202ejoint', '\u200b', '\x7f', '\x1b[31mred', 'a\nb', 'a\tb',
    '<b>', '</script><script>alert(1)</script>', '"', "'", '&amp;', '{{title}}', '{0}', '%s',
    '%n%n', '../../etc/passwd', '/etc/passwd', '~/x', 'C:\\x', '$(find x)', '${x}', '`id`',
    'a;b', 'a,b', 'a:b', '#', '- a', '*a', '&a', '!!python/name:os.system', '<<', '=', '?', 'nan',
    '__class__', 'ros__parameters', '\ufeff', '\ufffd', '🦾', 'NUL', '.', '..', '...')

#: What a field can hold that wanted a number, a text or a list.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -2**63, 10**30, 10**400, 0.0, -0.0, 0.5, 1e300,
    -1e308, 5e-324, float('nan'), float('inf'), -float('inf'), '', ' ', 'text', [], {}, [[]],
    [None], [0.0], [1, 2, 3], [0.1, 'x'], ['a', 'b'], [[1, 2], [3]], [True, 1.0], {'a': 1},
    {'a': {'b': {}}}, [float('nan')] * 3, [1e308] * 7, list(range(1000)), 'x' * 10_000, b'\xff')


def number(random: Random) -> str:
    """Return a number as text, or what looks like one."""
    if random.random() < 0.7:
        return random.choice(NUMBERS)
    return f'{random.choice(("", "-"))}{random.random():.3g}e{random.randint(-320, 320)}'


def name(random: Random) -> str:
    """Return a name."""
    return random.choice(NAMES)


def value(random: Random) -> Any:
    """Return a value of some type."""
    kind = random.random()
    if kind < 0.7:
        # A copy: what is mutated next must not be what others get.
        return copy.deepcopy(random.choice(VALUES))
    if kind < 0.85:
        return number(random)
    return name(random) if kind < 0.95 else nested(random.choice((3, 30, 300)), random)


def nested(depth: int, random: Random) -> Any:
    """Return lists or mappings within each other."""
    inner: Any = 1.0
    for _ in range(depth):
        inner = [inner] if random.random() < 0.5 else {'a': inner}
    return inner


def float64(random: Random) -> float:
    """Return a number as a message can carry it."""
    kind = random.random()
    if kind < 0.4:
        return random.uniform(-3.0, 3.0)
    if kind < 0.6:
        return random.choice((float('nan'), float('inf'), -float('inf'), 0.0, -0.0))
    if kind < 0.8:
        return random.choice((1e308, -1e308, 5e-324, 1e5, 1.0001e5, 1e12, 2.0**53, -1e300))
    return random.choice((-1.0, 1.0)) * 10.0 ** random.uniform(-320.0, 308.0)
