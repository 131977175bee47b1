# SPDX-License-Identifier: Apache-2.0
"""Expansion of xacro files by the ``xacro`` package, where it is installed.

Only files are expanded. A description that arrives as text comes from a topic or
a parameter, where ROS sends expanded descriptions; xacro evaluates Python
expressions and includes files, which nobody should be able to ask for over a
network.

A file can keep xacro busy for ever (a macro that calls itself twice, an expression
with a huge power) or fill the memory. So xacro runs in a process of its own, with
limits on its time and memory, and only the expanded text comes back.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from robot_dynamics.errors import ModelError
from robot_dynamics.model.document import Document, parse_document
from robot_dynamics.model.source import MAX_BYTES, SourceText

#: Longest time that xacro may take, s. Descriptions of whole humanoids take two.
LONGEST_EXPANSION = 30.0

#: Memory that xacro may use, in bytes.
_MEMORY = 2 * 2**30

# What the other process runs. It finds modules where this one does. Whatever the file
# prints goes to stderr, so that stdout is the text alone.
_EXPANSION = """
import sys
path, memory, size, *sys.path = sys.argv[1:]
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
    text.write(xacro.process_file(path).toxml()[:int(size) + 1])
    text.close()
except Exception as error:
    sys.exit(f'{type(error).__name__}: {error}')
"""


def parse_source(source: SourceText) -> Document:
    """Parse a description, expanding it first where it is a xacro file.

    Parameters
    ----------
    source : SourceText
        The description.

    Returns
    -------
    Document
        The parsed description, in which nothing is left for xacro.

    Raises
    ------
    ModelError
        If something is left, naming it; or if xacro fails.
    """
    return _parse_expanded(source)[0]


def expanded_text(source: SourceText) -> str:
    """Return the text of a description, expanded where it is a xacro file.

    Parameters
    ----------
    source : SourceText
        The description.

    Raises
    ------
    ModelError
        As for `parse_source`.
    """
    text = _parse_expanded(source)[1]
    if '<xacro:' in text and source.path is not None and _has_xacro():
        # Definitions that nothing uses: they expand to nothing.
        return _expand(source.path, source.label, 'its definitions')
    return text


def _parse_expanded(source: SourceText) -> tuple[Document, str]:
    """Return the parsed description and the text it was parsed from."""
    document = parse_document(source.text, source.label)
    if not document.leftover:
        return document, source.text
    what = f'is not expanded: xacro has to replace {document.leftover}'
    if source.path is None:
        raise ModelError(what, subject=source.label,
                         remedy='send the output of `xacro FILE`, or give the path of the file')
    if not _has_xacro():
        raise ModelError(what, subject=source.label,
                         remedy='install xacro (`pip install xacro`, or ros-<distro>-xacro), or '
                                'give the output of `xacro FILE`')
    text = _expand(source.path, source.label, document.leftover)
    expanded = parse_document(text, source.label)
    if expanded.leftover:
        raise ModelError(f'xacro left {expanded.leftover}', subject=source.label,
                         remedy='define what is used there')
    return expanded, text


def _has_xacro() -> bool:
    """Return whether the xacro package is installed."""
    try:
        return importlib.util.find_spec('xacro') is not None
    except ValueError:  # A module that says nothing of where it came from.
        return False


def _expand(path: Path, label: str, leftover: str) -> str:
    """Return the expanded text; what xacro would print goes into the message instead."""
    order = [str(item) for item in (path, _MEMORY, MAX_BYTES, *sys.path)]
    try:
        done = subprocess.run([sys.executable, '-c', _EXPANSION, *order], capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=LONGEST_EXPANSION, check=False)
    except OSError as error:
        raise ModelError(f'xacro cannot be run ({error.strerror})', subject=label,
                         remedy='give the output of `xacro FILE`') from error
    except subprocess.TimeoutExpired as error:
        raise ModelError(f'xacro does not come to an end within {LONGEST_EXPANSION:g} s, first at '
                         f'{leftover}', subject=label,
                         remedy='look for a macro that calls itself; or give the output of '
                                '`xacro FILE`') from error
    if done.returncode != 0:
        # The error comes last, after whatever the file printed.
        reason = ' '.join(done.stderr.decode('utf-8', 'replace').split())
        raise ModelError(f'xacro could not expand it ({reason[-400:]}), first at {leftover}',
                         subject=label,
                         remedy='run `xacro FILE` to see where; defaults of its arguments '
                                'are used')
    if len(done.stdout) > MAX_BYTES:
        raise ModelError(f'xacro expands it to more than {MAX_BYTES // 2**20} MiB', subject=label,
                         remedy='give a URDF that refers to its meshes by file name')
    return done.stdout.decode('utf-8')
