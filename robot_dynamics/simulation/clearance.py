# SPDX-License-Identifier: Apache-2.0
"""``ShapeClearance``: distances between the links of an arm, and to the walls of a workspace.

The collision shapes of a URDF, or its visual ones if it has no others, are attached to the bodies
of the simulated arm, and MuJoCo computes their distances. Links joined by one joint may touch.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, ModelError, SimulationError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.rotation import rotation_from_rpy
from robot_dynamics.model.urdf_document import expanded_text, read_source
from robot_dynamics.simulation.mjcf import quaternion, robot_to_mjcf, text_of
from robot_dynamics.simulation.plant import import_mujoco

#: Largest exact distance beyond the clearance. m.
SIGHT = 0.05

_MESHES = ('.stl', '.obj')
_BASE, _BOX = 'the base', 'the workspace'


class ShapeClearance:
    """Distances of an arm's shapes; call it with poses.

    Parameters
    ----------
    robot : Robot
        The arm.
    source : Path or bytes
        The URDF or xacro file that it was read from, or its text.
    clearance : float
        Least distance between shapes of links that no joint connects. m.
    workspace : sequence of six float, optional
        Two opposite corners of a box in the base frame, x y z x y z, in which the shapes of
        all moving links stay. m.

    Raises
    ------
    SimulationError
        If MuJoCo is missing or a shape cannot be used.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.simulation import ShapeClearance
    >>> urdf = '''<robot name="slider"><link name="base"><collision><geometry>
    ...   <sphere radius="0.1"/></geometry></collision></link><link name="rail">
    ...   <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
    ...   </inertial></link><link name="tip"><inertial><mass value="1"/>
    ...   <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    ...   <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
    ...   <joint name="x" type="prismatic"><parent link="base"/><child link="rail"/>
    ...   <axis xyz="1 0 0"/><limit lower="0" upper="1" velocity="1" effort="1"/></joint>
    ...   <joint name="y" type="prismatic"><parent link="rail"/><child link="tip"/>
    ...   <axis xyz="0 1 0"/><limit lower="0" upper="1" velocity="1" effort="1"/></joint>
    ...   </robot>'''
    >>> away, name = ShapeClearance(Robot.from_urdf(urdf), urdf)([[0.22, 0.0]])
    >>> float(away[0].round(3)), name
    (0.02, 'the base and tip')
    """

    def __init__(self, robot: Robot, source: Path | bytes | str, *, clearance: float = 0.0,
                 workspace: Sequence[float] | None = None):
        if not 0.0 <= clearance < np.inf:
            raise SimulationError(f'must be at least 0, got {clearance}', subject='clearance',
                                  remedy='give a distance in m')
        self._mujoco = import_mujoco()
        self._robot, self._clearance = robot, float(clearance)
        root = ElementTree.fromstring(robot_to_mjcf(robot, joint_limits=False))
        _add_shapes(root, robot, source, self._clearance + SIGHT)
        if workspace is not None:
            _add_box(root, workspace, self._clearance + SIGHT)
        try:
            self._model = self._mujoco.MjModel.from_xml_string(
                ElementTree.tostring(root, encoding='unicode'))
        except ValueError as error:
            raise SimulationError(f'has shapes that MuJoCo cannot use ({error})',
                                  subject=robot.name,
                                  remedy='describe them by boxes, cylinders and spheres'
                                  ) from error
        self._data = self._mujoco.MjData(self._model)
        joints = [self._model.joint(name).qposadr[0] for name in robot.body_joint_names]
        self._qpos = np.array(joints)

    def __call__(self, q: ArrayLike) -> tuple[FloatArray, str]:
        """Least distance of poses, (m, n), less the clearance, and the pair nearest to contact.

        The distances, (m,), are at most `SIGHT`, in m; the pair has the least one of all poses.
        """
        q = np.asarray(q, dtype=np.float64)
        if q.ndim != 2 or q.shape[1] != self._robot.n:
            raise DimensionError(f'must have shape (m, {self._robot.n}), got {q.shape}',
                                 subject='poses', remedy='give one row of positions per pose')
        bodies = q @ self._robot.coupling.T + self._robot.coupling_offset
        away, nearest, name = np.full(len(q), SIGHT), np.inf, ''
        for k, positions in enumerate(bodies):
            self._data.qpos[self._qpos] = positions
            self._mujoco.mj_fwdPosition(self._model, self._data)
            for contact in range(self._data.ncon):
                distance, pair = self._distance(self._data.contact[contact])
                away[k] = min(away[k], distance)
                if distance < nearest:
                    nearest, name = distance, pair
        return away, name or self._robot.name

    def _distance(self, contact) -> tuple[float, str]:
        """Distance of a contact less the clearance, and the names of its two sides."""
        kept, names = self._clearance, []
        for geom in (contact.geom1, contact.geom2):
            body = int(self._model.geom_bodyid[geom])
            if self._model.geom_type[geom] == self._mujoco.mjtGeom.mjGEOM_PLANE:
                names.append(_BOX)
                kept = 0.0
            else:
                names.append(self._model.body(body).name if body else _BASE)
        return float(contact.dist) - kept, ' and '.join(names)


def _add_shapes(root: ElementTree.Element, robot: Robot, source: Path | bytes | str,
                margin: float) -> None:
    """Put the collision shapes of a description on bodies."""
    _part(root, 'option/flag').set('contact', 'enable')
    world = _part(root, 'worldbody')
    bodies = {body.get('name'): body for body in world.iter('body')}
    asset = ElementTree.SubElement(root, 'asset')
    text = read_source(source)
    folder = Path(source).parent if isinstance(source, Path) else Path()
    links = [link for link in ElementTree.fromstring(expanded_text(text).encode()).iter('link')
             if link.get('name', '') in robot.frames]
    # Visual shapes are used if there are no collision shapes.
    kind = next((kind for kind in ('collision', 'visual')
                 if any(link.find(kind) is not None for link in links)), None)
    if kind is None:
        raise SimulationError('has no collision or visual shapes', subject=robot.name,
                              remedy='give each link a collision shape, or leave the check '
                                     'out')
    for link in links:
        name, frame = link.get('name', ''), robot.frames[link.get('name', '')]
        owner = world if frame.body < 0 else bodies[robot.body_names[frame.body]]
        for shape in link.findall(kind):
            _add_geom(owner, asset, shape, frame.pose, name, folder, margin)
    # MuJoCo lets bodies touch their parents, but not the world, which holds the base.
    contact = ElementTree.SubElement(root, 'contact')
    for name, parent in zip(robot.body_names, robot.parents, strict=True):
        if parent < 0:
            ElementTree.SubElement(contact, 'exclude', body1='world', body2=name)


def _part(root: ElementTree.Element, path: str) -> ElementTree.Element:
    """An element that every MJCF of `robot_to_mjcf` has."""
    element = root.find(path)
    assert element is not None
    return element


def _add_geom(owner: ElementTree.Element, asset: ElementTree.Element,
              collision: ElementTree.Element, frame: FloatArray, link: str, folder: Path,
              margin: float) -> None:
    """Add one shape."""
    pose, origin = np.eye(4), collision.find('origin')
    if origin is not None:
        pose[:3, 3] = _numbers(origin.get('xyz', '0 0 0'), 3, link)
        pose[:3, :3] = rotation_from_rpy(_numbers(origin.get('rpy', '0 0 0'), 3, link))
    pose = frame @ pose
    geom = ElementTree.SubElement(owner, 'geom', pos=text_of(pose[:3, 3]), margin=repr(margin),
                                  quat=text_of(quaternion(pose[:3, :3])))
    shape = collision.find('geometry/*')
    if shape is None:
        shape = ElementTree.Element('nothing')
    kind = shape.tag
    if kind == 'box':
        size = 0.5 * _numbers(shape.get('size', ''), 3, link)
    elif kind == 'sphere':
        size = _numbers(shape.get('radius', ''), 1, link)
    elif kind == 'cylinder':
        size = np.array([*_numbers(shape.get('radius', ''), 1, link),
                         *0.5 * _numbers(shape.get('length', ''), 1, link)])
    elif kind == 'mesh':
        name = f'mesh{len(asset)}'
        scale = _numbers(shape.get('scale', '1 1 1'), 3, link)
        ElementTree.SubElement(asset, 'mesh', name=name, scale=text_of(scale),
                               file=str(_mesh_file(shape.get('filename', ''), folder, link)))
        geom.set('type', 'mesh')
        geom.set('mesh', name)
        return
    else:
        raise SimulationError(f'must have shapes of box, cylinder, sphere or mesh, got {kind}',
                              subject=link, remedy='describe the shape by one of them')
    geom.set('type', kind)
    geom.set('size', text_of(size))


def _mesh_file(name: str, folder: Path, link: str) -> Path:
    """The file of a mesh."""
    package, slash, rest = name.removeprefix('package://').partition('/')
    places = [folder / name.removeprefix('file://')]
    if name.startswith('package://') and slash:
        prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
        places = [Path(prefix, 'share', package, rest) for prefix in prefixes if prefix]
    for place in places:
        if place.is_file() and place.suffix.lower() in _MESHES:
            return place.resolve()
    raise SimulationError(f'has the mesh {name}, which is not an STL or OBJ file here',
                          subject=link,
                          remedy='describe collision shapes by boxes, cylinders and spheres, or '
                                 'source the workspace that has the mesh')


def _add_box(root: ElementTree.Element, workspace: Sequence[float], margin: float) -> None:
    """Add the six walls of a box, facing inwards."""
    corners = np.asarray(workspace, dtype=np.float64)
    if corners.shape != (6,) or not np.all(np.isfinite(corners)) \
            or np.any(corners[:3] == corners[3:]):
        raise SimulationError(f'must have a volume, got {list(workspace)}', subject='workspace',
                              remedy='give two opposite corners, six numbers: x y z x y z')
    low, high = np.minimum(corners[:3], corners[3:]), np.maximum(corners[:3], corners[3:])
    world = _part(root, 'worldbody')
    for axis in range(3):
        for corner, sign in ((low, 1.0), (high, -1.0)):
            normal = np.zeros(3)
            normal[axis] = sign
            ElementTree.SubElement(world, 'geom', type='plane', size='0 0 1', pos=text_of(corner),
                                   zaxis=text_of(normal), margin=repr(margin))


def _numbers(text: str, count: int, link: str) -> FloatArray:
    """Numbers of an attribute."""
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.zeros(0)
    if values.shape != (count,) or not np.all(np.isfinite(values)):
        raise ModelError(f'has a shape that must have {count} numbers, got {text!r}', subject=link,
                         remedy='correct the attribute')
    return values
