# SPDX-License-Identifier: Apache-2.0
"""Names of the columns of a table: which joint, which quantity, which time.

A column names a joint and a quantity, in either order: ``j1_position``, ``effort.j1``. Before them
may be a topic or an object: ``/joint_states/j1/position``, ``field.position0``, ``state.q[0]``.
Instead of a joint there may be a number; numbers from 0 or 1 count the joints of the robot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

QUANTITIES = ('position', 'velocity', 'effort')
#: Words of measured quantities, preferred ones first. Commands have others, such as ``target_q``
#: of Universal Robots and ``q_d`` of Franka.
WORDS = {
    'position': ('position', 'positions', 'pos', 'q'),
    'velocity': ('velocity', 'velocities', 'vel', 'dq', 'qd', 'v'),
    'effort': ('effort', 'efforts', 'torque', 'torques', 'tau', 'tau_j', 'current_as_torque',
               'current', 'currents', 'current_motor'),
}
#: Names of a column of times in lower case, preferred ones first. Slashes and points are
#: underscores, and those at the beginning are left out.
TIME_NAMES = ('header_stamp', 'stamp', 'timestamp', 'time', 'times', 'time_s', 't', 'sec',
              'secs', 'seconds', 'elapsed_time')
#: Names of two columns of times, seconds and nanoseconds, each after one of the heads.
_PAIRS = (('sec', 'nanosec'), ('secs', 'nsecs'), ('sec', 'nsec'), ('seconds', 'nanoseconds'),
          ('0', '1'))
_HEADS = ('header_stamp_', 'stamp_', 'time_', '')
#: Units of time, s.
TIME_UNITS = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}

# Years 2000 to 2100, s since 1970.
_SINCE_2000 = (9.4e8, 4.1e9)
_UNIT = re.compile(r'\s*[\[(]\s*(s|sec|ms|us|µs|ns|deg|degrees|°|deg/s|°/s|rad|rad/s|m|m/s|'
                   r'Nm|N m|N|A)\s*[\])]$|_(deg|rad|ns|us|ms)$')
_DEGREES = ('deg', 'deg/s', 'degree', 'degrees', '°', '°/s')
# Kinova's Kortex API counts actuators, and gives degrees.
_KORTEX = re.compile(r'actuators?[_\[.]?\d+\]?$')
_INDEX = re.compile(r'(?:joints?|j|axis|actuators?|a)?[_\[. ]?(\d+)\]?$')
_ALL_WORDS = {word: (quantity, rank) for quantity, words in WORDS.items()
              for rank, word in enumerate(words)}
_ANY = '|'.join(sorted(_ALL_WORDS, key=len, reverse=True))
_LAST = re.compile(rf'(.+?)[/_ .](?:measured_|actual_)?({_ANY})$', re.I)
_FIRST = re.compile(rf'(?:measured_|actual_|joint_)?({_ANY})(?:[/_ .\[](.+?)\]?|(\d+))$', re.I)


# Joint by name or number, column, and whether it is in degrees.
_Place = tuple['str | int', int, bool]


class Match(NamedTuple):
    """A column with the quantity of a joint, named or numbered.

    ``source`` is the topic or object before them, ``rank`` the place among `WORDS`.
    """

    quantity: str
    rank: int
    source: str
    joint: str | int
    is_degrees: bool


@dataclass
class Found:
    """Columns of a table, in the order of the joints, by quantity.

    ``degrees`` are the quantities in degrees, and ``source`` the topic or object of all of them.
    ``rivals`` are the sources to select from, if there are several.
    """

    places: dict[str, tuple[int, ...]] = field(default_factory=dict)
    degrees: set[str] = field(default_factory=set)
    source: str = ''
    rivals: tuple[str, ...] = ()


def matches(column: str, joints: Sequence[str], rename: Mapping[str, str]) -> Iterator[Match]:
    """Meanings of the name of a column, those with the name of a joint first."""
    unit, name = _UNIT.search(column), _plain(column)
    numbered = []
    for cut in _cuts(name):
        for word, stem in _words_of(name[cut:]):
            quantity, rank = _ALL_WORDS[word]
            joint = next((rename[key] for key in (column, name[:cut] + stem, stem)
                          if key in rename), stem)
            degrees = unit is not None and (unit[1] or unit[2]).lower() in _DEGREES
            if joint in joints:
                yield Match(quantity, rank, name[:cut], joint, degrees)
                return
            index = _INDEX.match(stem)
            if index:
                numbered.append(Match(quantity, rank, name[:cut], int(index[1]),
                                      degrees or bool(_KORTEX.match(stem))))
    yield from numbered[-1:]


def stem_of(column: str) -> tuple[str, str] | None:
    """Quantity and name of the joint that a column seems to have, or None."""
    for cut in reversed(_cuts(_plain(column))):
        for word, stem in _words_of(_plain(column)[cut:]):
            return _ALL_WORDS[word][0], stem
    return None


def _plain(column: str) -> str:
    """Name of a column without its unit."""
    unit = _UNIT.search(column)
    return column[:unit.start()] if unit else column


def _cuts(name: str) -> list[int]:
    """Places at which the name of a joint or a quantity may begin."""
    return [0, *(found.end() for found in re.finditer(r'[/.]', name))]


def _words_of(text: str) -> Iterator[tuple[str, str]]:
    """Words of quantities at the end and at the beginning of a text, with the rest of it."""
    if found := _LAST.match(text):
        yield found[2].lower(), found[1]
    if found := _FIRST.match(text):
        yield found[1].lower(), found[2] or found[3]


def find_columns(header: Sequence[str], joints: Sequence[str], rename: Mapping[str, str],
                 alone: str | None = None, topic: str | None = None) -> Found:
    """Columns of all quantities that a table has for each of the joints.

    ``alone`` is the quantity of a table of a single one, in which a column may have the name of a
    joint only. Of several sources, the one with most quantities is taken, or those below
    ``topic``.
    """
    # Columns by source, quantity, whether joints have numbers, and word.
    groups: dict[str, dict[tuple[str, bool, int], list[_Place]]] = {}
    for place, column in enumerate(header):
        name = rename.get(column, column)
        meanings = list(matches(column, joints, rename))
        if not meanings and alone is not None and name in joints:
            meanings = [Match(alone, 0, '', name, False)]
        for one in meanings:
            if topic is None or one.source.strip('/').startswith(topic.strip('/')):
                key = one.quantity, isinstance(one.joint, int), one.rank
                groups.setdefault(one.source, {}).setdefault(key, []).append(
                    (one.joint, place, one.is_degrees))
    found = [_complete(source, group, joints) for source, group in groups.items()]
    most = max((len(one.places) for one in found), default=0)
    best = [one for one in found if len(one.places) == most and most]
    if len(best) > 1:
        best[0].rivals = tuple(one.source for one in best)
    return best[0] if best else Found()


def _complete(source: str, group: Mapping[tuple[str, bool, int], Sequence[_Place]],
              joints: Sequence[str]) -> Found:
    """Quantities of a source that all joints have."""
    found = Found(source=source)
    for (quantity, _, _), columns in sorted(group.items()):
        places = _in_order([joint for joint, _, _ in columns], joints)
        if places is not None and quantity not in found.places:
            found.places[quantity] = tuple(columns[k][1] for k in places)
            if any(columns[k][2] for k in places) and quantity != 'effort':
                found.degrees.add(quantity)
    return found


def time_columns(header: Sequence[str], source: str = '') -> tuple[tuple[int, ...], str | None]:
    """Columns of time, one or seconds and nanoseconds, and the unit in the name.

    Those of the source come first; the tuple is empty without a column of time.
    """
    names: dict[str, tuple[int, str | None]] = {}
    for place, column in enumerate(header):
        unit, name = _UNIT.search(column), _plain(column)
        for known in {source, ''}:
            if name.startswith(known):
                plain = re.sub(r'[\[/. ]', '_', name[len(known):].lower()).strip('_%]')
                names.setdefault(plain, (place, unit and (unit[1] or unit[2]).lower()))
    for head in _HEADS:
        for whole, rest in _PAIRS:
            if head + whole in names and head + rest in names and (head or whole != '0'):
                return (names[head + whole][0], names[head + rest][0]), None
    for name in TIME_NAMES:
        if name in names:
            place, text = names[name]
            return (place,), {'sec': 's', 'µs': 'us'}.get(text or '', text)
    return (), None


def unit_of_time(step: float, start: float) -> str:
    """Unit of times with a median step and a first value.

    Times since 1970 determine it by their size. Others are seconds, unless rows would then be a
    second or more apart: then the unit in which they are nearest to 5 ms apart.
    """
    for unit, factor in TIME_UNITS.items():
        if _SINCE_2000[0] < start * factor < _SINCE_2000[1] and step * factor < 1.0:
            return unit
    if step < 1.0:
        return 's'
    return 'ms' if step < 158.0 else 'us' if step < 158e3 else 'ns'


def _in_order(found: Sequence[str | int], joints: Sequence[str]) -> tuple[int, ...] | None:
    """Index of each joint among the names or numbers of columns, or None if it is not unique."""
    wanted: Sequence[str | int] = joints
    numbers = [name for name in found if isinstance(name, int)]
    if numbers:
        wanted = range(min(numbers), min(numbers) + len(joints))
        if min(numbers) not in (0, 1) or len(numbers) != len(joints):
            return None
    if any(found.count(name) != 1 for name in wanted):
        return None
    return tuple(found.index(name) for name in wanted)
