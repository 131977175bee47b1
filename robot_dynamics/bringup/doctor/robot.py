# SPDX-License-Identifier: Apache-2.0
"""Looks at a robot description."""

from __future__ import annotations

import numpy as np

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.doctor.findings import (
    Examination,
    Level,
    Remark,
    Section,
    from_error,
    from_finding,
    gathered,
    ok,
)
from robot_dynamics.bringup.doctor.masses import judge_gravity, judge_masses
from robot_dynamics.bringup.doctor.ranges import judge_ranges
from robot_dynamics.bringup.doctor.rates import judge_control
from robot_dynamics.bringup.doctor.strength import judge_strength, measure_strength
from robot_dynamics.bringup.doctor.urdf_text import judge_described, read_described
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot, prismatic_joints


def examine_robot(name_or_path: str) -> Examination:
    """Return what is to be said of the robot that a user names."""
    try:
        description = load_description(name_or_path)
    except RobotDynamicsError as refusal:
        return Examination(f'{name_or_path} cannot be used', (
            Section('description', (from_error(refusal, name_or_path),)),))
    robot = description.robot
    return Examination(robot_line(robot), robot_sections(robot, description.urdf),
                       robot_table(robot))


def robot_sections(robot: Robot, urdf: str) -> tuple[Section, ...]:
    """Return all remarks about a robot and the text that describes it."""
    description = (Section('description', tuple(judge_reading(robot, urdf))),
                   Section('masses', (*judge_masses(robot), *judge_gravity(robot))))
    refusal = judge_coordinates(robot)
    if refusal:
        return (*description, Section('control', tuple(refusal)))
    return (*description, Section('limits', tuple(judge_ranges(robot))),
            Section('control', (*judge_weight(robot), *judge_control(robot))))


def judge_coordinates(robot: Robot) -> list[Remark]:
    """Say where a robot is no arm: controllers move joints of one coordinate."""
    try:
        robot.require_single_coordinates('control')
    except RobotDynamicsError as refusal:
        return [from_error(refusal, robot.name)]
    return []


def judge_reading(robot: Robot, urdf: str) -> list[Remark]:
    """Return what the reader noticed, and what else the text says."""
    remarks = gathered([*map(from_finding, robot.findings),
                        *judge_described(read_described(urdf), robot)])
    if any(remark.level >= Level.WARNING for remark in remarks):
        return remarks
    return [ok('read', f'{robot.n_bodies} moving links, each a body that there can be'), *remarks]


def robot_line(robot: Robot) -> str:
    """Return a robot in one line."""
    mass = float(robot.inertial_parameters[:, 0].sum())
    return f'{robot.name}: {joint_count(robot)}, {mass:.3g} kg moving'


def robot_table(robot: Robot) -> tuple[str, ...]:
    """Return a line for each joint: where it moves and what it may exert."""
    width = max(map(len, robot.joint_names))
    limits = robot.limits
    lines = []
    for k, name in enumerate(robot.joint_names):
        columns = robot.coordinates.velocities(k)
        kind = _type_of(robot, name)
        if columns.stop - columns.start > 1:
            lines.append(f'  {name:<{width}} {kind.name.lower()}')
            continue
        low, high, effort = (column[columns.start] for column in (limits.lower, limits.upper,
                                                                  limits.effort))
        slides = kind is JointType.PRISMATIC
        positions = f'{low:8.3f} to {high:7.3f} {"m  " if slides else "rad"}' \
            if np.isfinite([low, high]).any() else f'{"without limits":<23}'
        efforts = f'effort to {effort:g} {"N" if slides else "N m"}' \
            if np.isfinite(effort) else 'no effort limit'
        lines.append(f'  {name:<{width}} {positions}   {efforts}')
    return tuple(lines)


def joint_count(robot: Robot) -> str:
    """Return how many joints a robot has, and how many of them slide."""
    count = len(robot.joint_names)
    prismatic = np.count_nonzero(prismatic_joints(robot))
    rest = f', {prismatic} of them prismatic' if prismatic else ''
    return f'{count} joint{"s" if count > 1 else ""}{rest}'


def judge_weight(robot: Robot) -> list[Remark]:
    """Say whether a robot can carry itself."""
    if not np.any(robot.inertial_parameters):
        return []  # The reader has said so.
    return judge_strength(robot, measure_strength(robot))


def _type_of(robot: Robot, joint: str) -> JointType:
    return JointType(robot.joint_types[robot.body_joint_names.index(joint)])
