# SPDX-License-Identifier: Apache-2.0
"""YAML files of users, limited in size, depth and expansion, with one exception type.

PyYAML's safe loader creates no objects, but a short text can still expand to a very large one
(aliases of aliases, merge keys), contain itself, or contain a number that takes minutes to read.
Its constructors also raise various exceptions of Python: ``!!int x`` and ``2001-99-99`` a
ValueError, ``!!timestamp x`` an AttributeError. This module checks the nodes before values are
constructed, and raises an `UnusableYamlError` for every failure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from robot_dynamics.errors import RobotDynamicsError

#: Largest text read, in bytes. The longest parameter file of this package has 10 KiB.
MAX_BYTES = 2**18

#: The safe loader, in C if PyYAML has it, which is ten times faster.
SafeLoader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)

# Largest depth and number of values, each alias counted as its expansion.
_DEEPEST = 32
_MOST_VALUES = 50_000
# Longest text of a number; Python takes quadratic time.
_LONGEST_NUMBER = 100

_NUMBERS = ('tag:yaml.org,2002:int', 'tag:yaml.org,2002:float')


class UnusableYamlError(yaml.YAMLError):
    """Error of a text that is not YAML, or is too large, too deep or recursive."""


def parse_yaml(text: str, loader: type = SafeLoader) -> Any:
    """Mappings, lists and scalars of one YAML document; None for an empty text.

    The loader is a safe one of PyYAML. Raises an `UnusableYamlError`, one line with the position,
    for a text that is not YAML, too large, too deep or recursive, or a value that does not match
    its tag.
    """
    if len(text) > MAX_BYTES:
        raise UnusableYamlError(f'is larger than {MAX_BYTES // 2**10} KiB')
    reader = None
    try:
        reader = loader(text)
        root = reader.get_single_node()
        if root is None:
            return None
        _check(root)
        return reader.construct_document(root)
    except UnusableYamlError:
        raise
    except RecursionError:
        raise UnusableYamlError('is nested too deeply') from None
    # The constructors raise various exceptions of Python.
    except Exception as error:
        reason = ' '.join(str(error).split())
        # The message of libyaml; the parser in Python exhausts the stack instead.
        too_deep = 'maximum nesting depth' in reason
        raise UnusableYamlError('is nested too deeply' if too_deep else reason) from error
    finally:
        if reader is not None:
            reader.dispose()


def read_yaml(path: Path, error: type[RobotDynamicsError], remedy: str,
              loader: type = SafeLoader) -> Any:
    """Content of a YAML file; problems raise an error of the given class with the given remedy."""
    try:
        with path.open('rb') as stream:
            content = stream.read(MAX_BYTES + 1)
        return parse_yaml(content.decode('utf-8-sig'), loader)
    except OSError as reason:
        problem = reason.strerror or type(reason).__name__
    except UnicodeDecodeError as reason:
        problem = f'is not UTF-8 text (byte {reason.start})'
    except (UnusableYamlError, ValueError) as reason:  # ValueError: an invalid path.
        problem = str(reason)
    raise error(f'cannot be read: {problem}', subject=str(path), remedy=remedy)


def _check(root: yaml.Node) -> None:
    """Reject a document that is too deep, too large or recursive."""
    values = 1
    # Remaining nodes, with their depth.
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _DEEPEST:
            raise UnusableYamlError('is nested too deeply: more than '
                                    f'{_DEEPEST} levels, or recursive')
        if isinstance(node, yaml.CollectionNode):
            values += len(node.value)
            if values > _MOST_VALUES:
                raise UnusableYamlError(f'expands to more than {_MOST_VALUES} values')
            waiting += [(part, depth + 1) for item in node.value
                        for part in (item if isinstance(node, yaml.MappingNode) else (item,))]
        elif node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
            raise UnusableYamlError(f'has a number of {len(node.value)} characters in line '
                                    f'{node.start_mark.line + 1}')
