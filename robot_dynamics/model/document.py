# SPDX-License-Identifier: Apache-2.0
"""The elements of a URDF document that matter for dynamics, read without surprises.

urdf_parser_py (0.0.4) was tried for this. Where it reads a description, it reads the
same robot; but it loses too much for an arm that is to be torque controlled:

- a ``<limit>`` without effort or velocity makes it refuse the robot: what is missing
  has to be reported with its joint;
- so do a malformed visual, collision, material or transmission, which dynamics never
  uses, a version other than 1.0, and an undeclared prefix (``drake:``);
- it takes two links of one name, and of an element given twice the first;
- it ignores a rotation given as ``quat_xyzw``, and takes nan for a length;
- some of its errors name neither the joint nor the element, none the line;
- it writes to stderr for every vendor element and attribute;
- it expands the entities of a document type definition.

So it is a judge in the tests, and the document is read by expat, the parser of the
standard library, in one pass without recursion and without namespaces: prefixes are
part of the name and need no declaration. Only elements that dynamics uses are kept.
Document type definitions, and with them every kind of entity, are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from robot_dynamics.errors import ModelError

#: Largest number of elements kept; a humanoid with hands has some 2000.
MAX_ELEMENTS = 200_000

# Which children are kept, by the name of their parent.
_KEPT_CHILDREN = {
    'robot': frozenset(('link', 'joint')),
    'link': frozenset(('inertial',)),
    'inertial': frozenset(('origin', 'mass', 'inertia')),
    'joint': frozenset(('origin', 'axis', 'parent', 'child', 'limit', 'dynamics', 'mimic',
                        'safety_controller')),
}
_NO_CHILDREN: frozenset[str] = frozenset()
# Kept elements that a robot can do without: an expression of xacro in one is no reason
# to refuse the robot.
_OPTIONAL = frozenset(('safety_controller',))

# Elements of xacro that define something and expand to nothing themselves.
_XACRO_DEFINITIONS = frozenset(('property', 'macro', 'arg'))


@dataclass
class Element:
    """One XML element that is kept.

    Parameters
    ----------
    tag : str
        Its name, prefix included.
    attributes : dict
        Its attributes.
    line : int
        Line it begins on.
    children : list of Element
        The children that are kept.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)


@dataclass(frozen=True)
class Document:
    """A parsed description.

    Parameters
    ----------
    root : Element
        The ``<robot>`` element.
    leftover : str
        The first thing that xacro should have replaced, in words; empty if none.
    """

    root: Element
    leftover: str


def parse_document(text: str, label: str) -> Document:
    """Parse the text of a URDF.

    Parameters
    ----------
    text : str
        The description; whatever encoding its XML declaration names is ignored.
    label : str
        How messages call the description.

    Returns
    -------
    Document
        The kept elements.

    Raises
    ------
    ModelError
        If the text is not well-formed XML, has a document type definition, is no
        ``<robot>`` or is unreasonably large.
    """
    try:
        content = text.lstrip().encode('utf-8')
    except UnicodeEncodeError as error:
        raise ModelError(f'holds an invalid character at position {error.start}', subject=label,
                         remedy='decode the description with its own encoding') from error
    builder = _Builder(label)
    try:
        builder.parse(content)
    except expat.ExpatError as error:
        raise ModelError(f'is not well-formed XML: {expat.errors.messages[error.code]} at '
                         f'line {error.lineno}, column {error.offset + 1}', subject=label,
                         remedy='correct the XML there; `xmllint --noout` shows the place'
                         ) from error
    return Document(builder.root, builder.first_use or builder.first_definition)


class _Builder:
    """Receives the events of expat and keeps the elements of interest."""

    def __init__(self, label: str) -> None:
        self.root = Element('', {}, 0)
        self.first_use = ''
        self.first_definition = ''
        self._label = label
        self._kept = 0
        self._depth = 0
        self._macro_depth: int | None = None
        # Kept elements that are open; an element is a child of the last one only
        # when nothing that is not kept has been opened in between.
        self._open: list[Element] = []
        self._xacro_prefixes = {'xacro'}
        self._parser = expat.ParserCreate('utf-8')
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def parse(self, content: bytes) -> None:
        self._parser.Parse(content, True)

    def _refuse_doctype(self, *_declaration: object) -> None:
        raise ModelError('has a document type declaration (<!DOCTYPE ...>)', subject=self._label,
                         remedy='remove it: a URDF needs none, and entities are not expanded')

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._depth == 0:
            self._open_root(tag, attributes)
        elif self._is_xacro(tag):
            self._note_xacro(tag)
        elif self._depth == len(self._open):
            parent = self._open[-1]
            if tag in _KEPT_CHILDREN.get(parent.tag, _NO_CHILDREN):
                self._keep(tag, attributes, parent)
        self._depth += 1

    def _end(self, _tag: str) -> None:
        self._depth -= 1
        if len(self._open) > self._depth:
            self._open.pop()
        if self._macro_depth is not None and self._depth <= self._macro_depth:
            self._macro_depth = None

    def _open_root(self, tag: str, attributes: dict[str, str]) -> None:
        if tag != 'robot':
            raise ModelError(f'is a <{tag}> document, not a <robot>', subject=self._label,
                             remedy='give a URDF; SDF and MJCF have to be converted to URDF first')
        for name, value in attributes.items():
            if name.startswith('xmlns:') and value.endswith('/xacro'):
                self._xacro_prefixes.add(name.removeprefix('xmlns:'))
        self.root = Element(tag, attributes, self._parser.CurrentLineNumber)
        self._open.append(self.root)
        self._note_expressions(self.root, None)

    def _keep(self, tag: str, attributes: dict[str, str], parent: Element) -> None:
        self._kept += 1
        if self._kept > MAX_ELEMENTS:
            raise ModelError(f'has more than {MAX_ELEMENTS} link and joint elements',
                             subject=self._label, remedy='give the description of one robot')
        element = Element(tag, attributes, self._parser.CurrentLineNumber)
        parent.children.append(element)
        self._open.append(element)
        self._note_expressions(element, self._open[1] if len(self._open) > 2 else None)

    def _is_xacro(self, tag: str) -> bool:
        prefix, colon, _ = tag.partition(':')
        return bool(colon) and prefix in self._xacro_prefixes

    def _note_xacro(self, tag: str) -> None:
        """Remember the first xacro element outside macros, and the first definition."""
        line = self._parser.CurrentLineNumber
        if tag.partition(':')[2] in _XACRO_DEFINITIONS:
            self.first_definition = self.first_definition or f'element <{tag}> in line {line}'
            if self._macro_depth is None:
                self._macro_depth = self._depth
        elif self._macro_depth is None:
            self.first_use = self.first_use or f'element <{tag}> in line {line}'

    def _note_expressions(self, element: Element, owner: Element | None) -> None:
        """Remember the first attribute that still holds an expression of xacro."""
        if self.first_use or self._macro_depth is not None or element.tag in _OPTIONAL:
            return
        for name, value in element.attributes.items():
            if '${' in value or '$(' in value:
                place = '' if owner is None else \
                    f' of {owner.tag} {owner.attributes.get("name", "")!r}'
                self.first_use = (f'<{element.tag} {name}="{value[:60]}">{place} in line '
                                  f'{element.line}')
                return
