# SPDX-License-Identifier: Apache-2.0
"""Parameters of every effort controller, and the control session they describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.control.feedback.linear_feedback import JointGains
from robot_dynamics.control.feedback.protocol import HardwareGravityController, TrackingController
from robot_dynamics.control.motion.trajectory import TrajectoryBuffer
from robot_dynamics.control.session.limits import RAMP_TIME, EffortLimiter
from robot_dynamics.control.session.safe_command import RELEASE_TIME, SafeKind, StatesLost
from robot_dynamics.control.session.session import ControlSession, SessionSettings
from robot_dynamics.control.session.start_gate import StartGate
from robot_dynamics.control.states.joint_state import JointStateMonitor
from robot_dynamics.control.states.reported_effort import EffortKind, ReportedEffort
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.commands import COMMAND_TYPES
from robot_dynamics.nodes.controller.follow_joint_trajectory import GOAL_PARAMETERS
from robot_dynamics.nodes.controller.references import REFERENCE_PARAMETERS
from robot_dynamics.nodes.controller.services import (
    PAYLOAD_PARAMETERS,
    STOP_PARAMETERS,
    make_stop_motion,
)
from robot_dynamics.nodes.ros.description import ROBOT_PARAMETERS
from robot_dynamics.nodes.ros.driver import DRIVER_STOP_PARAMETERS
from robot_dynamics.nodes.ros.parameters import Parameter, Values, per_joint

_GAINS = FeedbackGains()

FEEDBACK_PARAMETERS = (
    Parameter('delay', 0.001, 'Time from the measurement of a state to the effort that answers '
              'it, which bounds the gains.', 's', 0.0, 0.1, read_only=True),
    Parameter('feedback.bandwidth', _GAINS.bandwidth, 'Rate at which s = e_dot + lambda e decays.',
              '1/s', 0.1, 1000.0),
    Parameter('feedback.error_rate', _GAINS.error_rate, 'lambda, rate at which the position error '
              'decays.', '1/s', 0.01, 1000.0),
    Parameter('feedback.stiffness', (), 'Stiffness K_P, one value or one for each joint; empty '
              'for that of bandwidth and error rate. Without feedback.damping it is in addition '
              'to that.', 'N m/rad or N/m', 0.0, 1e9),
    Parameter('feedback.damping', (), 'Damping K_D, one value or one for each joint, with '
              'feedback.stiffness instead of bandwidth and error rate; empty for those.',
              'N m s/rad or N s/m', 0.0, 1e9),
)


def group(values: Values, prefix: str, kind: type) -> dict[str, Any]:
    """Collect the parameters below a prefix as keywords of a dataclass; others are left out."""
    return {field.name: values[name] for field in fields(kind)
            if (name := f'{prefix}.{field.name}') in values}


def make_feedback_gains(robot: Robot, values: Values) -> FeedbackGains | JointGains:
    """Gains of the linear feedback that the parameters describe."""
    stiffness = tuple(per_joint(values, 'feedback.stiffness', robot.joint_names, default=0.0))
    if not values.get('feedback.damping'):  # hand guiding has none
        return FeedbackGains(values['feedback.bandwidth'], values['feedback.error_rate'],
                             stiffness)
    if not values['feedback.stiffness']:
        raise ParameterError('needs feedback.stiffness', subject='feedback.damping',
                             remedy='set both, or leave both empty')
    return JointGains(stiffness, tuple(per_joint(values, 'feedback.damping', robot.joint_names)))


def feedback_keywords(robot: Robot, values: Values) -> dict[str, Any]:
    """Feedback gains, period and delay, s, as keywords of the laws."""
    return {'feedback': make_feedback_gains(robot, values),
            'period': 1.0 / values['rate'], 'delay': values['delay']}


REPORTED_PARAMETERS = (
    Parameter('effort_kind', 'torque', 'Meaning of the effort of joint_states: torque of the '
              'joint, current of its motor, torque without that of gravity, or not usable.',
              choices=tuple(kind.value for kind in EffortKind), read_only=True),
    Parameter('effort_scale', (), 'Joint effort per unit reported: negative where the driver '
              'counts the other way; for currents torque constant times gear ratio. Empty means '
              'one.', 'N m or N per unit', -1e6, 1e6, read_only=True),
)


def make_reported_effort(robot: Robot, dynamics: Dynamics, values: Values, *,
                         hardware_gravity: bool = False) -> ReportedEffort:
    """Conversion of reported efforts to joint efforts, from `REPORTED_PARAMETERS`.

    `hardware_gravity` is True where the hardware adds gravity to commands. Raises a
    ParameterError where values do not fit the robot or each other.
    """
    scale = per_joint(values, 'effort_scale', robot.joint_names) \
        if values['effort_scale'] else None
    return ReportedEffort(EffortKind(values['effort_kind']), scale, dynamics.gravity_torque,
                          hardware_gravity=hardware_gravity)


CONTROLLER_PARAMETERS = (
    *ROBOT_PARAMETERS,
    Parameter('rate', 500.0, 'Rate of joint_states.', 'Hz', 1.0, 2000.0, read_only=True),
    Parameter('state_timeout', 0.1, 'Time of the machine without a valid joint state after which '
              'the safe command is sent. More than 2 s needs use_sim_time.', 's', 0.005, 10.0,
              read_only=True),
    Parameter('state_skew', 0.02, 'Largest age difference between the joints of one state.', 's',
              0.0, 2.0, read_only=True),
    Parameter('max_age', 0.2, 'Largest age of a state by its stamp; older ones are rejected.', 's',
              0.001, 2.0, read_only=True),
    Parameter('max_future', 0.05, 'Largest time by which the stamp of a state may be ahead of '
              'the clock; others are rejected.', 's', 0.0, 2.0, read_only=True),
    Parameter('velocity_cutoff', 30.0, 'Corner frequency of estimated velocities, where '
              'joint_states have none.', 'Hz', 0.5, 200.0, read_only=True),
    Parameter('state_publishers', 1, 'Required number of publishers of joint_states; 0 for any '
              'number. With more, the controller does not begin; while active it goes safe.',
              low=0, high=10, read_only=True),
    Parameter('command_topic', 'effort_controller/commands', 'Topic of the commands.',
              read_only=True, topic=True),
    Parameter('command_type', 'effort_array', 'Type of the commands: effort_array for an effort '
              'controller such as forward_command_controller, joint_trajectory for a joint '
              'trajectory controller with an effort interface and no gains.',
              choices=tuple(COMMAND_TYPES), read_only=True),
    Parameter('command_joints', (), 'Order of the joints in commands, as the effort controller '
              'has it; empty means that of the robot.', element=str, read_only=True),
    Parameter('deactivate_effort_controller', True, 'Whether the effort controller of '
              'ros2_control is deactivated before this controller stops sending commands. '
              'Otherwise it applies the last one forever.', read_only=True),
    *DRIVER_STOP_PARAMETERS,
    Parameter('hardware_gravity_compensation', False, 'Whether the arm adds the gravity torque '
              'to commands; commands then do not contain gravity.', read_only=True),
    *REPORTED_PARAMETERS,
    Parameter('effort_limit', (), 'Largest efforts, at most those of the robot; empty means those '
              'of the robot times effort_limit_share.', 'N m or N', 0.001, 1e5, read_only=True),
    Parameter('effort_limit_share', 1.0, 'Share of the effort limits of the robot that is used '
              'where effort_limit is empty. Gravity and payload have to be within it.', '', 0.01,
              1.0, read_only=True),
    Parameter('effort_rate_limit', (), 'Largest rates of change of efforts. Empty: only while '
              f'control changes hands, effort_limit in {RAMP_TIME:g} s; 0: unlimited.',
              'N m/s or N/s', 0.0, 1e8, read_only=True),
    Parameter('max_tracking_error', 0.5, 'Largest distance from the reference; beyond it the '
              'safe command is sent.', 'rad or m', 0.001, 10.0, read_only=True),
    Parameter('max_trajectory_points', 1000, 'Largest number of points of a reference, which is '
              'read between two joint states. Longer references are rejected: send them in parts.',
              low=1, high=10_000, read_only=True),
    Parameter('safe_command', 'gravity', 'gravity compensates gravity and damps the motion, '
              'damping is for an arm that compensates its own gravity, zero for one that cannot '
              'fall.', choices=tuple(kind.value for kind in SafeKind), read_only=True),
    Parameter('safe_command_count', 5, 'Number of equal safe commands that are sent in the end.',
              low=1, high=100, read_only=True),
    Parameter('states_lost', StatesLost.HOLD.value, 'What follows where joint_states stop, after '
              'the arm is braked for a second at most: hold leaves the effort of gravity at the '
              f'last pose, release reduces it to zero in {RELEASE_TIME:g} s, for an arm with '
              'brakes or one that cannot fall.',
              choices=tuple(kind.value for kind in StatesLost), read_only=True),
    Parameter('resume_after', 0, 'Number of consecutive valid states after which the controller '
              'continues after states have stopped; 0 to continue only after a new activation.',
              low=0, high=1_000_000, read_only=True),
    Parameter('telemetry_rate', 25.0, 'Rate of each topic for plots and recorders; 0 to switch '
              'them off.', 'Hz', 0.0, 2000.0, read_only=True),
    *REFERENCE_PARAMETERS,
    *GOAL_PARAMETERS,
    *STOP_PARAMETERS,
    *PAYLOAD_PARAMETERS,
)


def make_session(robot: Robot, law: TrackingController, values: Values,
                 kind: type[ControlSession] = ControlSession,
                 state_names: Sequence[str] | None = None) -> ControlSession:
    """Control session of a law as `CONTROLLER_PARAMETERS` describe it.

    `state_names` are those of the joints in the states, where they differ from the robot's. Raises
    a ParameterError where values do not fit the robot.
    """
    names = robot.joint_names
    monitor = JointStateMonitor.for_robot(
        robot, state_names, **{name: values[name] for name in (
            'state_skew', 'max_age', 'max_future', 'velocity_cutoff')})
    rate_limit = None
    if values['effort_rate_limit']:
        rate_limit = per_joint(values, 'effort_rate_limit', names)
        rate_limit[rate_limit == 0.0] = np.inf
    own = values['effort_limit_share'] * robot.limits.effort
    limit = per_joint(values, 'effort_limit', names, default=np.nan)
    limiter = EffortLimiter.for_robot(robot, np.where(np.isnan(limit), own, limit),
                                      rate_limit=rate_limit)
    carried = values['hardware_gravity_compensation']
    dynamics = Dynamics(robot)
    reported = make_reported_effort(robot, dynamics, values, hardware_gravity=carried)
    gate = StartGate(limiter.limit, compare_effort=reported.comparable, as_sent=reported.as_sent)
    if carried:
        law = HardwareGravityController(law, dynamics.gravity_torque, limiter.hardware_gravity)
    settings = SessionSettings(
        period=1.0 / values['rate'], state_timeout=values['state_timeout'],
        resume_after=values['resume_after'] or None, safe_kind=SafeKind(values['safe_command']),
        safe_repeats=values['safe_command_count'],
        states_lost=StatesLost(values['states_lost']),
        max_tracking_error=values['max_tracking_error'])
    trajectory = TrajectoryBuffer.for_robot(robot, max_points=values['max_trajectory_points'])
    return kind(robot, law, settings, monitor=monitor, limiter=limiter, gate=gate,
                trajectory=trajectory, stop_motion=make_stop_motion(robot, values))
