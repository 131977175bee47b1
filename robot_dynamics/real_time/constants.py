# SPDX-License-Identifier: Apache-2.0
"""Constants of a controller in C, read from the Python objects that computed them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.feedback.protocol import HardwareGravityController
from robot_dynamics.control.motion import piecewise, trajectory, trajectory_limits
from robot_dynamics.control.motion import trajectory_points as points
from robot_dynamics.control.session import hand_guiding, limits, safe_command, supervisor
from robot_dynamics.control.session import session as sessions
from robot_dynamics.control.session.hand_guiding import ImpedanceSession
from robot_dynamics.control.session.safe_command import SafeKind, StatesLost
from robot_dynamics.control.session.session import ControlSession
from robot_dynamics.control.session.stop_motion import StopKind
from robot_dynamics.control.states import joint_state
from robot_dynamics.control.states.reported_effort import EffortKind, ReportedEffort

#: Thresholds that are the same for every robot, by module.
THRESHOLDS = {
    joint_state: ('FROZEN_AFTER', 'FROZEN_COUNT', 'MOVING', 'POSITION_BOUND', 'VELOCITY_MARGIN',
                  'SPEED_MARGIN', 'STAMP_RESOLUTION', 'SHORTEST_DIFFERENCE'),
    limits: ('RAMP_TIME',),
    safe_command: ('SAFE_MARGIN', 'ENERGY_SHARE', 'REST_SHARE', 'JUDGED_STATES',
                   'LONGEST_BRAKING', 'RELEASE_TIME'),
    supervisor: ('MEMORY', 'VELOCITY_LAG', 'SLOPE_CUTOFF', 'LONGEST_STEP', 'INCONSISTENT_STATES',
                 'MOVED_SHARE', 'STILL', 'OBEDIENCE_WINDOW', 'REVERSED_SHARE', 'COUNTED_STATES',
                 'COUNTED_TIME', 'TOO_MANY_LATE', 'FEW_LATE', 'VERY_LATE_STATES'),
    points: ('SHORTEST_SEGMENT', 'LONGEST'),
    piecewise: ('AT_REST', 'COAST', 'SHORTEST_STOP', 'STOP_PEAK', 'QUINTIC_PEAK_ACCELERATION'),
    trajectory_limits: ('HALVINGS', 'OVERSHOOT'),
    trajectory: ('VELOCITY_BLEND_PEAK', 'SHORTEST_BLEND', 'LONGEST_WAIT', 'STOP_STEP',
                 'STOP_POINTS'),
    sessions: ('CLOCK_TOLERANCE', 'CONFIRMING_STATES', 'LASTING_JUMPS', 'SAME_PLACE', 'OUTSIDE',
               'MUCH_GRAVITY', 'OPPOSES', 'OBEDIENCE_TIME'),
}


@dataclass(frozen=True)
class Constant:
    """A constant: a macro where its value is one number, an array otherwise.

    The macro of ``name`` is ``RD_NAME``, the array ``rd_name``.
    """

    name: str
    value: ArrayLike
    text: str = ''


def session_constants(session: ControlSession) -> list[Constant]:
    """Settings and thresholds of the session around a law."""
    robot, settings, limiter = session.robot, session.settings, session.limiter
    monitor, gate, motion = session.monitor, session.gate, session.stop_motion
    supervision, safe, buffer = session.supervisor, session._safe_motion, session.trajectory
    reported = getattr(gate.as_sent, '__self__', None)
    kind = reported.kind if isinstance(reported, ReportedEffort) else EffortKind.TORQUE
    scale = reported._scale if isinstance(reported, ReportedEffort) else 1.0
    n = robot.n
    per_joint = {
        'reported_scale': (scale, 'joint effort per unit reported'),
        'effort_limit': (limiter.limit, 'N m or N'),
        'possible_effort': (limiter.possible, 'limits of the robot itself, N m or N'),
        'effort_rate': (limiter.rate, 'largest changes, N m/s or N/s'),
        'ramp_rate': (limiter.ramp, 'the same while control changes hands'),
        'joint_lower': (robot.limits.lower, 'rad or m'),
        'joint_upper': (robot.limits.upper, 'rad or m'),
        'plausible_speed': (monitor._speed, 'rad/s or m/s'),
        'continuous': (robot.is_continuous, 'whether a joint turns without limits'),
        'largest_speed': (session._speed_guard._largest, 'beyond it the session goes safe'),
        'gate_tolerance': (gate.tolerance, 'N m or N'),
        'least_difference': (supervision._least, 'rad or m'),
        'stuck_distance': (supervision.stuck_distance, 'rad or m'),
        'friction_effort': (supervision._friction, 'N m or N'),
        'compared_effort': (supervision._compared, 'N m or N'),
        'lasting_jump': (supervision.lasting_jump, 'rad/s or m/s'),
        'energy_speed': (safe._speed, 'rad/s or m/s'),
        'energy_power': (safe._power, 'N m or N'),
        'stop_acceleration': (motion.acceleration, 'of requested stops, rad/s^2 or m/s^2'),
        'trajectory_lower': (buffer.limits.lower, 'rad or m'),
        'trajectory_upper': (buffer.limits.upper, 'rad or m'),
        'trajectory_speed': (buffer.limits.velocity, 'rad/s or m/s'),
        'trajectory_acceleration': (buffer.limits.acceleration, 'rad/s^2 or m/s^2'),
    }
    clock = session.clock
    return [
        Constant('pi', math.pi),
        Constant('period', settings.period, 'nominal, s'),
        Constant('longest_dt', clock.max_dt, 's'),
        Constant('shortest_regular', clock._short, 's'),
        Constant('longest_regular', clock._gap, 's'),
        Constant('state_timeout', settings.state_timeout, 's'),
        Constant('resume_after', settings.resume_after or 0, 'good states; 0 for never'),
        Constant('safe_gravity', settings.safe_kind is SafeKind.GRAVITY, 'safe command'),
        Constant('safe_zero', settings.safe_kind is SafeKind.ZERO, 'without effort'),
        Constant('safe_repeats', settings.safe_repeats),
        Constant('release_lost', settings.states_lost is StatesLost.RELEASE,
                 'whether an arm without states is released'),
        Constant('largest_error', settings.max_tracking_error, 'rad or m'),
        Constant('max_overruns', settings.max_overruns),
        Constant('longest_age', session.lateness.longest_delay, 's'),
        Constant('max_joint_step', monitor._max_step, 'rad or m'),
        Constant('velocity_cutoff', monitor._cutoff, 'rad/s'),
        Constant('rest_speed', sessions.AT_REST, 'at rest when control begins, rad/s or m/s'),
        Constant('speed_states', session._speed_guard._states),
        Constant('ramp_together', limiter.ramp is not limiter.rate),
        Constant('no_limit', float(trajectory_limits.NO_LIMIT)),
        Constant('guides', isinstance(session, ImpedanceSession),
                 'whether the arm follows poses of its end effector'),
        Constant('rest_distance', hand_guiding.REST_DISTANCE, 'of an arm that will be guided'),
        Constant('rest_time', hand_guiding.REST_TIME, 's'),
        Constant('hardware_gravity', isinstance(session.controller, HardwareGravityController),
                 'whether the hardware adds gravity to commands'),
        Constant('compare_effort', gate.compares_efforts),
        Constant('effort_without_gravity', kind is EffortKind.GRAVITY_COMPENSATED,
                 'whether reported efforts lack gravity'),
        Constant('effort_unknown', kind is EffortKind.NONE),
        Constant('gate_samples', gate.samples),
        Constant('settle_time', gate.settle_time, 's'),
        Constant('still_tolerance', gate.still_tolerance, 'rad or m'),
        Constant('history', len(gate._sent), 'commands that a reported effort may answer'),
        Constant('stop_together', motion.kind is StopKind.TOGETHER),
        Constant('max_points', buffer.max_points, 'of a trajectory'),
        Constant('start_tolerance', buffer.start_tolerance, 'rad or m'),
        Constant('blend_acceleration', buffer.blend_acceleration, 'rad/s^2'),
        Constant('running_out', buffer.stop_acceleration, 'deceleration, rad/s^2'),
        *(Constant(name.lower(), getattr(module, name))
          for module, names in THRESHOLDS.items() for name in names),
        Constant('agreement', trajectory.AGREEMENT, 'rad, rad/s, rad/s^2'),
        Constant('parameters', robot.inertial_parameters.ravel(), 'ten for each body'),
        *(Constant(name, np.broadcast_to(value, n), text)
          for name, (value, text) in per_joint.items()),
    ]


def constants_files(constants: Iterable[Constant]) -> dict[str, str]:
    """``constants.h`` and ``constants.c``, by name."""
    head = ('/* SPDX-License-Identifier: Apache-2.0\n *\n * Settings and thresholds, computed by '
            'robot_dynamics.\n */\n')
    macros, declared, defined = [], [], []
    for constant in constants:
        values = np.asarray(constant.value, dtype=np.float64)
        comment = f'  /* {constant.text} */' if constant.text else ''
        if values.ndim == 0:
            is_whole = not np.issubdtype(np.asarray(constant.value).dtype, np.floating)
            text = f'{int(values)}' if is_whole else c_number(float(values))
            macros.append(f'#define RD_{constant.name.upper()} {text}{comment}')
        else:
            declared.append(f'extern const double rd_{constant.name}[{values.size}];{comment}')
            defined.append(f'const double rd_{constant.name}[{values.size}] = {{\n    '
                           + ',\n    '.join(map(c_number, values.ravel().tolist())) + '\n};')
    return {
        'constants.h': '\n'.join([head, '#ifndef RD_CONSTANTS_H', '#define RD_CONSTANTS_H', '',
                                  *macros, '', *declared, '', '#endif', '']),
        'constants.c': '\n'.join([head, '#include "constants.h"\n\n#include <math.h>\n',
                                  *defined, ''])}


def c_number(value: float) -> str:
    """Shortest text of a number that C reads back as the same double."""
    if math.isnan(value):
        return 'NAN'
    if math.isinf(value):
        return 'INFINITY' if value > 0.0 else '-INFINITY'
    return repr(value)
