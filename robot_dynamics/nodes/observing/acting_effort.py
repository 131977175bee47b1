# SPDX-License-Identifier: Apache-2.0
"""``ActingEffort``: which effort acts on the joints, as reported or as commanded."""

from __future__ import annotations

import time

import numpy as np
from std_msgs.msg import Float64MultiArray

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.nodes.controller.reported import make_reported_effort
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.messages import array_of, joint_order
from robot_dynamics.nodes.ros.node import NodeParts
from robot_dynamics.nodes.ros.parameters import Parameter, Values

EFFORT_PARAMETERS = (
    Parameter('effort_source', 'joint_states', 'Where efforts come from: joint_states as '
              'effort_kind says, or commands, for an arm that reports none.',
              choices=('joint_states', 'commands'), read_only=True),
    Parameter('command_topic', 'effort_controller/commands', 'commands: where efforts are sent.',
              read_only=True, topic=True),
    Parameter('command_joints', (), 'commands: order of the joints there; empty means that of '
              'the robot.', element=str, read_only=True),
    Parameter('hardware_gravity_compensation', False, 'commands: whether the arm adds gravity '
              'to what is sent by itself.', read_only=True),
)

#: A command older than this acts no more, as far as anybody knows. s.
_LONGEST = 0.5


class ActingEffort:
    """Knows the effort that acts now.

    Parameters
    ----------
    node : NodeParts
        The node that listens.
    robot : Robot
        The arm.
    dynamics : Dynamics
        Its equations.
    values : mapping
        Values of `EFFORT_PARAMETERS` and of those that say what is reported.
    """

    def __init__(self, node: NodeParts, robot: Robot, dynamics: Dynamics, values: Values):
        self._reported = make_reported_effort(robot, dynamics, values)
        self._gravity = dynamics.gravity_torque if values['hardware_gravity_compensation'] \
            else None
        self._from_commands = values['effort_source'] == 'commands'
        self._order = np.argsort(joint_order('command_joints', values['command_joints'],
                                             robot.joint_names))
        self._command = np.full(robot.n, np.nan)
        self._heard = -np.inf
        if self._from_commands:
            node.fast.subscribe(Float64MultiArray, values['command_topic'], self._on_command,
                                qos.command_input())

    def acting(self, q: FloatArray, reported: FloatArray) -> FloatArray:
        """Return the effort that acts on the joints, gravity included, nan where unknown.

        Parameters
        ----------
        q, reported : ndarray, shape (n,)
            Positions, and efforts as joint states report them.
        """
        if not self._from_commands:
            return self._reported.joint_effort(q, reported)
        if time.monotonic() - self._heard > _LONGEST:
            return np.full_like(self._command, np.nan)
        return self._command if self._gravity is None else self._command + self._gravity(q)

    def _on_command(self, message: Float64MultiArray) -> None:
        """Take a command; one that no driver would take counts as none."""
        effort = array_of(message.data)
        if effort.shape == self._command.shape and np.isfinite(effort).all():
            self._command[:] = effort[self._order]
            self._heard = time.monotonic()
