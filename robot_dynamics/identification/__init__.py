# SPDX-License-Identifier: Apache-2.0
"""Identification of an arm: from a recording of its motion to its parameters.

A log is read (`load_dataset`, `dataset_from_arrays`), `identify` returns an `Identification`
with parameters, validation and verdict, and `make_outputs` the files of it. `design` plans the
motion to record. Elastic joints have `load_elastic_dataset` and `identify_elastic`, servo
drives `read_servo_logs` and `identify_drives`, and single joints `examine`. Names are loaded on
first use.

Examples
--------
>>> import robot_dynamics.identification as identification
>>> 'identify' in identification.__all__
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    from robot_dynamics.identification.stiffness.log import joint_logs, read_columns
    from robot_dynamics.identification.stiffness.report import examine

_MODULES = {
    'dataset.dataset': ('dataset_from_arrays', 'joined', 'load_dataset'),
    'dataset.settings': ('DatasetSettings', 'read_settings'),
    'elastic.dataset': ('elastic_dataset_from_arrays', 'load_elastic_dataset'),
    'elastic.encoders': ('Encoders',),
    'elastic.identify': ('identify_elastic',),
    'elastic.problem': ('ElasticEstimateSettings',),
    'elastic.result': ('ElasticIdentification',),
    'excitation.design': ('DesignSettings', 'design'),
    'excitation.limits': ('MotionLimits',),
    'excitation.plan': ('ExcitationPlan',),
    'rigid': ('EstimateSettings', 'estimate_settings', 'identify'),
    'outputs': ('make_outputs',),
    'payload': ('identify_payload',),
    'result': ('Identification',),
    'servo.log': ('read_servo_logs',),
    'servo.output_error': ('OutputErrorSettings', 'identify_drives'),
    'stiffness.log': ('joint_logs', 'read_columns'),
    'stiffness.report': ('examine',),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    'DatasetSettings', 'DesignSettings', 'ElasticEstimateSettings', 'ElasticIdentification',
    'Encoders', 'EstimateSettings', 'ExcitationPlan', 'Identification', 'MotionLimits',
    'OutputErrorSettings', 'dataset_from_arrays', 'design', 'elastic_dataset_from_arrays',
    'estimate_settings', 'examine', 'identify', 'identify_drives', 'identify_elastic',
    'identify_payload', 'joined', 'joint_logs', 'load_dataset', 'load_elastic_dataset',
    'make_outputs', 'read_columns', 'read_servo_logs', 'read_settings',
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_HOMES[name]}'), name)
