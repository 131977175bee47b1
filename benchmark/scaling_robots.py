# SPDX-License-Identifier: Apache-2.0
"""Robots of any size to see how cost grows: chains and binary trees of turning joints."""

from __future__ import annotations

import numpy as np

from robot_dynamics.model.robot import Robot

_LINK = """<link name="link{i}"><inertial><origin xyz="0.02 -0.01 0.1"/><mass value="1.5"/>
<inertia ixx="0.01" iyy="0.02" izz="0.015" ixy="0.001" ixz="-0.002" iyz="0.0005"/>
</inertial></link>"""
_JOINT = """<joint name="joint{i}" type="revolute"><parent link="{parent}"/><child link="link{i}"/>
<origin xyz="0.05 0 0.2" rpy="0.3 -0.2 {turn}"/><axis xyz="{axis}"/>
<limit lower="-3" upper="3" effort="100" velocity="3"/></joint>"""
_AXES = ('0 0 1', '0 1 0', '1 0 0')


def _robot(name: str, parents: list[int]) -> Robot:
    parts = [f'<robot name="{name}"><link name="base"/>']
    for i, parent in enumerate(parents):
        above = 'base' if parent < 0 else f'link{parent}'
        parts.append(_LINK.format(i=i))
        parts.append(_JOINT.format(i=i, parent=above, axis=_AXES[i % 3], turn=0.1 * (i % 7)))
    return Robot.from_urdf('\n'.join([*parts, '</robot>']))


def chain(count: int) -> Robot:
    """Each body on the one before."""
    return _robot(f'chain of {count}', list(range(-1, count - 1)))


def binary_tree(count: int) -> Robot:
    """Two bodies on each, level after level."""
    return _robot(f'binary tree of {count}', [(i + 1) // 2 - 1 for i in range(count)])


#: What grows, by name.
SHAPES = {'chain': chain, 'binary tree': binary_tree}


def pairs(robot: Robot) -> int:
    """Return the number of pairs of a body and one that carries it, itself included."""
    depth = np.zeros(robot.n_bodies, np.int64)
    for i, parent in enumerate(robot.parents):
        depth[i] = 1 + (depth[parent] if parent >= 0 else 0)
    return int(depth.sum())
