# SPDX-License-Identifier: Apache-2.0
"""Processor time of the action follow_joint_trajectory and of what comes with it.

    python benchmark/goals.py            # prints the table
    python benchmark/goals.py --write    # and puts it into docs/moveit.md

A node with a session of arm7 is made in this process, without an arm and without a client. Where
control_msgs is not installed, the interfaces of the tests are built.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from sections import DOCS, write_section

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'test' / 'nodes'))
import interfaces  # noqa: E402

if not interfaces.is_installed('control_msgs'):
    interfaces.use_here(interfaces.build(interfaces.SOURCES / 'control_msgs'))

import rclpy  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402

from robot_dynamics import Robot  # noqa: E402
from robot_dynamics.control import (  # noqa: E402
    ControlSession,
    PDGravityController,
    SessionSettings,
)
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint  # noqa: E402
from robot_dynamics.control.session.modes import Mode  # noqa: E402
from robot_dynamics.nodes.controller import follow_joint_trajectory as action  # noqa: E402
from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS  # noqa: E402
from robot_dynamics.nodes.controller.references import References  # noqa: E402
from robot_dynamics.nodes.ros.messages import StampClock, trajectory_message  # noqa: E402
from robot_dynamics.nodes.ros.node import PlainNode  # noqa: E402
from robot_dynamics.nodes.ros.stopping import StopRequest  # noqa: E402

POSE = np.array([0.0, -0.3, 0.1, -2.2, 0.0, 2.0, 0.785])
COUNTS = (20, 100, 500)


def median(function: Callable[[], Any], count: int) -> float:
    """Median processor time of a call, ms."""
    times = np.empty(count)
    for k in range(count):
        begin = time.process_time()
        function()
        times[k] = time.process_time() - begin
    return 1e3 * float(np.median(times))


def rows() -> list[tuple[str, float]]:
    """What is measured, and its time in ms."""
    robot = Robot.from_urdf('arm7')
    node = PlainNode('goals', CONTROLLER_PARAMETERS, StopRequest())
    session = ControlSession(robot, PDGravityController(robot), SessionSettings(period=0.002))
    session.on_joint_state(1.0, 1.0, robot.joint_names, POSE.tolist(), [0.0] * robot.n)
    session.mode = Mode.TRACKING
    stamps = StampClock(node)
    references = References(node, session, stamps, lambda length: None)
    server = action.TrajectoryAction(node, session, references, stamps)
    state = action.ControllerState(node, session)
    found = [('publish `controller_state`, at `telemetry_rate`',
              median(lambda: state.publish(1), 500))]
    points = [TrajectoryPoint(0.1 * (k + 1), POSE + 0.1 * np.sin(0.1 * k), np.zeros(robot.n),
                              np.zeros(robot.n)) for k in range(COUNTS[-1])]
    goal_type = action.FollowJointTrajectory.Goal
    for count in COUNTS:
        goal = goal_type(trajectory=trajectory_message(robot.joint_names, points[:count]))
        data, alone = serialize_message(goal), serialize_message(goal.trajectory)
        handle = SimpleNamespace(request=goal)
        found += [(f'take a goal of {count} points of 7 joints',
                   median(lambda data=data: deserialize_message(data, goal_type), 50)
                   + median(lambda handle=handle: server._follow(handle, 0), 50)),
                  (f'take the same trajectory on the topic, {count} points',
                   median(lambda alone=alone: references._on_message(alone), 50))]
    server._goal = server._follow(handle, 0)
    return [*found, ('compare one state with path tolerances', median(server._watch_path, 500)),
            ('stop on the path', median(lambda: references.stop('cancelled'), 100))]


def main() -> None:
    """Print the table, and write it where asked to."""
    rclpy.init()
    lines = ['| | ms |', '|---|---:|', *(f'| {what} | {ms:.3g} |' for what, ms in rows())]
    table = '\n'.join(lines)
    print(table)
    if '--write' in sys.argv[1:]:
        write_section(DOCS / 'moveit.md', 'time', table)
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
