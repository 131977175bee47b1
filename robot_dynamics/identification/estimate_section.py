# SPDX-License-Identifier: Apache-2.0
"""``read_estimate``: the ``estimate`` section of a YAML, as settings of any pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from robot_dynamics.errors import ParameterError

Settings = TypeVar('Settings')


def read_estimate(kind: type[Settings], content: Mapping[str, Any], refusal: str) -> Settings:
    """Return settings out of the section; ``auto`` and none are the defaults.

    Parameters
    ----------
    kind : type
        A dataclass of settings, which checks its values.
    content : mapping
        The whole YAML.
    refusal : str
        What a name is that is no setting.

    Raises
    ------
    ParameterError
        Where the section is no mapping, or names something else.
    """
    part = content.get('estimate', {})
    known = [field.name for field in fields(kind)]
    if part == 'auto':
        part = {}
    if not isinstance(part, Mapping):
        raise ParameterError(f'is {part!r}', subject='estimate', remedy='give auto, or '
                             + ', '.join(known))
    for key in part:
        if key not in known:
            raise ParameterError(refusal, subject=f'estimate.{key}',
                                 remedy='choose among ' + ', '.join(known))
    return kind(**part)
