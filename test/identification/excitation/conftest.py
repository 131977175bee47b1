# SPDX-License-Identifier: Apache-2.0
"""Arms and limits that the tests of excitation share."""

import numpy as np
import pytest

from robot_dynamics.identification.excitation.design import resting_pose
from robot_dynamics.identification.excitation.limits import MotionLimits
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

TREE = """<robot name="tree"><link name="base"/>
{link_a}{link_b}{link_c}{link_d}
<joint name="a" type="revolute"><parent link="base"/><child link="la"/>
<origin xyz="0 0 0.3" rpy="0.3 0 0"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" velocity="2" effort="80"/></joint>
<joint name="b" type="prismatic"><parent link="la"/><child link="lb"/>
<origin xyz="0.2 0 0" rpy="0 0.4 0"/><axis xyz="0 1 0"/>
<limit lower="-0.3" upper="0.4" velocity="0.5" effort="150"/></joint>
<joint name="c" type="revolute"><parent link="la"/><child link="lc"/>
<origin xyz="0 0.3 0.1"/><axis xyz="1 0 0"/>
<limit lower="-2" upper="2" velocity="2" effort="60"/></joint>
<joint name="d" type="revolute"><parent link="lc"/><child link="ld"/>
<origin xyz="0 0.1 0.3"/><axis xyz="0 1 0"/><mimic joint="a" multiplier="-0.5" offset="0.2"/>
<limit lower="-2" upper="2" velocity="2" effort="60"/></joint>
</robot>"""
LINK = """<link name="{name}"><inertial><mass value="{m}"/><origin xyz="0.05 0.1 {m}e-2"/>
<inertia ixx="0.03" iyy="0.04" izz="0.05" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial>
</link>"""


def make_tree():
    return Robot.from_urdf(TREE.format(**{f'link_{x}': LINK.format(name=f'l{x}', m=m)
                                          for x, m in zip('abcd', (4, 3, 2, 1), strict=True)}))


def make_robot(name):
    if name == 'tree':
        return make_tree()
    path = resolve_robot(name)
    return Robot.from_dh(path) if path.suffix == '.yaml' else Robot.from_urdf(path)


@pytest.fixture(scope='session')
def robots():
    """Return robots by name: of this package, and a tree that slides and mimics."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = make_robot(name)
        return made[name]
    return get


@pytest.fixture(scope='session')
def limited(robots):
    """Return a robot, its middle and limits about it."""
    def get(name, **settings):
        robot = robots(name)
        start = resting_pose(robot)
        if not np.all(np.isfinite(np.fmin(robot.limits.velocity, settings.get('speed', np.inf)))):
            settings['speed'] = 2.0
        return robot, start, MotionLimits.for_robot(robot, start, **settings)
    return get
