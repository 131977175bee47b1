# SPDX-License-Identifier: Apache-2.0
"""A payload out of two recordings of an arm, with and without it, as a YAML says.

Under ``payload``, beside what else the YAML says of the recordings, which is the same for
both::

    payload:
      without: empty.mcap      # beside the YAML; the recordings given are those with it
      body: wrist_3_link       # the link that carries it; the last one if not given
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.dataset import Dataset, load_dataset
from robot_dynamics.identification.dataset.settings import settings_from
from robot_dynamics.identification.identify import estimate_settings, identify
from robot_dynamics.identification.payload import Payload, identify_payload
from robot_dynamics.identification.result import Identification
from robot_dynamics.model.robot import Robot

_KEYS = ('without', 'body')


def identify_payload_from(content: Mapping[str, Any], folder: Path, robot: Robot,
                          loaded: Dataset) -> tuple[Payload, Identification, Dataset]:
    """Identify what an arm carries, as a YAML asks for it.

    Parameters
    ----------
    content : mapping
        All that the YAML says.
    folder : Path
        Where it lies.
    robot : Robot
        The arm as described.
    loaded : Dataset
        The recording with the payload.

    Returns
    -------
    Payload
        What it carries.
    Identification
        The arm without it.
    Dataset
        The recording that this is of.
    """
    part = content.get('payload')
    if not isinstance(part, Mapping) or not isinstance(part.get('without'), str):
        raise ParameterError(f'is {part!r}', subject='payload',
                             remedy='give without, the recording of the arm without it')
    for key in part:
        if key not in _KEYS:
            raise ParameterError('is no setting', subject=f'payload.{key}',
                                 remedy='choose among ' + ', '.join(_KEYS))
    empty = load_dataset(folder / part['without'], robot, settings_from(content))
    found = identify(empty, robot, estimate_settings(content))
    payload = identify_payload(loaded, found.model, found.signals, part.get('body'))
    return payload, found, empty
