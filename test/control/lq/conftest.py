# SPDX-License-Identifier: Apache-2.0
"""Arms with a linear model that can be written down."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics.model.modify import with_payload
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots

_LINK = """
  <link name="{name}"><inertial><origin xyz="{d} 0 0"/><mass value="{m}"/>
    <inertia ixx="{I}" iyy="{I}" izz="{I}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
_JOINT = """
  <joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>"""


def two_link_arm(p: dict[str, float]) -> Robot:
    """The two-link manipulator of the report in a vertical plane, its payload at the tip."""
    text = ('<robot name="two_link"><link name="base"/>'
            # I1 is about the axis of joint 1, I2 about the centre of mass of link 2.
            + _LINK.format(name='upper', d=p['d1'], m=p['m1'],
                           I=repr(p['I1'] - p['m1'] * p['d1']**2))
            + _LINK.format(name='fore', d=p['d2'], m=p['m2'], I=repr(p['I2']))
            + _JOINT.format(name='one', parent='base', child='upper', x=0.0)
            + _JOINT.format(name='two', parent='upper', child='fore', x=repr(p['l1']))
            + '</robot>')
    arm = Robot.from_urdf(text).with_gravity((0.0, -p['g'], 0.0))
    return with_payload(arm, p['W'] / p['g'], (p['l2'], 0.0, 0.0))


@pytest.fixture(scope='session')
def two_link_reference(shared: Path) -> dict[str, Any]:
    return json.loads((shared / 'reference' / 'ref_two_link_lq.json').read_text())


@pytest.fixture(scope='session')
def two_link(two_link_reference) -> Robot:
    return two_link_arm(two_link_reference['meta']['parameters'])


@pytest.fixture(scope='session')
def wrong_two_link(two_link_reference) -> Robot:
    """Lengths 7 % and inertias 9 % off."""
    return two_link_arm(two_link_reference['model_with_errors'])


@pytest.fixture(scope='session')
def arm7() -> Robot:
    return Robot.from_urdf(shipped_robots()['arm7'])


@pytest.fixture(scope='session')
def geared_arm7(arm7) -> Robot:
    """With rotors and friction, and a gear that makes its joints of different sizes."""
    return replace(arm7, armature=np.linspace(0.4, 0.02, 7), damping=np.linspace(2.0, 0.1, 7),
                   friction=np.linspace(1.0, 0.1, 7))


@pytest.fixture(scope='session')
def motions(arm7):
    """Twenty random motions of arm7, each (20, 7)."""
    random = np.random.default_rng(0)
    return tuple(random.normal(size=(20, 7)) for _ in range(3))
