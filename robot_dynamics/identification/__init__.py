# SPDX-License-Identifier: Apache-2.0
"""Identification of the parameters of an arm from a recording of its motion.

`load_dataset` and `dataset_from_arrays` read a log, `identify` returns an `Identification` with
parameters, validation and verdict, and `make_outputs` makes its files. `design` plans the motion
to record. Use `load_elastic_dataset` and `identify_elastic` for elastic joints, `read_servo_logs`
and `identify_drives` for servo drives, and `examine` for single joints. Names are loaded on first
use.

Examples
--------
>>> import robot_dynamics.identification as identification
>>> 'identify' in identification.__all__
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from robot_dynamics.identification.dataset.dataset import (
        dataset_from_arrays,
        joined,
        load_dataset,
    )
    from robot_dynamics.identification.dataset.settings import DatasetSettings, read_settings
    from robot_dynamics.identification.elastic.dataset import (
        elastic_dataset_from_arrays,
        load_elastic_dataset,
    )
    from robot_dynamics.identification.elastic.encoders import Encoders
    from robot_dynamics.identification.elastic.identify import identify_elastic
    from robot_dynamics.identification.elastic.problem import ElasticEstimateSettings
    from robot_dynamics.identification.elastic.result import ElasticIdentification
    from robot_dynamics.identification.excitation.design import DesignSettings, design
    from robot_dynamics.identification.excitation.limits import MotionLimits
    from robot_dynamics.identification.excitation.plan import ExcitationPlan
    from robot_dynamics.identification.outputs import make_outputs
    from robot_dynamics.identification.payload import identify_payload
    from robot_dynamics.identification.result import Identification
    from robot_dynamics.identification.rigid import EstimateSettings, estimate_settings, identify
    from robot_dynamics.identification.servo.log import read_servo_logs
    from robot_dynamics.identification.servo.output_error import (
        OutputErrorSettings,
        identify_drives,
    )
    from robot_dynamics.identification.shared import identify_shared, recording_equations
    from robot_dynamics.identification.signals import SignalSettings
    from robot_dynamics.identification.stiffness.log import joint_logs, read_columns
    from robot_dynamics.identification.stiffness.report import examine
    from robot_dynamics.identification.validation import validate
else:
    __getattr__ = lazy_names(__name__, __file__)

__all__ = [
    'DatasetSettings', 'DesignSettings', 'ElasticEstimateSettings', 'ElasticIdentification',
    'Encoders', 'EstimateSettings', 'ExcitationPlan', 'Identification', 'MotionLimits',
    'OutputErrorSettings', 'SignalSettings', 'dataset_from_arrays', 'design',
    'elastic_dataset_from_arrays', 'estimate_settings', 'examine', 'identify', 'identify_drives',
    'identify_elastic', 'identify_payload', 'identify_shared', 'joined', 'joint_logs',
    'load_dataset', 'load_elastic_dataset', 'make_outputs', 'read_columns', 'read_servo_logs',
    'read_settings', 'recording_equations', 'validate',
]
