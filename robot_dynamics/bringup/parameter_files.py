# SPDX-License-Identifier: Apache-2.0
"""ROS 2 parameter files, read as far as bringup needs to know what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from robot_dynamics.bringup.processes import ParameterValue
from robot_dynamics.errors import BringupError
from robot_dynamics.model.yaml_text import read_yaml


def read_parameter_file(path: Path) -> dict[str, dict[str, ParameterValue]]:
    """Return the parameters of each node, groups being part of their names.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    BringupError
        When it cannot be read or is no parameter file.
    """
    content = read_yaml(path, BringupError, 'give a ROS 2 parameter file')
    if not isinstance(content, dict) or not content:
        raise BringupError('holds no nodes', subject=str(path), remedy=_SHAPE)
    parameters = {}
    for node, below in content.items():
        values = below.get('ros__parameters') if isinstance(below, dict) else None
        if not isinstance(node, str) or not isinstance(values, dict):
            raise BringupError(f'{node} has no ros__parameters', subject=str(path), remedy=_SHAPE)
        parameters[node] = dict(_flat(values))
    return parameters


_SHAPE = 'write: <node>: {ros__parameters: {<name>: <value>}}'


def _flat(values: Mapping[Any, Any], prefix: str = '') -> Iterator[tuple[str, ParameterValue]]:
    """Yield parameters with groups as part of their names."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value
