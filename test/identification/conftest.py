# SPDX-License-Identifier: Apache-2.0
"""Arms that move on paper, and what they would log."""

import csv

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.model.robot import Robot

LINK = """<link name="{name}"><inertial><mass value="{m}"/><origin xyz="{c}"/>
<inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{at}"/><axis xyz="{axis}"/><limit lower="-3" upper="3" velocity="5" effort="200"/>
</joint>"""


def urdf(joints):
    """Return a chain of (kind, axis, mass)."""
    parts = ['<robot name="arm"><link name="base"/>']
    parent = 'base'
    for k, (kind, axis, mass) in enumerate(joints, 1):
        parts.append(LINK.format(name=f'l{k}', m=mass, c='0.05 0.1 0.15', i=0.02 * mass))
        parts.append(JOINT.format(name=f'j{k}', kind=kind, parent=parent, child=f'l{k}',
                                  at='0.1 0 0.3' if k > 1 else '0 0 0.2', axis=axis))
        parent = f'l{k}'
    return ''.join(parts) + '</robot>'


class Arm:
    """A simulated arm: exact motions, and logs of them with noise."""

    def __init__(self, joints, friction=(1.0, 2.0)):
        self.robot = Robot.from_urdf(urdf(joints))
        self.friction = friction

    def motion(self, seconds=20.0, rate=200.0, seed=0):
        random = np.random.default_rng(seed)
        n, t = self.robot.n, np.arange(int(seconds * rate)) / rate
        speeds = 2 * np.pi * random.uniform(0.1, 0.7, (4, n))
        phases = random.uniform(0, 2 * np.pi, (4, n))
        size = random.uniform(0.3, 0.6, (4, n))
        angle = speeds[:, None] * t[None, :, None] + phases[:, None]
        q = np.sum(size[:, None] * np.sin(angle), axis=0)
        v = np.sum((size * speeds)[:, None] * np.cos(angle), axis=0)
        a = -np.sum((size * speeds ** 2)[:, None] * np.sin(angle), axis=0)
        return t, q, v, a

    def efforts(self, q, v, a, width=0.02):
        coulomb, viscous = self.friction
        tau = Dynamics(self.robot).inverse_dynamics(q, v, a)
        return tau + coulomb * np.tanh(v / width) + viscous * v

    def log(self, *, seconds=20.0, rate=200.0, seed=0, noise=(0.0, 0.0), noise_seed=0,
            described=None):
        t, q, v, a = self.motion(seconds, rate, seed)
        tau = self.efforts(q, v, a)
        random = np.random.default_rng(1000 + noise_seed)
        q = q + noise[0] * random.normal(size=q.shape)
        tau = tau + noise[1] * random.normal(size=q.shape)
        return dataset_from_arrays(described or self.robot, t, q, tau)


@pytest.fixture(scope='session')
def rpr():
    return Arm([('revolute', '0 0 1', 4.0), ('prismatic', '1 0 0', 2.0),
                ('revolute', '0 1 0', 1.0)])


@pytest.fixture(scope='session')
def three():
    return Arm([('revolute', '0 0 1', 4.0), ('revolute', '0 1 0', 3.0),
                ('revolute', '0 1 0', 1.5)])


@pytest.fixture(scope='session')
def make_arm():
    return Arm


@pytest.fixture(scope='session')
def table():
    """Return a reader of CSV columns."""
    def read(path):
        with path.open() as stream:
            rows = list(csv.DictReader(stream))
        return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    return read
