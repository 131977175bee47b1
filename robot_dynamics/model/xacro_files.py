# SPDX-License-Identifier: Apache-2.0
"""Expansion of xacro files by the ``xacro`` package, where it is installed.

Only files are expanded. A description that arrives as text comes from a topic or
a parameter, where ROS sends expanded descriptions; xacro evaluates Python
expressions and includes files, which nobody should be able to ask for over a
network.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from pathlib import Path
from types import ModuleType

from robot_dynamics.errors import ModelError
from robot_dynamics.model.document import Document, parse_document
from robot_dynamics.model.source import SourceText


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
    document = parse_document(source.text, source.label)
    if not document.leftover:
        return document
    what = f'is not expanded: xacro has to replace {document.leftover}'
    if source.path is None:
        raise ModelError(what, subject=source.label,
                         remedy='send the output of `xacro FILE`, or give the path of the file')
    xacro = _import_xacro()
    if xacro is None:
        raise ModelError(what, subject=source.label,
                         remedy='install xacro (`pip install xacro`, or ros-<distro>-xacro), or '
                                'give the output of `xacro FILE`')
    expanded = parse_document(_expand(xacro, source.path, source.label, document.leftover),
                              source.label)
    if expanded.leftover:
        raise ModelError(f'xacro left {expanded.leftover}', subject=source.label,
                         remedy='define what is used there')
    return expanded


def _import_xacro() -> ModuleType | None:
    """Return the xacro package, or None where it is not installed."""
    try:
        return importlib.import_module('xacro')
    except ImportError:
        return None


def _expand(xacro: ModuleType, path: Path, label: str, leftover: str) -> str:
    """Return the expanded text; what xacro would print goes into the message instead."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            text: str = xacro.process_file(str(path)).toxml()
            return text
    # A xacro file runs expressions of its author: whatever they raise is the file's fault.
    except Exception as error:
        reason = ' '.join(f'{type(error).__name__}: {error} {printed.getvalue()}'.split())
        raise ModelError(f'xacro could not expand it ({reason[:400]}), first at {leftover}',
                         subject=label,
                         remedy='run `xacro FILE` to see where; defaults of its arguments '
                                'are used') from error
