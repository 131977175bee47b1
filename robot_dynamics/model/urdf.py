# SPDX-License-Identifier: Apache-2.0
"""The way in for URDF and xacro: ``robot_from_urdf``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from robot_dynamics.model.assemble import assemble
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.source import read_source
from robot_dynamics.model.urdf_tree import read_tree
from robot_dynamics.model.xacro_files import parse_source


def robot_from_urdf(source: str | bytes | Path, *, joints: Sequence[str] | None = None,
                    locked: Mapping[str, ArrayLike] | None = None,
                    base_link: str | None = None, gravity: ArrayLike = (0.0, 0.0, -9.81),
                    floating_base: bool = False) -> Robot:
    """Read a URDF.

    Fixed joints are lumped, mimic joints reduced, and joints that do not move
    held where the caller wants them. Meshes are never opened; visual, collision,
    transmission, simulator and other vendor elements do not matter.

    Parameters
    ----------
    source : str, bytes or Path
        A path, or the description itself (a string with a ``<`` in it). A xacro
        file is expanded if the ``xacro`` package is installed; a description
        that arrives as text has to be expanded already.
    joints : sequence of str, optional
        The independent joints, in the order of every joint vector; all others
        are held. By default every joint that neither is fixed nor mimics another
        nor is locked, from the base to the tips.
    locked : mapping of str to float or array_like, optional
        Positions of held joints, rad or m; of a planar or floating joint all of its
        positions (`JointType`), or 0. Without one, a held joint stands at zero or at
        the limit nearest to zero.
    base_link : str, optional
        The link that stands still, or floats; what is not below it does not enter. By
        default the root.
    gravity : array_like, shape (3,)
        Acceleration of free fall in the frame of the base link, or of the world if that
        floats, m/s^2.
    floating_base : bool
        Whether the base link floats: it then hangs from a link ``world`` by the joint
        ``floating_base``, the first of `joint_names` unless ``joints`` says otherwise.

    Returns
    -------
    Robot
        The robot. Its ``findings`` tell, by link and joint, what a controller
        has to know: limits that are not usable, inertia that no body can have,
        joints that move nothing, positions that were chosen.

    Raises
    ------
    ModelError
        Naming the file, link or joint, what is wrong, and what to do.
    """
    text = read_source(source)
    tree = read_tree(parse_source(text).root)
    return assemble(tree, joints=joints, locked=locked, base_link=base_link, gravity=gravity,
                    floating_base=floating_base)
