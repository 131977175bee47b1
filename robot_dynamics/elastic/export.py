# SPDX-License-Identifier: Apache-2.0
"""The motors and springs of a robot as a file that `ElasticRobot.from_yaml` reads."""

from __future__ import annotations

import yaml

from robot_dynamics.elastic.configuration import GEAR_RATIO, OPTIONAL
from robot_dynamics.elastic.robot import ElasticRobot

_HEAD = """\
# Motors and springs of {name}, for ElasticRobot.from_yaml and the parameter elastic_joints.
"""
_NUMBERS = (GEAR_RATIO, 'rotor_inertia', 'stiffness', *OPTIONAL)


def elastic_joints_yaml(robot: ElasticRobot) -> str:
    """Return a file that has everything of each joint; docs/elastic.md has the format.

    Parameters
    ----------
    robot : ElasticRobot
        The robot. A motor that turns the other way has its axis turned round.
    """
    joints = {
        name: {**{field: float(getattr(robot.joints, field)[k]) for field in _NUMBERS},
               'rotor_axis': [float(x) for x in robot.rotor_axes[k]]}
        for k, name in enumerate(robot.links.joint_names)}
    content = {'coupled': robot.is_coupled, 'joints': joints}
    return _HEAD.format(name=robot.links.name.replace('\n', ' ')) + yaml.safe_dump(
        content, allow_unicode=True, sort_keys=False, default_flow_style=None,
        width=float('inf'))
