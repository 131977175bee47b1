# SPDX-License-Identifier: Apache-2.0
"""From a path, text, bytes or mapping to the plain mapping of a DH table.

YAML here means the safe subset without surprises: scalars are text or ``null``,
and whoever reads a field decides whether its text is a number. So ``1e-3``, which
PyYAML takes for a string, ``010``, which it takes for eight, and ``1:30``, which
it takes for ninety, are a thousandth, ten and an error. Tags that create objects
are refused, and so is a key that stands twice; merge keys (``<<``) have no meaning.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from robot_dynamics.errors import ModelError
from robot_dynamics.model.yaml_text import SafeLoader, UnusableYamlError, parse_yaml

#: Largest table read, in bytes; a table of ten links is a few kilobytes.
MAX_BYTES = 2**18

_LABEL = 'DH table'
# Text given in place of a path must not fill the message.
_LONGEST_LABEL = 200


def read_table(source: str | bytes | os.PathLike[str] | Mapping[str, Any]
               ) -> tuple[dict[str, Any], str]:
    """Return the top-level mapping of a table and how messages call it.

    A string that holds a line break, a ``{`` or ``': '`` is the table itself,
    any other string the path of a file.

    Parameters
    ----------
    source : str, bytes, Path or mapping
        The table or where it lies.

    Returns
    -------
    table : dict
        Its top level; the values are as written, not yet checked.
    label : str
        The path, or ``'DH table'``.

    Raises
    ------
    ModelError
        If there is nothing, too much, or no mapping in YAML or JSON.
    """
    if isinstance(source, Mapping):
        return _checked(dict(source), _LABEL)
    if isinstance(source, (bytes, bytearray)):
        return _parse(_decode(bytes(source), _LABEL), _LABEL)
    if isinstance(source, str) and _is_table(source):
        return _parse(source, _LABEL)
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        label = path if len(path) <= _LONGEST_LABEL else f'{path[:_LONGEST_LABEL]}...'
        return _parse(_decode(_read_file(path, label), label), label)
    raise ModelError(f'is a {type(source).__name__}', subject=_LABEL,
                     remedy='give a path, YAML or JSON text, bytes or a mapping')


def _is_table(text: str) -> bool:
    return not text.strip() or any(mark in text for mark in ('\n', '{', ': '))


def _read_file(path: str, label: str) -> bytes:
    try:
        file = Path(path).expanduser()
        if not file.is_file():
            raise ModelError('no such file', subject=label,
                             remedy='check the path of the DH table')
        with file.open('rb') as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, 'strerror', None) or type(error).__name__
        raise ModelError(f'cannot be read ({reason})', subject=label,
                         remedy='check the path and its permissions') from error


def _decode(content: bytes, label: str) -> str:
    if len(content) > MAX_BYTES:
        raise _too_large(label)
    try:
        return content.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        raise ModelError(f'is not UTF-8 text (byte {error.start})', subject=label,
                         remedy='save it as UTF-8') from error


def _parse(text: str, label: str) -> tuple[dict[str, Any], str]:
    if len(text) > MAX_BYTES:
        raise _too_large(label)
    try:
        content = _load(text)
    except (UnusableYamlError, _DuplicateKeyError) as error:
        raise ModelError(f'is not YAML or JSON: {error}', subject=label,
                         remedy='correct it there; see docs/dh_tables.md for the format'
                         ) from error
    except RecursionError:
        raise ModelError('is nested too deeply', subject=label,
                         remedy='see docs/dh_tables.md for the format') from None
    return _checked(content, label)


def _load(text: str) -> Any:
    """Return the content of JSON or YAML text."""
    if text.lstrip().startswith('{'):
        try:
            # Numbers stay text, as in YAML: one place decides what is a number.
            return json.loads(text, object_pairs_hook=_unique, parse_float=str, parse_int=str,
                              parse_constant=str)
        except json.JSONDecodeError:
            pass  # YAML may begin with a brace, too.
    return parse_yaml(text, TextLoader)


def _checked(content: Any, label: str) -> tuple[dict[str, Any], str]:
    if content is None or content == {}:
        raise ModelError('is empty', subject=label,
                         remedy='give at least convention and links; see docs/dh_tables.md')
    if not isinstance(content, dict):
        raise ModelError('is not a table of named fields', subject=label,
                         remedy='begin it with name:, convention: and links:; see '
                                'docs/dh_tables.md')
    return content, label


def _too_large(label: str) -> ModelError:
    return ModelError(f'is larger than {MAX_BYTES // 2**10} KiB', subject=label,
                      remedy='give the DH table of one robot')


class _DuplicateKeyError(Exception):
    """A key stands twice in one mapping."""


def _unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a mapping of pairs whose keys differ."""
    mapping: dict[Any, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise _DuplicateKeyError(f'the key {str(key)[:60]!r} stands twice')
        mapping[key] = value
    return mapping


class TextLoader(SafeLoader):
    """PyYAML's safe loader without its guesses about numbers, dates and truth."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag == 'tag:yaml.org,2002:null']
        for first, resolvers in SafeLoader.yaml_implicit_resolvers.items()}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping, none of whose keys stands twice."""
        _unique([(self.construct_object(key, deep=True), None) for key, _ in node.value])
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping
