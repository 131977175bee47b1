# SPDX-License-Identifier: Apache-2.0
"""Controllers, references and the control session: no clock, no messages, no rclpy.

- `states`: complete, plausible joint states from joint state messages;
- `motion`: desired motions: references, trajectories, paths of an end effector;
- `feedback`: linear feedback, its gains, and the model with its payload;
- `adaptation`: update laws of the parameter estimates;
- `lq`: gains of the least squares feedback;
- `laws`: the controllers;
- `faults`: detection and isolation of faults and contacts;
- `session`: from a joint state to a command within limits, with modes, guards and stops.

The names below are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.lazy import lazy_names

__all__ = ['AdaptationGains', 'AdaptiveController', 'CartesianImpedanceController', 'Cause',
           'Circle', 'ComputedTorqueController', 'ControlSession', 'EffortKind', 'EffortLimiter',
           'ElasticPDController', 'ElasticSession', 'FastestStop', 'FaultDetector',
           'FeedbackDesign', 'FeedbackGains', 'FeedforwardLQController', 'FourierSeries',
           'GuidingController', 'GuidingSettings', 'HandGuidingSession', 'Hold', 'Impedance',
           'ImpedanceSession', 'ImpedanceSettings', 'JointBounds', 'JointGains',
           'JointStateMonitor', 'Line', 'LoadedModel', 'Mode', 'MomentumObserver',
           'PDGravityController', 'PartialKnowledge', 'Payload', 'PointToPoint', 'PoseSetpoint',
           'Repeat', 'ReportedEffort', 'Schedule', 'Sequence', 'SessionSettings',
           'SetpointLimits', 'StartGate', 'StopMotion', 'TipMotion', 'TipTask', 'TorqueTerms',
           'TrackingController', 'TrajectoryBuffer', 'TrajectoryPoint', 'bounded_acceleration',
           'end_effector_acceleration', 'exciting_fourier', 'loop_report', 'motor_motion',
           'through_poses']

if TYPE_CHECKING:
    from robot_dynamics.control.adaptation.partial_knowledge import PartialKnowledge
    from robot_dynamics.control.faults.fault_detector import FaultDetector
    from robot_dynamics.control.faults.residuals import MomentumObserver, TorqueTerms
    from robot_dynamics.control.feedback.gains import AdaptationGains, FeedbackGains
    from robot_dynamics.control.feedback.linear_feedback import JointGains
    from robot_dynamics.control.feedback.loaded_model import LoadedModel, Payload
    from robot_dynamics.control.feedback.protocol import TrackingController
    from robot_dynamics.control.laws.cartesian_impedance import (
        CartesianImpedanceController,
        ImpedanceSettings,
    )
    from robot_dynamics.control.laws.elastic_pd import ElasticPDController, motor_motion
    from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
    from robot_dynamics.control.laws.guiding import GuidingController, GuidingSettings
    from robot_dynamics.control.laws.impedance import Impedance
    from robot_dynamics.control.laws.model_based import (
        ComputedTorqueController,
        PDGravityController,
    )
    from robot_dynamics.control.laws.slotine_li import AdaptiveController, loop_report
    from robot_dynamics.control.lq.design import FeedbackDesign, Schedule
    from robot_dynamics.control.motion.acceleration_command import (
        bounded_acceleration,
        end_effector_acceleration,
    )
    from robot_dynamics.control.motion.pose_setpoint import PoseSetpoint, SetpointLimits
    from robot_dynamics.control.motion.references import (
        FourierSeries,
        Hold,
        PointToPoint,
        Repeat,
        Sequence,
        exciting_fourier,
        through_poses,
    )
    from robot_dynamics.control.motion.tip_motion import (
        Circle,
        JointBounds,
        Line,
        TipMotion,
        TipTask,
    )
    from robot_dynamics.control.motion.trajectory import TrajectoryBuffer
    from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
    from robot_dynamics.control.session.elastic_session import ElasticSession
    from robot_dynamics.control.session.hand_guiding import HandGuidingSession, ImpedanceSession
    from robot_dynamics.control.session.limits import EffortLimiter
    from robot_dynamics.control.session.modes import Cause, Mode
    from robot_dynamics.control.session.session import ControlSession, SessionSettings
    from robot_dynamics.control.session.start_gate import StartGate
    from robot_dynamics.control.session.stop_motion import FastestStop, StopMotion
    from robot_dynamics.control.states.joint_state import JointStateMonitor
    from robot_dynamics.control.states.reported_effort import EffortKind, ReportedEffort
else:
    __getattr__ = lazy_names(__name__, __file__)
