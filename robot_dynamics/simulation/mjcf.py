# SPDX-License-Identifier: Apache-2.0
"""A `Robot` as MJCF, the model format of MuJoCo.

MuJoCo's URDF importer is not used, because it drops joint friction and merges links. The tree is
written from the arrays of the equations of motion, so that plant and model agree to rounding.
"""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import SimulationError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import com_from_parameters
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot

#: Smallest mass (kg) and principal inertia (kg m^2) of a moving body in MuJoCo.
COMPILER_FLOOR = 1e-12

#: Time constant, in simulation steps, of the stiff, critically damped constraint of a mimic joint
#: (at least two in MuJoCo).
COUPLING_STEPS = 2.0

#: Impedance of friction and couplings in MuJoCo. A joint held by dry friction creeps at a
#: hundredth of the speed of MuJoCo's default.
STIFF = '0.999 0.9999 0.001 0.5 2'


def leading_bodies(robot: Robot) -> list[int]:
    """For every independent joint, the body that moves with it one to one.

    Raises a ModelError for a joint with several coordinates, and a SimulationError if there is no
    such body, or if a body depends on several independent joints, which MuJoCo's joint constraint
    cannot express.
    """
    robot.require_single_coordinates('the simulated arm')
    bodies = [robot.body_joint_names.index(name) for name in robot.joint_names]
    for joint, body in enumerate(bodies):
        row = np.zeros(robot.n)
        row[joint] = 1.0
        if not np.array_equal(robot.coupling[body], row) or robot.coupling_offset[body] != 0.0:
            raise SimulationError('must move one to one with its own coordinate',
                                  subject=robot.joint_names[joint],
                                  remedy='lock the joints that mimic it, or simulate the robot '
                                         'elsewhere')
    for body in range(robot.n_bodies):
        if np.count_nonzero(robot.coupling[body]) > 1:
            raise SimulationError('must mimic one joint, got several',
                                  subject=robot.body_joint_names[body],
                                  remedy='lock it, or describe it by one mimicked joint')
    return bodies


def principal_inertia(parameters: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Mass, kg, centre of mass, m, principal moments, kg m^2, and axes of ten inertial parameters.

    The centre, (3,), is in the link frame, its origin for a body without mass. The axes, (3, 3),
    are right-handed columns in the axes of the link frame, the moments those about the centre.
    """
    mass, centre, about_centre = com_from_parameters(parameters)
    moments, axes = np.linalg.eigh(about_centre)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    return float(mass), centre, moments, axes


def quaternion(rotation: FloatArray) -> FloatArray:
    """Unit quaternion (w, x, y, z) of a rotation matrix, shape (4,)."""
    x, y, z, w = Rotation.from_matrix(rotation).as_quat()
    return np.array([w, x, y, z])


def robot_to_mjcf(robot: Robot, *, timestep: float = 0.0005, joint_limits: bool = True) -> str:
    """MJCF text of a robot with a fixed base.

    Joint friction, damping and armature become MuJoCo's ``frictionloss``,
    ``damping`` and ``armature``; there are no shapes, hence no contacts. Efforts are applied to
    the joints without actuators.

    Parameters
    ----------
    robot : Robot
        The robot. Mimic joints become joint constraints, stiff but not exact.
    timestep : float
        Simulation step. s.
    joint_limits : bool
        Whether the joints stop at their limits.

    Returns
    -------
    str
        MJCF text. Inertias that MuJoCo would reject (point masses, massless links) are replaced by
        the nearest accepted ones; `Plant` restores them exactly.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.model.shipped import resolve_robot
    >>> from robot_dynamics.simulation import robot_to_mjcf
    >>> robot_to_mjcf(Robot.from_urdf(resolve_robot('planar_2r'))).splitlines()[0]
    '<mujoco model="planar_2r">'
    """
    leaders = leading_bodies(robot)
    root = ElementTree.Element('mujoco', model=robot.name)
    ElementTree.SubElement(root, 'compiler', angle='radian', autolimits='false',
                           balanceinertia='true')
    option = ElementTree.SubElement(root, 'option', timestep=text_of(timestep),
                                    gravity=text_of(robot.gravity), integrator='implicitfast')
    ElementTree.SubElement(option, 'flag', contact='disable')
    world = ElementTree.SubElement(root, 'worldbody')
    elements: list[ElementTree.Element] = []
    for body in range(robot.n_bodies):
        parent = robot.parents[body]
        element = _body(robot, body, world if parent < 0 else elements[parent])
        # The anchor of the joint is the origin of its frame.
        slides = robot.joint_types[body] == JointType.PRISMATIC
        joint = ElementTree.SubElement(
            element, 'joint', name=robot.body_joint_names[body],
            type='slide' if slides else 'hinge', axis=text_of(robot.axes[body]),
            pos=text_of(-robot.link_offsets[body]))
        if body in leaders:
            _coordinate(robot, leaders.index(body), joint, joint_limits=joint_limits)
        elements.append(element)
    _couplings(robot, leaders, root, timestep)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode') + '\n'


def _body(robot: Robot, body: int, parent: ElementTree.Element) -> ElementTree.Element:
    """Add one link at q = 0, where its frame is parallel to its joint frame."""
    rotation, origin = robot.placements[body, :3, :3], robot.placements[body, :3, 3]
    element = ElementTree.SubElement(
        parent, 'body', name=robot.body_names[body], quat=text_of(quaternion(rotation)),
        pos=text_of(origin + rotation @ robot.link_offsets[body]))
    mass, centre, moments, axes = principal_inertia(robot.inertial_parameters[body])
    ElementTree.SubElement(
        element, 'inertial', mass=text_of(max(mass, COMPILER_FLOOR)), pos=text_of(centre),
        quat=text_of(quaternion(axes)),
        diaginertia=text_of(np.maximum(moments, COMPILER_FLOOR)))
    return element


def _coordinate(robot: Robot, joint: int, element: ElementTree.Element, *,
                joint_limits: bool) -> None:
    """Give the joint of an independent coordinate its friction, armature and range."""
    element.set('frictionloss', text_of(robot.friction[joint]))
    element.set('solimpfriction', STIFF)
    element.set('damping', text_of(robot.damping[joint]))
    element.set('armature', text_of(robot.armature[joint]))
    lower, upper = robot.limits.lower[joint], robot.limits.upper[joint]
    if joint_limits and np.isfinite(lower) and np.isfinite(upper) and lower < upper:
        element.set('limited', 'true')
        element.set('range', text_of([lower, upper]))


def _couplings(robot: Robot, leaders: list[int], root: ElementTree.Element,
               timestep: float) -> None:
    """Tie every mimic joint to its leader: q_body = S_ij q_j + s0_i."""
    followers = [body for body in range(robot.n_bodies) if body not in leaders]
    if not followers:
        return
    equality = ElementTree.SubElement(root, 'equality')
    for body in followers:
        joint = int(np.argmax(np.abs(robot.coupling[body])))
        ElementTree.SubElement(
            equality, 'joint', joint1=robot.body_joint_names[body],
            joint2=robot.joint_names[joint],
            polycoef=text_of([robot.coupling_offset[body], robot.coupling[body, joint], 0, 0, 0]),
            solref=text_of([COUPLING_STEPS * timestep, 1.0]), solimp=STIFF)


def text_of(values) -> str:
    """Write numbers so that they read back as the same float64."""
    return ' '.join(repr(float(value)) for value in np.atleast_1d(values))
