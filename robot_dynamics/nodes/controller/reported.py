# SPDX-License-Identifier: Apache-2.0
"""Parameters that say what the effort of joint states means."""

from __future__ import annotations

from robot_dynamics.control.states.reported_effort import EffortKind, ReportedEffort
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.ros.parameters import Parameter, Values, per_joint

REPORTED_PARAMETERS = (
    Parameter('effort_kind', 'torque', 'What the effort of joint_states is: torque of the joint, '
              'current of its motor, torque beyond what gravity needs, or none that could be '
              'used.', choices=tuple(kind.value for kind in EffortKind), read_only=True),
    Parameter('effort_scale', (), 'Joint effort per unit reported: negative where the driver '
              'counts the other way; for currents torque constant times gear ratio. Empty means '
              'one.', 'N m or N per unit', -1e6, 1e6, read_only=True),
)


def make_reported_effort(robot: Robot, dynamics: Dynamics, values: Values, *,
                         hardware_gravity: bool = False) -> ReportedEffort:
    """Return what turns reported efforts into joint efforts, as the parameters say.

    Parameters
    ----------
    robot : Robot
        The robot.
    dynamics : Dynamics
        Its equations.
    values : mapping
        Parameter values, `REPORTED_PARAMETERS` among them.
    hardware_gravity : bool
        Whether the hardware adds gravity to what is sent to it.

    Raises
    ------
    ParameterError
        Where they do not fit the robot or each other.
    """
    scale = per_joint(values, 'effort_scale', robot.joint_names) \
        if values['effort_scale'] else None
    return ReportedEffort(EffortKind(values['effort_kind']), scale, dynamics.gravity_torque,
                          hardware_gravity=hardware_gravity)
