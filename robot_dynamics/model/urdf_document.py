# SPDX-License-Identifier: Apache-2.0
"""XML elements of a URDF from a path, text or bytes, expanded by xacro if needed.

urdf_parser_py (0.0.4) is not used as the parser. It reads the same robots, but is not strict
enough for an arm under torque control:

- it rejects a robot with a ``<limit>`` without effort or velocity, a malformed visual,
  collision, material or transmission, a version other than 1.0, or an undeclared prefix;
- it accepts two links of one name, and uses the first of two equal elements;
- it ignores a rotation given as ``quat_xyzw``, and accepts nan as a length;
- some of its errors name neither the joint nor the element, and none names the line;
- it writes to stderr for every vendor element, and it expands entities.

Tests compare with it. The document is read by expat, the parser of the standard library, in one
pass without recursion and without namespaces: prefixes are part of the name and need no
declaration. Only elements that dynamics uses are kept. Document type definitions, and with them
every kind of entity, are rejected.

Only files are expanded by xacro. Text comes from a topic or a parameter, where ROS sends
expanded descriptions; xacro evaluates Python expressions and includes files, which must
not be possible over a network. A file can make xacro run forever or fill the memory, so xacro runs
in a separate process with limits on time and memory.
"""

from __future__ import annotations

import codecs
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from robot_dynamics.errors import ModelError, ModelTypeError, install_line
from robot_dynamics.model.shipped import file_content, shipped_or

#: Largest description read, in bytes. Descriptions of whole humanoids stay below 2 MB.
MAX_BYTES = 5 * 2**20
#: Largest number of elements kept; a humanoid with hands has some 2000.
MAX_ELEMENTS = 200_000
#: Longest time that xacro may take, s. Descriptions of whole humanoids take two.
LONGEST_EXPANSION = 30.0

# Memory that xacro may use, in bytes.
_MEMORY = 2 * 2**30
_TEXT = 'robot description'

# Byte order marks, longer ones first (that of UTF-16 LE begins that of UTF-32 LE), and a first
# character without one.
_FIRST_BYTES = (
    (codecs.BOM_UTF8, 'utf-8'),
    (codecs.BOM_UTF32_LE, 'utf-32-le'),
    (codecs.BOM_UTF32_BE, 'utf-32-be'),
    (codecs.BOM_UTF16_LE, 'utf-16-le'),
    (codecs.BOM_UTF16_BE, 'utf-16-be'),
    (b'<\x00', 'utf-16-le'),
    (b'\x00<', 'utf-16-be'),
)
_DECLARED_ENCODING = re.compile(
    rb'^\s*<\?xml[^>]*?\sencoding\s*=\s*["\']([A-Za-z][A-Za-z0-9._-]*)["\']')
# Permitted text encodings. Others of Python (punycode, unicode_escape) take quadratic time, and no
# document uses them.
_ENCODING_FAMILIES = ('ascii', 'big5', 'cp', 'euc', 'gb', 'iso8859', 'iso2022', 'koi8', 'mac',
                      'shift_jis', 'tis', 'utf-8', 'utf-16', 'utf-32')

# Largest text of an element that is kept.
_LONGEST_TEXT = 200

# Which children are kept, by the name of their parent.
_KEPT_CHILDREN: Mapping[str, frozenset[str]] = {
    'robot': frozenset(('link', 'joint')),
    'link': frozenset(('inertial',)),
    'inertial': frozenset(('origin', 'mass', 'inertia')),
    'joint': frozenset(('origin', 'axis', 'parent', 'child', 'limit', 'dynamics', 'mimic',
                        'safety_controller')),
}
# Optional elements: an expression of xacro in one of these is ignored.
_OPTIONAL = frozenset(('safety_controller',))
# Elements of xacro that are definitions and expand to nothing.
_XACRO_DEFINITIONS = frozenset(('property', 'macro', 'arg'))

# What xacro reports for an argument without a value, and for $(find ...): a package that is not
# found, no workspace, and no ROS 2.
_NO_VALUE = re.compile(r'Undefined substitution argument (\S+)')
_NO_PACKAGE = re.compile(r"package '([^']+)' not found")
_NO_WORKSPACE = re.compile('AMENT_PREFIX_PATH|ament_index_python')

# The program of the xacro process, with the module path of this process. Output printed by the
# file goes to stderr, so that stdout contains only the text.
_EXPANSION = """
import sys
path, memory, size, arguments, *sys.path = sys.argv[1:]
import json
import os
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
except (ImportError, OSError, ValueError):
    pass  # No such limit on this system: the one on time is left.
text = os.fdopen(os.dup(1), 'w', encoding='utf-8')
os.dup2(2, 1)
import xacro
try:
    text.write(xacro.process_file(path, mappings=json.loads(arguments)).toxml()[:int(size) + 1])
    text.close()
except Exception as error:
    sys.exit(f'{type(error).__name__}: {error}')
"""


@dataclass(frozen=True)
class SourceText:
    """A description as text."""

    text: str  # Decoded, without byte order mark.
    label: str  # Name of the source in messages: its path, or 'robot description'.
    path: Path | None = None  # The file it came from.
    arguments: Mapping[str, str] = field(default_factory=dict)  # Values for arguments of xacro.


@dataclass
class Element:
    """One XML element that is kept: its name with prefix, attributes, line and children.

    The text is empty in URDF, and is not collected there.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ''


@dataclass(frozen=True)
class Document:
    """A parsed description."""

    root: Element  # The <robot> element.
    leftover: str  # The first expression left for xacro, in words; empty if all is expanded.
    is_readable: bool = True  # Whether only elements are left that readers of URDF ignore.


def read_source(source: str | bytes | os.PathLike[str],
                arguments: Mapping[str, str] | None = None) -> SourceText:
    """Text of a description given as a path, text or bytes; raises a `ModelError`.

    A string with a ``<`` is the description itself, any other string is a path or the name of a
    robot of this package. Bytes are decoded by their byte order mark, else by the XML declaration,
    else as UTF-8, independent of the locale. `arguments` are values for arguments of xacro.
    """
    content: str | bytes
    label, path = _TEXT, None
    if isinstance(source, os.PathLike) or (isinstance(source, str) and source.strip()
                                           and '<' not in source):
        name = os.fsdecode(shipped_or(source, '.urdf'))
        content, label = file_content(
            name, MAX_BYTES, 'URDF or xacro file',
            'check the path; a description given as text has to contain its <robot> element')
        path = Path(name).expanduser()
    elif isinstance(source, (str, bytes, bytearray)):
        content = source
    else:
        raise ModelTypeError(f'must be a path, a text or bytes, got a value of type '
                             f'{type(source).__name__}',
                             subject=_TEXT, remedy="give for example 'arm.urdf'")
    if len(content) > MAX_BYTES:
        raise ModelError(f'is larger than {MAX_BYTES // 2**20} MiB', subject=label,
                         remedy='give a URDF that refers to its meshes by file name')
    if not content.strip():
        raise ModelError('is empty', subject=label,
                         remedy='check that robot_description was published, and that the file '
                                'was written to its end')
    text = content if isinstance(content, str) else _decode(content, label)
    return SourceText(text.lstrip('\ufeff'), label, path, arguments or {})


def _decode(content: bytes, label: str) -> str:
    encoding = _encoding_of(content, label)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise ModelError(f'is not valid {encoding} text (byte {error.start})', subject=label,
                         remedy='save it as UTF-8, or name its encoding in the XML '
                                'declaration') from error


def _encoding_of(content: bytes, label: str) -> str:
    for mark, encoding in _FIRST_BYTES:
        if content.startswith(mark):
            return encoding
    declared = _DECLARED_ENCODING.match(content[:1024])
    if declared is None:
        return 'utf-8'
    name = declared.group(1).decode('ascii')
    try:
        known = codecs.lookup(name).name
    except LookupError:
        known = ''
    if not known.startswith(_ENCODING_FAMILIES):
        raise ModelError(f'declares the unknown encoding {name!r}', subject=label,
                         remedy='save it as UTF-8')
    # Bytes that could be read up to here are not UTF-16, even if declared so.
    return 'utf-8' if known.startswith(('utf-16', 'utf-32')) else known


def parse_source(source: SourceText) -> Document:
    """Parse a description; a xacro file is expanded first.

    Raises a `ModelError` for a remaining expression or a failure of xacro. Elements of xacro that
    readers of URDF ignore remain in a text, and in a file that xacro cannot expand.
    """
    return _parse_expanded(source)[0]


def expanded_text(source: SourceText) -> str:
    """Text of a description, expanded if it is a xacro file; errors as for `parse_source`."""
    return _parse_expanded(source)[1]


def _parse_expanded(source: SourceText) -> tuple[Document, str]:
    """The parsed description and the text it was parsed from."""
    document = parse_document(source.text, source.label)
    if not document.leftover:
        if source.arguments:
            raise ModelError('takes no arguments of xacro: nothing is left to expand',
                             subject=source.label, remedy='leave them out')
        return document, source.text
    problem = f'is not expanded: xacro has to replace {document.leftover}'
    if source.path is None and document.is_readable:
        return document, source.text
    if source.path is None:
        raise ModelError(problem, subject=source.label,
                         remedy='send the output of `xacro FILE`, or give the path of the file')
    if not _has_xacro():
        raise ModelError(problem, subject=source.label,
                         remedy='give the output of `xacro FILE`; to install xacro, '
                                + install_line('xacro', 'ros-$ROS_DISTRO-xacro'))
    try:
        text = _expand(source, document.leftover)
    except ModelError:
        if document.is_readable and not source.arguments and source.path.suffix != '.xacro':
            return document, source.text
        raise
    expanded = parse_document(text, source.label)
    if expanded.leftover and not expanded.is_readable:
        raise ModelError(f'still has {expanded.leftover} after xacro', subject=source.label,
                         remedy='define the names used there')
    return expanded, text


def _has_xacro() -> bool:
    """Whether the xacro package is installed."""
    try:
        return importlib.util.find_spec('xacro') is not None
    except ValueError:  # A module without a __spec__.
        return False


def _expand(source: SourceText, leftover: str) -> str:
    """Text of a file after xacro; output of xacro on stderr becomes part of the error."""
    label = source.label
    order = [str(item) for item in (source.path, _MEMORY, MAX_BYTES,
                                    json.dumps(dict(source.arguments)), *sys.path)]
    try:
        done = subprocess.run([sys.executable, '-c', _EXPANSION, *order], capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=LONGEST_EXPANSION, check=False)
    except OSError as error:
        raise ModelError(f'cannot be expanded: xacro does not start ({error.strerror})',
                         subject=label, remedy='give the output of `xacro FILE`') from error
    except subprocess.TimeoutExpired as error:
        raise ModelError(f'is not expanded by xacro within {LONGEST_EXPANSION:g} s, first at '
                         f'{leftover}', subject=label,
                         remedy='look for a macro that calls itself; or give the output of '
                                '`xacro FILE`') from error
    if done.returncode != 0:
        # The error comes last, after output printed by the file.
        reason = ' '.join(done.stderr.decode('utf-8', 'replace').split())
        raise _expansion_error(reason, label, leftover)
    if len(done.stdout) > MAX_BYTES:
        raise ModelError(f'expands to more than {MAX_BYTES // 2**20} MiB', subject=label,
                         remedy='give a URDF that refers to its meshes by file name')
    return done.stdout.decode('utf-8')


def _expansion_error(reason: str, label: str, leftover: str) -> ModelError:
    """Error for a file that xacro rejects for a reason, the text of its exception."""
    if argument := _NO_VALUE.search(reason):
        name = argument[1]
        return ModelError(f'needs a value for its argument {name}, which has no default',
                          subject=label,
                          remedy=f"give --xacro-args '{name}:=VALUE' to a command, "
                                 f"robot_args:='{name}:=VALUE' to a launch file, or the output of "
                                 f'`xacro FILE {name}:=VALUE`')
    package = _NO_PACKAGE.search(reason)
    if package or _NO_WORKSPACE.search(reason):
        missing = f'the package {package[1]}' if package else 'a ROS 2 package'
        return ModelError(f'needs {missing}, which is not found, for $(find ...)', subject=label,
                          remedy='source the workspace that contains it, e.g. `source '
                                 'install/setup.bash`, or give the output of `xacro FILE`')
    return ModelError(f'cannot be expanded by xacro ({reason[-400:]}), first at {leftover}',
                      subject=label, remedy='run `xacro FILE` to see where')


def parse_document(text: str, label: str, kept: Mapping[str, frozenset[str]] = _KEPT_CHILDREN
                   ) -> Document:
    """Parse the text of a URDF; an encoding named in its XML declaration is ignored.

    ``kept`` are the names of the children that are kept, by the name of their parent. Raises a
    `ModelError` for text that is not well-formed XML, has a document type definition, has another
    root than ``<robot>`` or is too large.
    """
    try:
        content = text.lstrip().encode('utf-8')
    except UnicodeEncodeError as error:
        raise ModelError(f'has an invalid character at position {error.start}', subject=label,
                         remedy='decode the description with its own encoding') from error
    builder = _Builder(label, kept)
    try:
        builder.parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ModelError(f'is not well-formed XML: {expat.errors.messages[error.code]} at '
                         f'line {error.lineno}, column {error.offset + 1}', subject=label,
                         remedy='correct the XML there; `xmllint --noout` shows the place'
                         ) from error
    is_readable = not builder.has_expression and any(
        child.tag == 'joint' for child in builder.root.children)
    return Document(builder.root, builder.first_use or builder.first_definition, is_readable)


class _Builder:
    """Receives the events of expat and keeps the elements of interest."""

    def __init__(self, label: str, kept: Mapping[str, frozenset[str]]) -> None:
        self.root = Element('', {}, 0)
        self.first_use = ''
        self.first_definition = ''
        #: Whether an attribute of an element that is kept contains an expression of xacro.
        self.has_expression = False
        self._label = label
        self._kept_children = kept
        self._kept = 0
        self._depth = 0
        self._macro_depth: int | None = None
        # Open elements that are kept; an element is a child of the last one only if no other
        # element is open in between.
        self._open: list[Element] = []
        self._xacro_prefixes = {'xacro'}
        self.parser = expat.ParserCreate('utf-8')
        self.parser.StartDoctypeDeclHandler = self._reject_doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        if kept is not _KEPT_CHILDREN:
            self.parser.CharacterDataHandler = self._characters

    def _reject_doctype(self, *_declaration: object) -> None:
        raise ModelError('has a document type declaration (<!DOCTYPE ...>)', subject=self._label,
                         remedy='remove it: a URDF needs none, and entities are not expanded')

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._depth == 0:
            self._open_root(tag, attributes)
        elif self._is_xacro(tag):
            self._note_xacro(tag)
        elif self._depth == len(self._open):
            parent = self._open[-1]
            if tag in self._kept_children.get(parent.tag, ()):
                self._keep(tag, attributes, parent)
        self._depth += 1

    def _end(self, _tag: str) -> None:
        self._depth -= 1
        if len(self._open) > self._depth:
            self._open.pop()
        if self._macro_depth is not None and self._depth <= self._macro_depth:
            self._macro_depth = None

    def _characters(self, text: str) -> None:
        if self._depth == len(self._open) and len(self._open[-1].text) < _LONGEST_TEXT:
            self._open[-1].text += text

    def _open_root(self, tag: str, attributes: dict[str, str]) -> None:
        if tag != 'robot':
            raise ModelError(f'is a <{tag}> document, not a <robot>', subject=self._label,
                             remedy='give a URDF; SDF and MJCF have to be converted to URDF first')
        for name, value in attributes.items():
            if name.startswith('xmlns:') and value.endswith('/xacro'):
                self._xacro_prefixes.add(name.removeprefix('xmlns:'))
        self.root = Element(tag, attributes, self.parser.CurrentLineNumber)
        self._open.append(self.root)
        self._note_expressions(self.root, None)

    def _keep(self, tag: str, attributes: dict[str, str], parent: Element) -> None:
        self._kept += 1
        if self._kept > MAX_ELEMENTS:
            raise ModelError(f'has more than {MAX_ELEMENTS} link and joint elements',
                             subject=self._label, remedy='give the description of one robot')
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        parent.children.append(element)
        self._open.append(element)
        self._note_expressions(element, self._open[1] if len(self._open) > 2 else None)

    def _is_xacro(self, tag: str) -> bool:
        prefix, colon, _ = tag.partition(':')
        return bool(colon) and prefix in self._xacro_prefixes

    def _note_xacro(self, tag: str) -> None:
        """Store the first xacro element outside macros, and the first definition."""
        line = self.parser.CurrentLineNumber
        if tag.partition(':')[2] in _XACRO_DEFINITIONS:
            self.first_definition = self.first_definition or f'element <{tag}> in line {line}'
            if self._macro_depth is None:
                self._macro_depth = self._depth
        elif self._macro_depth is None:
            self.first_use = self.first_use or f'element <{tag}> in line {line}'

    def _note_expressions(self, element: Element, owner: Element | None) -> None:
        """Store the first attribute that still contains an expression of xacro."""
        if self._macro_depth is not None or element.tag in _OPTIONAL:
            return
        for name, value in element.attributes.items():
            if '${' in value or '$(' in value:
                place = '' if owner is None else \
                    f' of {owner.tag} {owner.attributes.get("name", "")!r}'
                self.has_expression = True
                self.first_use = self.first_use or (
                    f'<{element.tag} {name}="{value[:60]}">{place} in line {element.line}')
                return
