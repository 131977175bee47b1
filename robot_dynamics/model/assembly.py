# SPDX-License-Identifier: Apache-2.0
"""Fields of a `Robot` from a described tree: lumping, locking, coupling, limits.

Rigidly joined links become one body. Its inertial parameters are the sum of those of its links,
expressed in the frame of the link that the moving joint carries. Links fixed to the base are left
out.

A zero or missing effort or velocity limit is common in real descriptions. It becomes nan:
"unlimited" could break an arm, and zero would clamp every command. A program that needs the limit
has to require it.

The position range of a joint is the ``<limit>`` written for it, narrowed by the soft limits of a
``<safety_controller>`` as in ros2_control (empty soft ranges are ignored), and by the ranges of
the joints that mimic it. Speed limits are narrowed likewise, but effort limits are not, because a
mimic joint has no drive of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import Finding, ModelError, Severity
from robot_dynamics.model.arrays import BoolArray, FloatArray, real_array
from robot_dynamics.model.description import (
    JointDescription,
    JointKind,
    LimitDescription,
    RobotTree,
    Selection,
    select,
)
from robot_dynamics.model.inertia import (
    check_body,
    inertia_matrix,
    pseudo_inertia,
    transform_parameters,
)
from robot_dynamics.model.joints import Coordinates, directions, joint_motion
from robot_dynamics.model.robot_data import Frame, JointLimits, RobotData

#: Largest number of moving bodies: the coupling matrix grows with its square.
MAX_BODIES = 500
#: Default acceleration of free fall, m/s^2.
GRAVITY = (0.0, 0.0, -9.81)

# Some exporters write the largest float for "no limit".
_NO_LIMIT = 1e15
# Relative difference below which limits count as equal.
_ROUNDING = 1e-9
_UNDESCRIBED = LimitDescription(-math.inf, math.inf, math.nan, math.nan)
# Rounding of an entry of the mass matrix in which terms cancel.
_CANCELLED = 1e-12
# Scaled eigenvalue below which a combination of joints counts as moving no inertia.
_SINGULAR = 1e-11
# Number of poses, because a singularity of one pose is not one of the model.
_TRIALS = 3


def robot_fields(tree: RobotTree, *, gravity: ArrayLike = GRAVITY,
                 findings: Sequence[Finding] = (), **choice: Any) -> dict[str, Any]:
    """Fields of the `Robot` of a description; findings of the reader come first.

    Gravity is in the frame of the base link, m/s^2; the choice of joints that move is that
    of `robot_dynamics.model.description.select`.
    """
    selection = select(tree, **choice)
    tree = selection.tree
    bodies = _lump(tree, selection)
    inertial_parameters, inertia_findings = _inertia(tree, bodies)
    coupling, offset = _coupling(bodies.joints, selection)
    limits, limit_findings = _joint_limits(selection)
    fields: dict[str, Any] = dict(
        name=tree.name,
        base_name=selection.base,
        body_names=tuple(joint.child for joint in bodies.joints),
        body_joint_names=tuple(joint.name for joint in bodies.joints),
        parents=np.array(bodies.parents, dtype=np.int64),
        joint_types=np.array([joint.kind.joint_type for joint in bodies.joints],
                             dtype=np.int64),
        placements=np.array(bodies.placements).reshape(-1, 4, 4),
        axes=np.array([joint.axis for joint in bodies.joints]).reshape(-1, 3),
        link_offsets=np.array([joint.link_offset for joint in bodies.joints]).reshape(-1, 3),
        inertial_parameters=inertial_parameters,
        gravity=real_array(gravity, 'gravity',
                           'give three numbers in m/s^2, for example (0, 0, -9.81)'),
        joint_names=selection.independent,
        coupling=coupling,
        coupling_offset=offset,
        limits=limits,
        damping=_reflected(coupling, bodies.joints, 'damping', power=2),
        friction=_reflected(coupling, bodies.joints, 'friction', power=1),
        armature=_reflected(coupling, bodies.joints, 'armature', power=2),
        frames=bodies.frames)
    data = RobotData(**fields)
    singular = singular_directions(data)
    return {**fields, 'findings': (
        *findings, *selection.findings, *_base_findings(tree, selection.base), *inertia_findings,
        *limit_findings, *_ignored(bodies.joints), *singular,
        *_massless_bodies(data, singular))}


@dataclass
class _Bodies:
    """The moving bodies, grown joint by joint."""

    joints: list[JointDescription] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    placements: list[FloatArray] = field(default_factory=list)
    frames: dict[str, Frame] = field(default_factory=dict)


def _lump(tree: RobotTree, selection: Selection) -> _Bodies:
    """Walk from the base to the tips; every joint that moves opens a body."""
    bodies = _Bodies()
    bodies.frames[selection.base] = Frame(-1, np.eye(4))
    for joint in selection.below:
        carrier = bodies.frames[joint.parent]
        drive = selection.drives[joint.name]
        if drive.joint is None:
            pose = carrier.pose @ joint.pose(drive.offset)
            bodies.frames[joint.child] = Frame(carrier.body, pose)
            continue
        if len(bodies.joints) == MAX_BODIES:
            raise ModelError(f'has more than {MAX_BODIES} moving joints', subject=tree.name,
                             remedy='name those that move in joints, or use base_link')
        bodies.frames[joint.child] = Frame(len(bodies.joints), np.eye(4))
        bodies.joints.append(joint)
        bodies.parents.append(carrier.body)
        bodies.placements.append(carrier.pose @ joint.placement)
    return bodies


def _inertia(tree: RobotTree, bodies: _Bodies) -> tuple[FloatArray, list[Finding]]:
    """Parameters of the bodies, shape (nb, 10), and remarks about those of their links."""
    moving = [(tree.links[name], frame) for name, frame in bodies.frames.items()
              if frame.body >= 0 and tree.links[name].parameters is not None]
    described = np.array([link.parameters for link, _ in moving]).reshape(-1, 10)
    poses = np.array([frame.pose for _, frame in moving]).reshape(-1, 4, 4)
    lumped = np.zeros((len(bodies.joints), 10))
    np.add.at(lumped, [frame.body for _, frame in moving],
              transform_parameters(described, poses[:, :3, :3], poses[:, :3, 3]))
    # A positive definite pseudo-inertia needs no further check.
    doubtful = np.linalg.eigvalsh(pseudo_inertia(described))[:, 0] <= 0.0
    found = (_impossible(moving[k][0].name, described[k]) for k in np.flatnonzero(doubtful))
    return lumped, [finding for finding in found if finding is not None]


def _impossible(link: str, parameters: FloatArray) -> Finding | None:
    """A warning if no rigid body can have these parameters."""
    result = check_body(parameters)
    if result.is_consistent:
        return None
    moments = ', '.join(f'{moment:.6g}' for moment in result.principal_moments)
    return Finding(
        Severity.WARNING, link,
        f'has an inertia that no rigid body can have: {result.violation} '
        f'(mass {parameters[0]:.6g} kg, principal moments {moments} kg m^2)',
        'correct its <inertial>; adaptation and identification must not start from it')


def _massless_bodies(robot: RobotData, singular: Sequence[Finding]) -> list[Finding]:
    """Remarks about bodies without inertia that no warning has named yet."""
    if not np.any(robot.inertial_parameters):
        return []
    warned = {finding.subject for finding in singular}
    return [Finding(Severity.INFO, link, 'moves and has no inertia')
            for link, joint, parameters in zip(robot.body_names, robot.body_joint_names,
                                               robot.inertial_parameters, strict=True)
            if joint not in warned and not np.any(parameters)]


def _coupling(joints: Sequence[JointDescription], selection: Selection
              ) -> tuple[FloatArray, FloatArray]:
    """S (velocities of the bodies, n) and s0 in q_bodies = S q + s0."""
    bodies, independent = (_coordinates(some) for some in (
        joints, [selection.tree.joints[name] for name in selection.independent]))
    coupling = np.zeros((bodies.n, independent.n))
    offset = np.zeros(bodies.n)
    for k, joint in enumerate(joints):
        drive = selection.drives[joint.name]
        assert drive.joint is not None
        rows, columns = bodies.velocities(k), independent.velocities(drive.joint)
        coupling[rows, columns] = drive.multiplier * np.eye(rows.stop - rows.start)
        offset[rows] = drive.offset
    return coupling, offset


def _coordinates(joints: Sequence[JointDescription]) -> Coordinates:
    return Coordinates(tuple(joint.name for joint in joints),
                       tuple(joint.kind.joint_type for joint in joints))


def _reflected(coupling: FloatArray, joints: Sequence[JointDescription], coefficient: str, *,
               power: int) -> FloatArray:
    """A coefficient of every body's joint as one of the independent coordinates, (n,).

    With v_bodies = S v and one driving coordinate in each row of S, viscous torques
    S^T D S v and inertias S^T A S a have the diagonal ``sum_i S_ij^2 d_i``, and
    Coulomb torques S^T f sign(S v) have the coefficient ``sum_i |S_ij| f_i``. Joints of several
    coordinates have no coefficients, since one number cannot describe friction along and about
    axes.
    """
    values = [getattr(joint, coefficient) if joint.kind.has_coordinate else 0.0
              for joint in joints]
    rows = np.repeat(values, _coordinates(joints).velocity_counts)
    return np.abs(coupling.T) ** power @ rows


def _ignored(joints: Sequence[JointDescription]) -> list[Finding]:
    """Remarks about coefficients of joints of several coordinates."""
    return [Finding(Severity.INFO, joint.name,
                    f'is {joint.kind.value}: its damping, friction and armature are ignored')
            for joint in joints if not joint.kind.has_coordinate
            and (joint.damping or joint.friction or joint.armature)]


def _base_findings(tree: RobotTree, base: str) -> list[Finding]:
    """A warning if the base link is tilted relative to the root of the description."""
    pose = np.eye(4)
    carrying = {joint.child: joint for joint in tree.joints.values()}
    link = base
    while link in carrying:
        joint = carrying[link]
        pose = joint.pose(joint.rest) @ pose
        link = joint.parent
    # The vertical of the root, seen in the base link.
    if abs(pose[2, 2] - 1.0) < 1e-6:
        return []
    angle = np.degrees(np.arccos(np.clip(pose[2, 2], -1.0, 1.0)))
    return [Finding(Severity.WARNING, base,
                    f'is the base and is tilted by {angle:.1f} degrees against {link!r}; gravity '
                    'is taken in the frame of the base',
                    'give gravity in the axes of this link')]


@dataclass
class _Range:
    """Range and speed of one joint while they are narrowed; the remarks about it."""

    joint: JointDescription
    lower: float
    upper: float
    velocity: float
    findings: list[Finding] = field(default_factory=list)

    def narrow(self, lower: float, upper: float, why: str, impossible: Finding) -> None:
        """Use the tighter limits and note the reason, or note that no range remains."""
        tighter = (lower > self.lower + _ROUNDING * max(1.0, abs(lower))
                   or upper < self.upper - _ROUNDING * max(1.0, abs(upper)))
        if not tighter:
            return
        lower, upper = max(lower, self.lower), min(upper, self.upper)
        if upper - lower > _ROUNDING:
            self.lower, self.upper = lower, upper
            self.note(Severity.INFO, self.joint.name,
                      f'is limited to {lower:g} to {upper:g}{why}')
        else:
            self.findings.append(impossible)

    def note(self, severity: Severity, subject: str, message: str, remedy: str = '') -> None:
        self.findings.append(Finding(severity, subject, message, remedy))


def _joint_limits(selection: Selection) -> tuple[JointLimits, list[Finding]]:
    """Limits of the independent joints, and remarks about them."""
    findings: list[Finding] = []
    rows = []
    for name in selection.independent:
        joint = selection.tree.joints[name]
        if not joint.kind.has_coordinate:  # One written number is not a limit of several.
            free = (-math.inf, math.inf, math.nan, math.nan)
            rows += [free] * len(joint.kind.joint_type.velocity_names)
            continue
        written = joint.limit or _UNDESCRIBED
        reach = _own_range(joint)
        effort = _usable(written.effort)
        if joint.limit is None and joint.kind is not JointKind.CONTINUOUS:
            reach.note(Severity.WARNING, joint.name,
                       f'is {joint.kind.value} and has no <limit>: its position, velocity and '
                       'effort are not limited', 'add a <limit> with the values of the real joint')
        elif math.isnan(reach.velocity) or math.isnan(effort):
            reach.findings.append(_unusable(joint.name, written))
        for follower in selection.below:
            drive = selection.drives[follower.name]
            if drive.joint == joint.name and follower.name != joint.name:
                assert isinstance(drive.offset, float)
                _let_follow(reach, follower, drive.multiplier, drive.offset)
        findings += reach.findings
        rows.append((reach.lower, reach.upper, reach.velocity, effort))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return JointLimits(*columns), findings


def _own_range(joint: JointDescription) -> _Range:
    """Range and speed of a joint by itself; a continuous joint has no range even with limits."""
    written = joint.limit or _UNDESCRIBED
    lower = -math.inf if written.lower <= -_NO_LIMIT else written.lower
    upper = math.inf if written.upper >= _NO_LIMIT else written.upper
    reach = _Range(joint, lower, upper, _usable(written.velocity))
    if joint.kind is JointKind.CONTINUOUS:
        if math.isfinite(lower) and math.isfinite(upper) and lower < upper:
            reach.note(Severity.INFO, joint.name,
                       f'is continuous: its limits {lower:g} to {upper:g} are ignored',
                       'make it revolute if it must not turn further')
        reach.lower, reach.upper = -math.inf, math.inf
        return reach
    if lower == upper:
        reach.note(Severity.WARNING, joint.name,
                   f'cannot move: its lower and upper limit are both {lower:g}',
                   'give lower and upper in its <limit>, make it continuous, or lock it')
    if joint.soft_range is not None:
        _keep_soft(reach, *joint.soft_range)
    return reach


def _keep_soft(reach: _Range, lower: float, upper: float) -> None:
    """Narrow a range to its soft limits; equal soft limits mean none."""
    written = f'soft limits {lower:g} to {upper:g}'
    remedy = 'correct its <safety_controller>; they are ignored'
    if math.isnan(lower) or math.isnan(upper):
        reach.note(Severity.WARNING, reach.joint.name, 'has soft limits that are not numbers',
                   remedy)
    elif lower < upper:
        hard = f'{reach.lower:g} to {reach.upper:g}'
        reach.narrow(lower, upper, f', inside its limits {hard}: it has the {written}',
                     Finding(Severity.WARNING, reach.joint.name,
                             f'has the {written} outside its limits {hard}', remedy))


def _let_follow(reach: _Range, follower: JointDescription, multiplier: float, offset: float
                ) -> None:
    """Narrow a joint to the range and speed of a joint at q = multiplier * its q + offset."""
    own = _own_range(follower)
    name, follows = reach.joint.name, f'{follower.name!r} follows it'
    ends = f'{own.lower:g} to {own.upper:g}'
    lower, upper = sorted((end - offset) / multiplier for end in (own.lower, own.upper))
    reach.narrow(lower, upper, f': {follows} and moves from {ends}',
                 Finding(Severity.WARNING, follower.name,
                         f'has the limits {ends}, with which it cannot follow {name!r} (by '
                         f'{multiplier:g}, from {offset:g})',
                         'correct its <limit> or <mimic>; its limits are ignored'))
    speed = own.velocity / abs(multiplier)
    if speed < reach.velocity * (1.0 - _ROUNDING):
        reach.velocity = speed
        reach.note(Severity.INFO, name, f'is limited to a velocity of {speed:g}: {follows} at '
                                        f'{own.velocity:g}')


def _usable(value: float) -> float:
    """A limit of velocity or effort, or nan for an unusable number."""
    return value if 0.0 < value < _NO_LIMIT else math.nan


def _unusable(name: str, written: LimitDescription) -> Finding:
    """A warning about velocity and effort limits that cannot be used."""
    causes = []
    for quantity, value in (('velocity', written.velocity), ('effort', written.effort)):
        if math.isnan(_usable(value)):
            causes.append(f'no {quantity} limit' if math.isnan(value)
                          else f'the {quantity} limit {value:g}, which is not usable')
    return Finding(Severity.WARNING, name, f'has {" and ".join(causes)}',
                   'write the limit of the real joint into its <limit>, or give it by parameter '
                   'to the node that commands the joint')


def singular_directions(robot: RobotData) -> list[Finding]:
    """A warning for every joint that makes the mass matrix singular; one if no body has inertia.

    Inverse dynamics still works; forward dynamics, simulation and linearisation do not.
    The mass matrix is evaluated at a few random poses, the same at every call.
    """
    if not np.any(robot.inertial_parameters):
        return [Finding(Severity.WARNING, robot.name,
                        'has no moving link with inertia: every torque is zero and the mass '
                        'matrix is singular', 'add <inertial> to its links')]
    rng = np.random.default_rng(20240)
    still = np.ones(robot.n, dtype=bool)
    bound = np.ones(robot.n, dtype=bool)
    for _ in range(_TRIALS):
        q = robot.integrate(robot.neutral(), rng.uniform(-1.5, 1.5, robot.n))
        mass, scale = _mass_matrix(robot, q)
        diagonal = np.diag(mass)
        still &= np.abs(diagonal) <= _CANCELLED * scale
        bound &= _in_null_space(mass, diagonal > _CANCELLED * scale)
        if not np.any(still | bound):
            break
    joint_of = robot.coordinates.joint_of_velocity
    return [_finding(robot, int(joint), alone=bool(np.any(still[joint_of == joint])))
            for joint in np.unique(joint_of[still | bound])]


def _finding(robot: RobotData, joint: int, *, alone: bool) -> Finding:
    name = robot.joint_names[joint]
    link = robot.body_names[robot.body_joint_names.index(name)]
    what = (f'moves no inertia: link {link!r} and the links after it have none about this joint'
            if alone else
            f'can move against other joints without moving any inertia: link {link!r} has too '
            'little of its own')
    return Finding(Severity.WARNING, name, f'{what}; the mass matrix is singular',
                   f'give {link!r} its <inertial>, or lock the joint')


def _in_null_space(mass: FloatArray, heavy: BoolArray) -> BoolArray:
    """Joints that each move inertia, but can move together without moving any."""
    moving = np.flatnonzero(heavy)
    scaling = 1.0 / np.sqrt(np.diag(mass)[moving])
    # One factor after the other, because for very small inertias their product overflows.
    scaled = mass[np.ix_(moving, moving)] * scaling[:, None] * scaling
    values, vectors = np.linalg.eigh(scaled)
    involved = np.zeros(len(mass), dtype=bool)
    null = vectors[:, np.abs(values) < _SINGULAR]
    involved[moving] = np.any(np.abs(null) > 0.1, axis=1)
    return involved


def _mass_matrix(robot: RobotData, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """M(q), shape (n, n), and its diagonal with every term by its magnitude, (n,).

    With the unit twists X_k = [[[w], v], [0, 0]] of the bodies' velocities, the pseudo-inertias
    of the bodies that these move, and P_k^c the sum of these over the subtree of that body, all
    about the base origin::

        M_bodies[j, k] = tr(X_j P_k^c X_k^T)    for j on the way from the base to k

    and M = S^T M_bodies S (composite rigid body algorithm; R. Featherstone, *Rigid
    Body Dynamics Algorithms*, Springer, 2008, table 6.2).
    """
    twists, inertias, magnitudes = _about_base(robot, q)
    on_the_way = np.zeros((robot.n_bodies, robot.n_bodies), dtype=bool)
    for k, parent in enumerate(robot.parents):
        if parent >= 0:
            on_the_way[k] = on_the_way[parent]
        on_the_way[k, k] = True
    for k in range(robot.n_bodies - 1, -1, -1):
        parent = robot.parents[k]
        if parent >= 0:
            inertias[parent] += inertias[k]
            magnitudes[parent] += magnitudes[k]
    body, sizes = robot.body_coordinates.joint_of_velocity, np.abs(twists)
    moved = np.tensordot(twists @ inertias[body], twists, axes=([1, 2], [1, 2]))
    lower = np.tril(np.where(on_the_way[np.ix_(body, body)], moved, 0.0))
    bodies = lower + np.tril(lower, -1).T
    scale = np.sum(sizes @ magnitudes[body] * sizes, axis=(1, 2))
    S = robot.coupling
    return S.T @ bodies @ S, (S ** 2).T @ scale


def _about_base(robot: RobotData, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Unit twists (velocities, 4, 4), pseudo-inertias (nb, 4, 4) and their magnitudes."""
    matrix, offset = robot.position_coupling
    q_bodies = matrix @ q + offset
    coordinates = robot.body_coordinates
    poses = np.empty((robot.n_bodies, 4, 4))
    twists = np.zeros((coordinates.n, 4, 4))
    for k, parent in enumerate(robot.parents):
        kind, axis = coordinates.types[k], robot.axes[k]
        joint = robot.placements[k] if parent < 0 else poses[parent] @ robot.placements[k]
        poses[k] = joint @ joint_motion(kind, axis, robot.link_offsets[k],
                                        q_bodies[coordinates.positions(k)])
        # The motion of a joint does not change its axis, but its origin.
        frame = joint if kind.has_one_coordinate else poses[k]
        slides, along = directions(kind, axis)
        turned = along @ frame[:3, :3].T
        rows = twists[coordinates.velocities(k)]
        rows[slides, :3, 3] = turned[slides]
        rows[~slides, :3, :3] = np.cross(turned[~slides, None], np.eye(3)).swapaxes(1, 2)
        rows[~slides, :3, 3] = np.cross(frame[:3, 3], turned[~slides])
    turn = np.swapaxes(poses, 1, 2)
    parameters = robot.inertial_parameters
    # As a pseudo-inertia, but with the magnitudes of all terms of its differences.
    tensors, sizes = np.abs(inertia_matrix(parameters)), np.abs(pseudo_inertia(parameters))
    half_trace = 0.5 * np.trace(tensors, axis1=1, axis2=2)[:, None, None]
    sizes[:, :3, :3] = half_trace * np.eye(3) + tensors
    return (twists, poses @ pseudo_inertia(parameters) @ turn,
            np.abs(poses) @ sizes @ np.abs(turn))
