# SPDX-License-Identifier: Apache-2.0
"""YAML from outside, read without surprises: bounded in size, depth and growth.

PyYAML's safe loader creates no objects, but a short text can still stand for a very
large one (aliases of aliases, merge keys), for one within itself, or for a number that
takes minutes to read. And whatever its constructors meet they raise as Python does:
``!!int x`` is a ValueError, ``2001-99-99`` too, ``!!timestamp x`` an AttributeError.
Here the nodes are looked at before anything is made of them, and there is one error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from robot_dynamics.errors import RobotDynamicsError

#: Largest text read, in bytes. The longest parameter file of this package has 10 KiB.
MAX_BYTES = 2**18

#: The same loader, written in C where PyYAML has it: ten times faster.
SafeLoader: type = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)

# How deep values may lie within each other, and how many there may be, each alias
# counted as what it stands for.
_DEEPEST = 32
_MOST_VALUES = 50_000
# No number is this long; Python takes quadratic time for longer ones.
_LONGEST_NUMBER = 100

_NUMBERS = ('tag:yaml.org,2002:int', 'tag:yaml.org,2002:float')


class UnusableYamlError(yaml.YAMLError):
    """A text that is no YAML, or YAML that nobody should have to read."""


def parse_yaml(text: str, loader: type = SafeLoader) -> Any:
    """Return what a text in YAML says.

    Parameters
    ----------
    text : str
        One document.
    loader : type
        A safe loader of PyYAML.

    Returns
    -------
    object
        Mappings, lists and scalars; None for an empty text.

    Raises
    ------
    UnusableYamlError
        When it is not YAML, too large, too deep, within itself, or a value of it is not
        what its tag says; one line says what and where.
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
    # PyYAML raises whatever Python does with a scalar.
    except Exception as error:
        reason = ' '.join(str(error).split())
        # What libyaml says where the parser in Python runs out of stack.
        too_deep = 'maximum nesting depth' in reason
        raise UnusableYamlError('is nested too deeply' if too_deep else reason) from error
    finally:
        if reader is not None:
            reader.dispose()


def read_yaml(path: Path, error: type[RobotDynamicsError], remedy: str,
              loader: type = SafeLoader) -> Any:
    """Return what a file in YAML says.

    Parameters
    ----------
    path : Path
        The file.
    error : type of RobotDynamicsError
        What to raise when it cannot be read.
    remedy : str
        What to do then.
    loader : type
        A safe loader of PyYAML.

    Raises
    ------
    RobotDynamicsError
        Of the class asked for, naming the file.
    """
    try:
        with path.open('rb') as stream:
            content = stream.read(MAX_BYTES + 1)
        return parse_yaml(content.decode('utf-8-sig'), loader)
    except OSError as reason:
        problem, cause = reason.strerror or type(reason).__name__, reason
    except UnicodeDecodeError as reason:
        problem, cause = f'is not UTF-8 text (byte {reason.start})', reason
    except (UnusableYamlError, ValueError) as reason:  # ValueError: no path at all
        problem, cause = str(reason), reason
    raise error(f'cannot be read: {problem}', subject=str(path), remedy=remedy) from cause


def _check(root: yaml.Node) -> None:
    """Refuse a document that is too deep, too large or within itself."""
    values = 1
    # Nodes to come, with their depth.
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _DEEPEST:
            raise UnusableYamlError('is nested too deeply: more than '
                                    f'{_DEEPEST} levels, or within itself')
        if isinstance(node, yaml.CollectionNode):
            values += len(node.value)
            if values > _MOST_VALUES:
                raise UnusableYamlError(f'stands for more than {_MOST_VALUES} values')
            waiting += [(part, depth + 1) for item in node.value
                        for part in (item if isinstance(node, yaml.MappingNode) else (item,))]
        elif node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
            raise UnusableYamlError(f'has a number of {len(node.value)} characters in line '
                                    f'{node.start_mark.line + 1}')
