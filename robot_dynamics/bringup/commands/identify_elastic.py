# SPDX-License-Identifier: Apache-2.0
"""Joints with springs out of recordings of links and motors: files, and a verdict.

Where motors and springs are described stands in the YAML, or on the command line::

    elastic_joints: my_springs.yaml     # a file, the name of one of this package, description
    encoders: both                      # both, links or motors
    motors: {topic: motor_states}       # robot_dynamics.identification.elastic.dataset
    estimate: {friction: auto}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from robot_dynamics.bringup.commands.identify_inputs import Inputs, found_path
from robot_dynamics.bringup.elastic import DESCRIPTION
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import BringupError, ParameterError
from robot_dynamics.identification.dataset.dataset import joined
from robot_dynamics.identification.elastic.dataset import (
    ElasticDataset,
    ElasticDatasetSettings,
    elastic_settings_from,
    load_elastic_dataset,
)
from robot_dynamics.identification.elastic.identify import identify_elastic
from robot_dynamics.identification.elastic.outputs import ElasticOutputs, make_elastic_outputs
from robot_dynamics.identification.elastic.problem import elastic_estimate_settings
from robot_dynamics.report.elastic_page import elastic_page, elastic_text

#: The key of the YAML.
KEY = 'elastic_joints'


def wanted_joints(content: Mapping[str, Any], option: str | None) -> str:
    """Return where motors and springs are described, nothing where joints are rigid.

    Parameters
    ----------
    content : mapping
        All that the YAML says.
    option : str, optional
        What the command line says, which counts more.
    """
    wanted = content.get(KEY, '') if option is None else option
    if not isinstance(wanted, str):
        raise ParameterError(f'is {wanted!r}', subject=KEY,
                             remedy='give a file, the name of one of this package, or description')
    return wanted


def elastic_results(inputs: Inputs, wanted: str, folder: Path, page: str, *,
                    allow_inconsistent: bool = False
                    ) -> tuple[dict[str, bytes], str, int, Exception | None]:
    """Identify joints with springs.

    Parameters
    ----------
    inputs : Inputs
        Robot, recordings and YAML.
    wanted : str
        Where motors and springs are described.
    folder : Path
        Where files will be written.
    page : str
        Name of the page.
    allow_inconsistent : bool
        Whether bodies are written that cannot exist.

    Returns
    -------
    files : dict of str to bytes
        Contents by name.
    text : str
        The verdict, for a terminal.
    rows : int
        How much there was.
    refused : Exception or None
        Why there is no URDF.
    """
    if 'payload' in inputs.content:
        raise ParameterError('is told of rigid arms only', subject='payload',
                             remedy=f'leave it out, or leave {KEY} out')
    estimate = elastic_estimate_settings(inputs.content)
    settings = elastic_settings_from(inputs.content)
    robot = _robot(inputs, wanted)
    data = _dataset(inputs.recordings, robot, settings)
    found = identify_elastic(data, robot, estimate)
    outputs: ElasticOutputs = make_elastic_outputs(found, data, inputs.description.urdf, folder,
                                                   allow_inconsistent=allow_inconsistent)
    files = {**outputs.files, page: elastic_page(found, data, outputs).encode()}
    return files, elastic_text(found, outputs), data.dataset.count, outputs.refused


def _robot(inputs: Inputs, wanted: str) -> ElasticRobot:
    description = inputs.description.urdf.encode()
    if wanted == DESCRIPTION:
        return ElasticRobot.from_yaml({}, inputs.robot, description=description)
    path = found_path(wanted, inputs.folders)
    return ElasticRobot.from_yaml(path if path.is_file() else wanted, inputs.robot,
                                  description=description)


def _dataset(recordings: Sequence[Path], robot: ElasticRobot, settings: ElasticDatasetSettings
             ) -> ElasticDataset:
    if not recordings:
        raise BringupError('is missing', subject='recording',
                           remedy='name one or more, or give source in the YAML')
    sets = [load_elastic_dataset(path, robot, settings) for path in recordings]
    return replace(sets[0], dataset=joined([one.dataset for one in sets]))
