# SPDX-License-Identifier: Apache-2.0
"""Robot dynamics in regressor form, for torque control and identification with ROS 2.

The names most programs need::

    from robot_dynamics import Dynamics, Robot

Each is loaded on first use, so that a node that needs only the errors does not load numba.
The packages below hold the rest: `robot_dynamics.model`, `dynamics`, `elastic`,
`closed_form`, `control`, `identification` and `recordings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from robot_dynamics.control.laws.elastic_pd import ElasticPDController
    from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
    from robot_dynamics.control.laws.guiding import GuidingController
    from robot_dynamics.control.laws.model_based import (
        ComputedTorqueController,
        PDGravityController,
    )
    from robot_dynamics.control.laws.slotine_li import AdaptiveController
    from robot_dynamics.dynamics.equations import Dynamics
    from robot_dynamics.elastic.dynamics import ElasticDynamics
    from robot_dynamics.elastic.robot import ElasticRobot
    from robot_dynamics.errors import (
        BackendError,
        BringupError,
        ControlError,
        DimensionError,
        FileError,
        Finding,
        InertiaError,
        ModelError,
        ModelTypeError,
        NoCompilerError,
        ParameterError,
        RecordingError,
        RobotDynamicsError,
        Severity,
        SimulationError,
        StateError,
        StopRequestedError,
        TrajectoryError,
        UnknownNameError,
    )
    from robot_dynamics.identification.dataset.dataset import load_dataset
    from robot_dynamics.identification.rigid import identify
    from robot_dynamics.model.joints import JointType
    from robot_dynamics.model.modify import with_payload, with_scaled_masses
    from robot_dynamics.model.robot import Robot
else:
    __getattr__ = lazy_names(__name__, __file__)

__version__ = '0.1.0'

__all__ = [
    'AdaptiveController', 'BackendError', 'BringupError', 'ComputedTorqueController',
    'ControlError', 'DimensionError', 'Dynamics', 'ElasticDynamics', 'ElasticPDController',
    'ElasticRobot', 'FeedforwardLQController', 'FileError', 'Finding', 'GuidingController',
    'InertiaError', 'JointType', 'ModelError', 'ModelTypeError', 'NoCompilerError',
    'PDGravityController', 'ParameterError', 'RecordingError', 'Robot', 'RobotDynamicsError',
    'Severity', 'SimulationError', 'StateError', 'StopRequestedError', 'TrajectoryError',
    'UnknownNameError', '__version__', 'identify', 'load_dataset', 'with_payload',
    'with_scaled_masses',
]
