# SPDX-License-Identifier: Apache-2.0
"""Robots to try the equations on, from plain arrays alone."""

import json

import numpy as np
import pytest

from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.robot_data import JointLimits


def make_robot(parents, joint_types, placements, axes, link_offsets, inertial_parameters, *,
               gravity=(0.0, 0.0, -9.81), coupling=None, coupling_offset=None, frames=(),
               joint_names=None):
    """A robot from its arrays; joints j0, j1, ... move the bodies."""
    bodies = len(parents)
    rows = sum(max(1, len(JointType(int(kind)).velocity_names)) for kind in joint_types)
    coupling = np.eye(rows) if coupling is None else np.asarray(coupling)
    n = coupling.shape[1]
    names = tuple(f'j{i}' for i in range(bodies))
    return Robot(
        name='test', base_name='base', body_names=tuple(f'b{i}' for i in range(bodies)),
        body_joint_names=names, parents=parents, joint_types=joint_types,
        placements=placements, axes=axes, link_offsets=link_offsets,
        inertial_parameters=inertial_parameters, gravity=gravity,
        joint_names=joint_names or tuple(f'c{i}' for i in range(n)), coupling=coupling,
        coupling_offset=np.zeros(rows) if coupling_offset is None else coupling_offset,
        limits=JointLimits(np.full(n, -np.inf), np.full(n, np.inf),
                           np.full(n, np.nan), np.full(n, np.nan)),
        damping=np.linspace(0.1, 0.5, n), friction=np.linspace(0.2, 0.7, n),
        armature=np.zeros(n), frames=dict(frames))


def random_rotation(rng):
    """A uniformly random rotation matrix."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def random_body(rng):
    """Ten inertial parameters of a random rigid body, about its link origin."""
    mass = rng.uniform(0.5, 4.0)
    com = rng.uniform(-0.2, 0.2, 3)
    points = rng.normal(scale=0.1, size=(3, 6))
    central = points @ points.T * mass
    second = central + mass * np.outer(com, com)
    inertia = np.trace(second) * np.eye(3) - second
    return np.concatenate([[mass], mass * com, inertia[np.triu_indices(3)]])


def random_tree(seed, bodies=7, *, order='any', prismatic=0.3, offsets=True, branch=0.4):
    """A random tree. order 'any' leaves the bodies out of depth-first order at times."""
    rng = np.random.default_rng(seed)
    parents = []
    for i in range(bodies):
        linked = order == 'chain' or rng.uniform() > branch
        parents.append(i - 1 if linked else int(rng.integers(-1, i)))
    placements = np.tile(np.eye(4), (bodies, 1, 1))
    for placement in placements:
        placement[:3, :3] = random_rotation(rng)
        placement[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    axes = rng.normal(size=(bodies, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    types = np.where(rng.uniform(size=bodies) < prismatic, JointType.PRISMATIC,
                     JointType.REVOLUTE)
    link_offsets = rng.uniform(-0.3, 0.3, (bodies, 3)) * (offsets and rng.uniform() < 0.7)
    return make_robot(np.array(parents), types, placements, axes, link_offsets,
                      [random_body(rng) for _ in range(bodies)],
                      gravity=rng.uniform(-10.0, 10.0, 3))


def random_free_tree(seed, bodies=7, *, kinds=tuple(JointType), roots=1, gravity=None):
    """A random tree with joints of several coordinates, one of them at least.

    With several roots, in any order of bodies.
    """
    rng = np.random.default_rng(seed)
    parents = [-1 if i < roots else i - 1 if rng.uniform() < 0.6 else int(rng.integers(0, i))
               for i in range(bodies)]
    several = [kind for kind in kinds if not kind.has_one_coordinate]
    types = [kinds[k] for k in rng.integers(0, len(kinds), bodies)]
    types[int(rng.integers(bodies))] = several[seed % len(several)]
    single = np.array([kind.has_one_coordinate for kind in types])
    placements = np.tile(np.eye(4), (bodies, 1, 1))
    for placement in placements:
        placement[:3, :3] = random_rotation(rng)
        placement[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    axes = rng.normal(size=(bodies, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    offsets = rng.uniform(-0.3, 0.3, (bodies, 3)) * single[:, None] * (seed % 2)
    return make_robot(np.array(parents), types, placements, axes, offsets,
                      [random_body(rng) for _ in range(bodies)],
                      gravity=rng.uniform(-10.0, 10.0, 3) if gravity is None else gravity,
                      joint_names=tuple(f'j{i}' for i in range(bodies)))


def robot_of_reference(reference):
    """A robot from the ``robot`` part of a reference file."""
    links = reference['robot']['links']
    placements, axes, offsets, bodies = [], [], [], []
    for link, pi in zip(links, np.reshape(reference['robot']['pi_ORD000'], (-1, 10)),
                        strict=True):
        to_joint, to_link = np.array(link['T_parent_to_joint']), np.array(link['T_joint_to_link'])
        placement = to_joint.copy()
        placement[:3, :3] = to_joint[:3, :3] @ to_link[:3, :3]
        placements.append(placement)
        axes.append(to_link[:3, :3].T @ link['axis_in_joint_frame'])
        offsets.append(to_link[:3, :3].T @ to_link[:3, 3])
        bodies.append(pi)
    types = [JointType.PRISMATIC if link['joint_type'] == 'P' else JointType.REVOLUTE
             for link in links]
    return make_robot([link['parent'] for link in links], types, placements, axes, offsets,
                      bodies, gravity=reference['robot']['gravity'])


@pytest.fixture(scope='session')
def make():
    """`make_robot`."""
    return make_robot


@pytest.fixture(scope='session')
def tree():
    """`random_tree`."""
    return random_tree


@pytest.fixture(scope='session')
def free_tree():
    """`random_free_tree`."""
    return random_free_tree


@pytest.fixture(scope='session')
def reference(shared):
    """Load a reference file: the robot and its states."""
    def load(name):
        content = json.loads((shared / 'reference' / f'{name}.json').read_text())
        return robot_of_reference(content), content['states']
    return load
