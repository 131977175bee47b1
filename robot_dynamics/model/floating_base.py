# SPDX-License-Identifier: Apache-2.0
"""A robot that stands on nothing: its base link on a floating joint from the world."""

from __future__ import annotations

from collections.abc import Container
from itertools import chain, count

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.tree import JointDescription, JointKind, LinkDescription, RobotTree

#: Name of the joint, and of the link that stands still.
FLOATING_BASE = 'floating_base'
WORLD = 'world'


def on_floating_base(tree: RobotTree, base: str) -> tuple[RobotTree, str]:
    """Put a link on a floating joint.

    Parameters
    ----------
    tree : RobotTree
        The tree.
    base : str
        The link that shall float.

    Returns
    -------
    tree : RobotTree
        The same with one more joint, `FLOATING_BASE`, and one more link, `WORLD`, from
        which the joint hangs the base; with a number behind a name that is taken.
    world : str
        Name of that link.

    Raises
    ------
    ModelError
        If the base carries a floating joint and has no inertia itself: then what it
        carries floats already.
    """
    for joint in tree.joints.values():
        if (joint.kind is JointKind.FLOATING and joint.parent == base
                and tree.links[base].parameters is None):
            raise ModelError('floats already', subject=joint.name,
                             remedy='leave floating_base out')
    world = _unused(WORLD, tree.links)
    joint = _unused(FLOATING_BASE, tree.joints)
    floating = JointDescription(
        name=joint, kind=JointKind.FLOATING, parent=world, child=base, placement=np.eye(4),
        axis=np.array([1.0, 0.0, 0.0]), link_offset=np.zeros(3))
    return RobotTree(tree.name, {world: LinkDescription(world), **tree.links},
                     {joint: floating, **_apart_from(tree, base)}), world


def _apart_from(tree: RobotTree, base: str) -> dict[str, JointDescription]:
    """Return the joints without the one that carries the base."""
    return {name: joint for name, joint in tree.joints.items() if joint.child != base}


def _unused(name: str, taken: Container[str]) -> str:
    numbered = (f'{name}_{k}' for k in count(2))
    return next(candidate for candidate in chain([name], numbered) if candidate not in taken)
