# SPDX-License-Identifier: Apache-2.0
"""Files of an identification of servo drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.identification.friction import PlainFriction
from robot_dynamics.identification.identified_urdf import identified_urdf
from robot_dynamics.identification.outputs import PARAMETERS as PARAMETER_FILE
from robot_dynamics.identification.outputs import RESULT, URDF, parameter_file, result_file
from robot_dynamics.identification.result import findings_list
from robot_dynamics.identification.servo.log import ServoLog
from robot_dynamics.identification.servo.model import PARAMETERS
from robot_dynamics.identification.servo.output_error import DriveVerdict, OutputError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot


def drive_files(found: OutputError, verdict: DriveVerdict, logs: Sequence[ServoLog], robot: Robot,
                urdf: str) -> dict[str, bytes]:
    """``identified.urdf``, ``parameters.yaml`` and ``result.json`` of drives, contents by name.

    A URDF contains viscous and Coulomb friction and the rotor inertia, with the bodies of the
    description ``urdf``. Electrical parameters and load-dependent friction are in the result.
    """
    plain = PlainFriction(drive_values(found, 'viscous'), drive_values(found, 'coulomb'),
                          drive_values(found, 'armature'), np.zeros(robot.n))
    driven = replace(robot, damping=plain.damping, friction=plain.friction,
                     armature=plain.armature)
    # The bodies are those of the description, even if inconsistent.
    text, _ = identified_urdf(urdf, driven, plain, allow_inconsistent=True)
    return {URDF: text.encode(), PARAMETER_FILE: parameter_file(text, driven).encode(),
            RESULT: result_file(drive_content(found, verdict, logs))}


def drive_values(found: OutputError, name: str) -> FloatArray:
    """A parameter of every joint, shape (n,); 0 if the friction class does not contain it."""
    layout = found.layout
    return layout.table(found.x)[:, PARAMETERS[name].columns[0]]


def drive_content(found: OutputError, verdict: DriveVerdict, logs: Sequence[ServoLog]
                  ) -> Mapping[str, Any]:
    """Content of ``result.json`` of drives."""
    return {
        'verdict': verdict.verdict, 'verdict_reasons': list(verdict.reasons),
        'joints': list(found.layout.joints),
        'in_sample': {'mean_error': found.mean_error.tolist(), 'total': verdict.in_sample},
        'validation': {'mean_error': found.validation.tolist(), 'total': verdict.validation},
        'motion': verdict.motion.tolist(),
        'parameters': found.parameters, 'standard_deviations': found.standard_deviations,
        'known': {name: np.asarray(value).tolist()
                  for name, value in found.layout.known.items()},
        'costs': list(found.costs),
        'findings': findings_list(found.findings),
        'sources': list(dict.fromkeys(log.name for log in logs)),
        'rows': sum(log.count for log in logs),
    }
