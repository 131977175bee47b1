# SPDX-License-Identifier: Apache-2.0
"""ROS arguments as rcl reads them: every list of numbers of one type.

rcl gives a list one type and refuses ``[0, 0.5]``, on the command line as in a file, before
any node could say that it wants numbers. Here ``.0`` is appended to the integers of such a
list. Nothing else of what somebody wrote is touched: it is not for us to say what rcl makes
of ``yes`` or ``1e3``.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml

_INTEGER = re.compile(r'[-+]?[0-9]+')
_DOUBLE = re.compile(r'[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?'
                     r'|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)')
_LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_ASSIGNMENT = ':='


@contextmanager
def readable_arguments(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Yield a command line whose lists of numbers rcl can read.

    Parameters
    ----------
    arguments : sequence of str
        The command line. Parameter files with nothing to change are passed on as they are; of
        others it names a copy, which is gone after the block.
    """
    with ExitStack() as copies:
        yield [_readable(option, argument, copies)
               for option, argument in zip(_options(arguments), arguments, strict=True)]


def with_uniform_lists(text: str) -> str:
    """Return YAML in which no list mixes integers and other numbers; what is no YAML as it is."""
    try:
        root = yaml.compose(text, Loader=_LOADER)
    # ValueError: bytes on a command line that are no text.
    except (yaml.YAMLError, RecursionError, ValueError):
        return text  # rcl says what is wrong with it
    for place in sorted(_places(root), reverse=True):
        text = f'{text[:place]}.0{text[place:]}'
    return text


def _options(arguments: Sequence[str]) -> Iterator[str]:
    """Yield for each argument the option of ROS whose value it is, '' where it is none."""
    ours, option = False, ''
    for argument in arguments:
        yield option
        if argument in ('--ros-args', '--'):
            ours, option = argument == '--ros-args', ''
        else:
            option = argument if ours and not option else ''


def _readable(option: str, argument: str, copies: ExitStack) -> str:
    """Return one argument, made readable where it is the value of an option with numbers."""
    if option in ('-p', '--param') and _ASSIGNMENT in argument:
        name, value = argument.split(_ASSIGNMENT, 1)
        # Anything may be the value of a parameter; a whole URDF is not worth to be parsed.
        return f'{name}{_ASSIGNMENT}{with_uniform_lists(value)}' \
            if value.lstrip().startswith('[') else argument
    if option == '--params-file':
        return _readable_file(argument, copies)
    return argument


def _readable_file(path: str, copies: ExitStack) -> str:
    """Return the path of a file with uniform lists, the file itself where it has them."""
    try:
        text = Path(path).read_text(encoding='utf-8')
    except (OSError, ValueError):
        return path  # rcl says that it cannot be read
    uniform = with_uniform_lists(text)
    if uniform == text:
        return path
    copy = copies.enter_context(tempfile.NamedTemporaryFile(
        'w', encoding='utf-8', prefix='robot_dynamics-', suffix='.yaml'))
    copy.write(uniform)
    copy.flush()
    return copy.name


def _places(root: yaml.Node | None) -> set[int]:
    """Return where the integers of mixed lists end."""
    places: set[int] = set()
    nodes = [root] if root is not None else []
    seen: set[int] = set()
    while nodes:
        node = nodes.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            nodes += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            places |= _integers_of_mixed(node)
            nodes += node.value
    return places


def _integers_of_mixed(node: yaml.SequenceNode) -> set[int]:
    """Return where the integers end in a list of plain numbers that are not all integers."""
    plain = [item for item in node.value
             if isinstance(item, yaml.ScalarNode) and not item.style]
    integers = [item for item in plain if _INTEGER.fullmatch(item.value)]
    doubles = [item for item in plain if _DOUBLE.fullmatch(item.value)]
    if not doubles or len(integers) + len(doubles) != len(node.value):
        return set()
    return {item.end_mark.index for item in integers}
