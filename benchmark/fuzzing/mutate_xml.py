# SPDX-License-Identifier: Apache-2.0
"""Mutations of the elements and attributes of a robot description."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from xml.etree import ElementTree

from fuzzing import mutate_bytes, odd

Element = ElementTree.Element

_TAGS = ('robot', 'link', 'joint', 'inertial', 'origin', 'mass', 'inertia', 'axis', 'limit',
         'dynamics', 'mimic', 'safety_controller', 'parent', 'child', 'visual', 'gazebo',
         'xacro:macro', 'xacro:property', 'ns:link', 'transmission')
_ATTRIBUTES = ('name', 'type', 'link', 'joint', 'xyz', 'rpy', 'quat_xyzw', 'value', 'ixx', 'ixy',
               'iyy', 'lower', 'upper', 'velocity', 'effort', 'damping', 'friction', 'armature',
               'multiplier', 'offset', 'soft_lower_limit')
_TYPES = ('revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar', 'ball', '')
_DOCTYPES = (
    '<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa">' + ''.join(
        f'<!ENTITY {after} "{f"&{before};" * 10}">'
        for before, after in zip('abcdefgh', 'bcdefghi', strict=True)) + ']>',
    '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/x.dtd">', '<!DOCTYPE robot>')


def mutate(description: bytes, random: Random) -> bytes:
    """Return a description with some mutations, mostly still well-formed."""
    try:
        root = ElementTree.fromstring(description)
    except ElementTree.ParseError:
        return mutate_bytes.mutate(description, random)
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        random.choice(RARE if random.random() < 0.01 else MUTATORS)(root, random)
    content = ElementTree.tostring(root, encoding='utf-8')
    kind = random.random()
    if kind < 0.03:
        content = _with_doctype(content, random)
    elif kind < 0.06:
        content = _nested(content, random)
    elif kind < 0.08:
        content = content.decode('utf-8', 'replace').encode(
            random.choice(('utf-16', 'utf-32', 'utf-8-sig', 'utf-16-le')))
    elif kind < 0.2:
        content = mutate_bytes.mutate(content, random, 2)
    return content


def _with_doctype(content: bytes, random: Random) -> bytes:
    """Put a document type in front, and use its entities."""
    doctype = random.choice(_DOCTYPES).encode()
    return b'<?xml version="1.0"?>' + doctype + content.replace(b'name="', b'name="&i;', 1)


def _nested(content: bytes, random: Random) -> bytes:
    """Put elements within each other before the end."""
    depth = random.choice((10, 1000, 100_000))
    tag = random.choice((b'link', b'joint', b'x'))
    end = content.rfind(b'</')
    return content[:end] + b'<%b>' % tag * depth + b'</%b>' % tag * depth + content[end:]


def set_number(root: Element, random: Random) -> None:
    """Put an odd number into an attribute that holds numbers."""
    element, key = _attribute(root, random, lambda text: any(c.isdigit() for c in text))
    if key:
        words = element.attrib[key].split() or ['0']
        words[random.randrange(len(words))] = odd.number(random)
        if random.random() < 0.1:
            words *= random.choice((2, 100))
        element.set(key, ' '.join(words))


def scale_number(root: Element, random: Random) -> None:
    """Scale a number by powers of ten."""
    element, key = _attribute(root, random, lambda text: any(c.isdigit() for c in text))
    if key:
        factor = random.choice((-1.0, 1.0)) * 10.0 ** random.randint(-30, 30)
        try:
            words = [f'{float(word) * factor:g}' for word in element.attrib[key].split()]
        except ValueError:
            return
        element.set(key, ' '.join(words))


def set_name(root: Element, random: Random) -> None:
    """Put another name, or that of something else, into an attribute."""
    element, key = _attribute(root, random, lambda text: not any(c.isdigit() for c in text[:1]))
    if key:
        names = [e.get('name', '') for e in root.iter() if e.get('name')]
        element.set(key, _xml_text(odd.name(random) if random.random() < 0.5
                                   else random.choice(names or ['x'])))


def set_type(root: Element, random: Random) -> None:
    """Change the type of a joint."""
    joints = root.findall('joint')
    if joints:
        random.choice(joints).set('type', random.choice(_TYPES))


def add_attribute(root: Element, random: Random) -> None:
    """Add an attribute that belongs somewhere."""
    _element(root, random).set(random.choice(_ATTRIBUTES), _xml_text(odd.number(random)))


def remove_attribute(root: Element, random: Random) -> None:
    """Remove an attribute."""
    element, key = _attribute(root, random, lambda text: True)
    if key:
        del element.attrib[key]


def remove_element(root: Element, random: Random) -> None:
    """Remove an element with all below."""
    parent = random.choice([e for e in root.iter() if len(e)] or [root])
    if len(parent):
        parent.remove(random.choice(list(parent)))


def repeat_element(root: Element, random: Random) -> None:
    """Repeat an element, with the same name or with other ones."""
    parent = random.choice([e for e in root.iter() if len(e)] or [root])
    if not len(parent):
        return
    element = random.choice(list(parent))
    renamed = random.random() < 0.5
    for k in range(random.choice((1, 1, 2, 10, 300))):
        twin = copy.deepcopy(element)
        if renamed and twin.get('name'):
            twin.set('name', f'{twin.get("name")}_{k}')
        parent.append(twin)


def move_element(root: Element, random: Random) -> None:
    """Put a copy of an element into another."""
    _element(root, random).append(copy.deepcopy(_element(root, random)))


def rename_element(root: Element, random: Random) -> None:
    """Give an element another tag."""
    _element(root, random).tag = random.choice(_TAGS)


def add_element(root: Element, random: Random) -> None:
    """Add an element that belongs somewhere."""
    ElementTree.SubElement(_element(root, random), random.choice(_TAGS), {
        random.choice(_ATTRIBUTES): _xml_text(odd.number(random))})


def add_mimic(root: Element, random: Random) -> None:
    """Let a joint follow some joint, perhaps itself."""
    joints = root.findall('joint')
    if joints:
        ElementTree.SubElement(random.choice(joints), 'mimic', {
            'joint': random.choice(joints).get('name', ''), 'multiplier': _xml_text(
                odd.number(random)), 'offset': random.choice(('0', '1e8', '-0.5'))})


def reconnect(root: Element, random: Random) -> None:
    """Hang a joint elsewhere: loops, islands, children of two parents."""
    ends = [e for joint in root.findall('joint') for e in joint if e.tag in ('parent', 'child')]
    links = [link.get('name', '') for link in root.findall('link')]
    if ends and links:
        random.choice(ends).set('link', random.choice(links))


def long_chain(root: Element, random: Random) -> None:
    """Add many links one after the other."""
    links = [link.get('name', '') for link in root.findall('link')]
    before = random.choice(links or ['x'])
    kind = random.choice(_TYPES[:4])
    for k in range(random.choice((5, 50, 490, 1500))):
        after = f'chain{k}'
        ElementTree.SubElement(root, 'link', name=after)
        joint = ElementTree.SubElement(root, 'joint', name=f'to_{after}', type=kind)
        ElementTree.SubElement(joint, 'parent', link=before)
        ElementTree.SubElement(joint, 'child', link=after)
        ElementTree.SubElement(joint, 'origin', xyz='0 0 0.1', rpy='0.1 0 0')
        before = after


def _element(root: Element, random: Random) -> Element:
    return random.choice(list(root.iter()))


def _attribute(root: Element, random: Random, wanted: Callable[[str], bool]
               ) -> tuple[Element, str]:
    """Return an element and the name of one of its attributes, '' where there is none."""
    found = [(element, key) for element in root.iter() for key, text in element.attrib.items()
             if wanted(text)]
    return random.choice(found) if found else (root, '')


def _xml_text(text: str) -> str:
    """Return text without what no XML can hold."""
    return ''.join(c for c in text if c in '\t\n\r' or c >= ' ')


MUTATORS: tuple[Callable[[Element, Random], None], ...] = (
    set_number, set_number, set_number, scale_number, scale_number, set_name, set_type,
    add_attribute, remove_attribute, remove_element, repeat_element, move_element, rename_element,
    add_element, add_mimic, reconnect)
#: Too large to be made often.
RARE: tuple[Callable[[Element, Random], None], ...] = (long_chain,)
