# SPDX-License-Identifier: Apache-2.0
"""Parts of a `Robot`: its frames and the limits of its joints.

What every `Robot` has to be, whoever built it: poses, unit axes, limits, names.

Equations of motion would swallow an axis of length two or a mirrored placement
without a word and give torques of no robot.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.arrays import (
    FloatArray,
    IntArray,
    Rebuilt,
    frozen_array,
    real_array,
    store,
)
from robot_dynamics.model.joints import Coordinates, JointType


@dataclass(frozen=True, eq=False)
class Frame(Rebuilt):
    """A named frame fixed to a body.

    Parameters
    ----------
    body : int
        Index of the body that carries the frame; -1 is the base.
    pose : ndarray, shape (4, 4)
        Pose of the frame in the link frame of that body.
    """

    body: int
    pose: FloatArray

    def __post_init__(self) -> None:
        store(self, 'pose', frozen_array(self.pose, (4, 4), 'pose of a frame'))


@dataclass(frozen=True, eq=False)
class JointLimits(Rebuilt):
    """Limits of the n independent coordinates, in rad or m, rad/s or m/s, N m or N.

    Parameters
    ----------
    lower, upper : ndarray, shape (n,)
        Position range; -inf and inf where a joint has none.
    velocity, effort : ndarray, shape (n,)
        Largest speed and effort; nan where the description gives none (or zero,
        which no moving joint can mean).
    """

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    effort: FloatArray

    def __post_init__(self) -> None:
        shape = real_array(self.lower, 'lower limits').shape[:1]
        for name in ('lower', 'upper', 'velocity', 'effort'):
            store(self, name, frozen_array(getattr(self, name), shape, f'{name} limits',
                                           finite=False))


#: Longest name of a robot, link, joint or frame.
LONGEST_NAME = 200

# How far rounding can take a unit axis or a rotation that several readers multiplied.
_ROUNDING = 1e-6


def is_name(text: object) -> bool:
    """Return whether a text can stand in a message, in a file and on a plot."""
    return (isinstance(text, str) and text.strip() != '' and len(text) <= LONGEST_NAME
            and text.isprintable())


def check_names(kind: str, names: Iterable[str], taken: Iterable[str] = ()) -> None:
    """Refuse what is no name, and names that are not unique."""
    seen = set(taken)
    for name in names:
        if not is_name(name):
            raise ModelError(f'is no name of a {kind}', subject=reprlib.repr(name),
                             remedy=f'use at most {LONGEST_NAME} printable characters')
        if name in seen:
            raise ModelError(f'two {kind}s share this name', subject=name,
                             remedy='rename one of them')
        seen.add(name)


def check_joint_types(bodies: Sequence[str], joint_types: IntArray) -> None:
    """Refuse unknown types of joints."""
    kinds = tuple(JointType)
    for body, kind in zip(bodies, joint_types, strict=True):
        if kind not in kinds:
            raise ModelError(f'moves by a joint of the unknown type {kind}', subject=body,
                             remedy='use the values of JointType')


def check_axes(bodies: Sequence[str], axes: FloatArray) -> None:
    """Refuse axes that have not unit length."""
    for body, axis in zip(bodies, axes, strict=True):
        length = float(np.linalg.norm(axis))
        if abs(length - 1.0) > _ROUNDING:
            raise ModelError(f'has a joint axis of length {length:g}', subject=body,
                             remedy='give a unit axis')


def check_several(bodies: Coordinates, joints: Coordinates, coupling: FloatArray,
                  offset: FloatArray, link_offsets: FloatArray, limits: JointLimits) -> None:
    """Refuse joints of several coordinates that follow others, have limits or an offset."""
    for body in bodies.several:
        name, rows = bodies.joints[body], bodies.velocities(body)
        kind = bodies.types[body].name.lower()
        if name not in joints.joints:
            raise ModelError(f'is {kind} and not among the independent joints', subject=name,
                             remedy='add it to joint_names: no joint can drive it')
        columns = joints.velocities(name)
        alone = np.zeros_like(coupling)
        alone[rows, columns] = np.eye(rows.stop - rows.start)
        if (np.any(coupling[rows] != alone[rows]) or np.any(coupling[:, columns]
                                                            != alone[:, columns])
                or np.any(offset[rows])):
            raise ModelError(f'is {kind} and coupled to other coordinates', subject=name,
                             remedy='make the coupling the identity in its rows and columns')
        if np.any(link_offsets[body]):
            raise ModelError(f'is {kind} and has its link frame off the joint', subject=name,
                             remedy='move the link frame to the joint, with a zero offset')
        if np.any(np.isfinite([limits.lower[columns], limits.upper[columns]])):
            raise ModelError(f'is {kind} and has position limits', subject=name,
                             remedy='give -inf and inf for its coordinates')


def check_poses(names: Sequence[str], poses: FloatArray) -> None:
    """Refuse (N, 4, 4) matrices that are no rotation and translation."""
    rotations = poses[:, :3, :3]
    skewed = np.abs(rotations @ np.swapaxes(rotations, 1, 2) - np.eye(3)).max(axis=(1, 2))
    wrong = ((skewed > _ROUNDING) | (np.linalg.det(rotations) < 0.0)
             | np.any(poses[:, 3] != (0.0, 0.0, 0.0, 1.0), axis=1))
    if np.any(wrong):
        raise ModelError('has a pose that is no rotation and translation',
                         subject=names[int(np.argmax(wrong))],
                         remedy='give [[R, p], [0, 0, 0, 1]] with a rotation matrix R')


def check_parents(robot: str, parents: IntArray) -> None:
    """Refuse bodies that do not come after the body that carries them."""
    if np.any(parents >= np.arange(len(parents))) or np.any(parents < -1):
        raise ModelError('bodies are not in base-to-tip order', subject=robot,
                         remedy='give each body after its parent; the base is -1')


def check_frames(frames: Mapping[str, tuple[int, FloatArray]], bodies: int) -> None:
    """Refuse frames on bodies that there are not, by name the body and the pose."""
    for name, (body, _) in frames.items():
        if not isinstance(body, (int, np.integer)) or not -1 <= body < bodies:
            raise ModelError(f'is a frame of body {body!r}', subject=name,
                             remedy=f'give the index of a body, 0 to {bodies - 1}, or -1 for the '
                                    'base')
    if frames:
        check_poses(list(frames), np.array([pose for _, pose in frames.values()]))


def check_limits(joints: Sequence[str], lower: FloatArray, upper: FloatArray,
                 velocity: FloatArray, effort: FloatArray) -> None:
    """Refuse ranges without a position, and speeds and efforts that are not positive or nan."""
    for k, joint in enumerate(joints):
        if not (lower[k] <= upper[k] and lower[k] < np.inf and upper[k] > -np.inf):
            raise ModelError(f'is limited to {lower[k]:g} to {upper[k]:g}', subject=joint,
                             remedy='give the lower limit first; -inf and inf are none')
        for quantity, value in (('velocity', velocity[k]), ('effort', effort[k])):
            if value <= 0.0:
                raise ModelError(f'has the {quantity} limit {value:g}', subject=joint,
                                 remedy='give a positive limit, or nan where there is none')


def check_dissipation(joints: Sequence[str], **coefficients: FloatArray) -> None:
    """Refuse negative damping, friction and rotor inertia."""
    for name, values in coefficients.items():
        if np.any(values < 0.0):
            k = int(np.argmax(values < 0.0))
            raise ModelError(f'has the negative {name} {values[k]:g}', subject=joints[k],
                             remedy=f'give zero or more as its {name}')
