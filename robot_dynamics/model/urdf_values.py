# SPDX-License-Identifier: Apache-2.0
"""Children and values of one URDF element, checked; errors name the link or joint and the line."""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.document import Element

#: No length, mass or inertia of a robot is this large, in SI units.
MAX_MAGNITUDE = 1e12


def only_child(owner: Element, tag: str, name: str) -> Element | None:
    """Return the only child of one tag, or None."""
    found = [child for child in owner.children if child.tag == tag]
    if len(found) > 1:
        raise ModelError(f'has {len(found)} <{tag}> elements (lines '
                         f'{found[0].line} and {found[1].line})',
                         subject=name, remedy='keep one of them')
    return found[0] if found else None


def required_child(owner: Element, tag: str, name: str) -> Element:
    """Return the only child of one tag."""
    element = only_child(owner, tag, name)
    if element is None:
        raise ModelError(f'has no <{tag}> in its <{owner.tag}> (line {owner.line})', subject=name,
                         remedy=f'add <{tag} .../>')
    return element


def text_of(element: Element, attribute: str, name: str) -> str:
    """Return the text of an attribute that has to be there."""
    value = element.attributes.get(attribute, '')
    if not value.strip():
        raise ModelError(f'has no {attribute} in <{element.tag}> (line {element.line})',
                         subject=name, remedy=f'add {attribute}="..."')
    return value


def vector_of(element: Element, attribute: str, name: str, default: FloatArray) -> FloatArray:
    """Return three numbers, or the default where the attribute is missing."""
    if attribute not in element.attributes:
        return default
    return np.array(numbers_of(element, attribute, name, 3))


def numbers_of(element: Element, attribute: str, name: str, count: int) -> list[float]:
    """Return so many finite numbers."""
    words = element.attributes[attribute].split()
    if len(words) != count:
        raise ModelError(f'{_quoted(element, attribute)} has {len(words)} numbers, not {count}',
                         subject=name, remedy=f'give {count} numbers separated by spaces')
    return [_bounded(word, element, attribute, name) for word in words]


def number_of(element: Element, attribute: str, name: str, *,
              default: float | None = None) -> float:
    """Return one finite number; a missing one is an error unless there is a default."""
    if attribute in element.attributes:
        return _bounded(element.attributes[attribute], element, attribute, name)
    if default is None:
        raise ModelError(f'has no {attribute} in <{element.tag}> (line {element.line})',
                         subject=name, remedy=f'add {attribute}="..."')
    return default


def _bounded(text: str, element: Element, attribute: str, name: str) -> float:
    """Return a number that a robot can have."""
    value = parse_number(text, element, attribute, name)
    if not abs(value) <= MAX_MAGNITUDE:
        raise ModelError(f'{_quoted(element, attribute)} is not a number of a robot',
                         subject=name, remedy='give a finite value in SI units')
    return value


def parse_number(text: str, element: Element, attribute: str, name: str) -> float:
    """Return what the text says as a number; Python's own extras are not numbers here."""
    word = text.strip()
    try:
        if '_' in word or not word.isascii():
            raise ValueError
        return float(word)
    except ValueError:
        raise ModelError(f'{_quoted(element, attribute)} is not a number', subject=name,
                         remedy='write it like 0.5 or 5e-1, with a decimal point') from None


def _quoted(element: Element, attribute: str) -> str:
    """Return an attribute as it stands in the file, and where."""
    value = element.attributes[attribute]
    shown = value if len(value) <= 60 else value[:57] + '...'
    return f'<{element.tag} {attribute}="{shown}"> in line {element.line}'
