# SPDX-License-Identifier: Apache-2.0
"""Checks of a robot description: its text, masses, limits, strength and default controller.

A description in grams or millimetres can be read without an error, but gives torques that are
wrong by powers of ten. Proportions reveal wrong units, e.g. a radius of gyration above the reach
of the arm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple
from xml.parsers import expat

import numpy as np

from robot_dynamics.bringup.descriptions import (
    DH_SUFFIXES,
    joint_table,
    load_description,
    robot_line,
)
from robot_dynamics.bringup.doctor.findings import (
    CheckResult,
    HealthReport,
    Level,
    Section,
    collected,
    error,
    from_error,
    from_model_finding,
    listed,
    merged,
    note,
    ok,
    warning,
)
from robot_dynamics.bringup.doctor.requirements import check_default_controller
from robot_dynamics.control.feedback.gains import FeedbackGains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import com_from_parameters
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot, effort_units, position_units, prismatic_joints

#: Range of plausible reaches. m.
LONGEST_REACH, SHORTEST_REACH = 50.0, 0.01
#: Range of plausible mass over the cube of the reach. Arms have 5 to 150, from desktop to foundry
#: arms; a gripper alone has some hundreds. kg/m^3.
DENSEST, THINNEST = 3000.0, 0.02
#: Largest radius of gyration over the reach; a body within a ball of that diameter has 0.5.
WIDEST = 2.0
#: Largest distance of a centre of mass from its joint over the reach.
FARTHEST = 3.0
#: Smallest radius of gyration of a body of this mass. m, kg.
NARROWEST, SOME_MASS = 5e-4, 0.1
#: Largest position limits in rad and m; larger ones may be degrees and millimetres.
FARTHEST_TURN, FARTHEST_SLIDE = 8.0 * math.pi, 20.0
#: Largest velocity limits in rad/s and m/s, likewise.
FASTEST_TURN, FASTEST_SLIDE = 40.0, 20.0
#: Multiples of these, and round numbers, are placeholders for a missing velocity limit.
_NO_SPEED, _ROUND = 10.0, (100.0, 1000.0, 10_000.0, 100_000.0)
#: Position limits from here on are placeholders for unlimited joints. rad or m.
_NO_RANGE = 10_000.0
#: Shortest length for comparisons. m.
_LEAST_LENGTH = 0.05
#: Gravity on earth, and its tolerance. m/s^2.
_GRAVITY, _GRAVITY_TOLERANCE = 9.81, 0.1
_AXES = {(1.0, 0.0, 0.0): '+x', (-1.0, 0.0, 0.0): '-x', (0.0, 1.0, 0.0): '+y',
         (0.0, -1.0, 0.0): '-y', (0.0, 0.0, 1.0): '+z', (0.0, 0.0, -1.0): '-z'}
#: Number of random postures.
POSTURES = 2000
#: Share of an effort limit needed to hold the arm above which little is left for motion.
TIRING = 0.8
#: Smallest acceleration of a useful joint. rad/s^2 or m/s^2.
SLUGGISH = 1.0
#: Acceleration of a fast motion. rad/s^2 or m/s^2.
_BRISK = 10.0
#: Largest number of entries of all mass matrices together.
_MOST_NUMBERS = 25_000_000
#: Ratio of an effort limit to the needs of a fast motion above which the limit does not protect.
_PROTECTS_NOTHING = 20.0
#: Fields of a DH table for elements of a URDF, longer texts first.
_FIELDS = {'write <limit effort="..."> into the URDF': 'give effort in limits of the row',
           'the origin of <inertial> is in metres, in the frame of the link':
           'com is in metres, in the frame of the row',
           'give <inertial> its origin': 'give com', 'in its <limit>': 'in limits of its row',
           'into its <limit>': 'into limits of its row', 'a <limit>': 'limits',
           '<limit>': 'limits', 'its <inertial>': 'mass, com and inertia',
           '<inertial>': 'mass, com and inertia', 'in its <dynamics>': 'in its row'}
#: Largest number of unexpanded xacro expressions that are listed.
_MOST_LEFTOVERS = 3


def check_robot(name_or_path: str, xacro_args: str = '') -> HealthReport:
    """Check a robot description.

    Parameters
    ----------
    name_or_path : str
        Name of a shipped robot, or path of a URDF, xacro or DH file.
    xacro_args : str
        Values for arguments of a xacro file: ``'name:=ur ur_type:=ur5e'``.

    See Also
    --------
    robot_dynamics.bringup.check_system : Checks a running system.

    Examples
    --------
    >>> from robot_dynamics.bringup import check_robot
    >>> report = check_robot('planar_2r')
    >>> report.subject, report.exit_status
    ('planar_2r: 2 joints, 6.5 kg moving', 0)
    """
    try:
        description = load_description(name_or_path, xacro_args)
    except RobotDynamicsError as refusal:
        return HealthReport(f'{name_or_path} cannot be used', (
            Section('description', (from_error(refusal, name_or_path),)),))
    robot = description.robot
    sections = [Section('description', tuple(check_reading(robot, description.urdf))),
                Section('masses', (*check_masses(robot), *check_gravity(robot)))]
    refusals = check_coordinates(robot)
    if refusals:
        sections.append(Section('control', tuple(refusals)))
    else:
        sections += [Section('limits', tuple(check_limits(robot))),
                     Section('control', (*check_weight(robot), *check_default_controller(robot)))]
    if description.path.suffix in DH_SUFFIXES:
        sections = [for_table(section) for section in sections]
    return HealthReport(robot_line(robot), tuple(sections), joint_table(robot))


def for_table(section: Section) -> Section:
    """Section with remedies for a DH table, in which elements of a URDF are fields."""
    def translated(remedy: str) -> str:
        for element, field in _FIELDS.items():
            remedy = remedy.replace(element, field)
        return remedy

    return replace(section, results=tuple(
        replace(result, remedy=translated(result.remedy)) for result in section.results))


@collected
def check_coordinates(robot: Robot) -> Iterator[CheckResult]:
    """Check that every joint has one coordinate, as controllers need."""
    try:
        robot.require_single_coordinates('control')
    except RobotDynamicsError as refusal:
        yield from_error(refusal, robot.name)


def check_reading(robot: Robot, urdf: str) -> list[CheckResult]:
    """Findings of the reader, and further checks of the text."""
    results = merged([*map(from_model_finding, robot.findings),
                      *check_text(urdf, robot)])
    if any(result.level >= Level.WARNING for result in results):
        return results
    return [ok('read', f'{robot.n_bodies} moving links, all physically consistent'), *results]


def check_weight(robot: Robot) -> list[CheckResult]:
    """Check that a robot can hold its own weight."""
    if not np.any(robot.inertial_parameters):
        return []  # a finding of the reader
    return check_strength(robot, effort_needs(robot))


class _Element(NamedTuple):
    """An element of a URDF: the tags and names from the root to it, its attributes and line."""

    tags: tuple[str, ...]
    names: tuple[str, ...]
    attributes: Mapping[str, str]
    line: int


def _elements(urdf: str) -> list[_Element]:
    """Elements of the text of a `Robot`; undeclared prefixes are accepted, as by its reader."""
    found = []
    path: list[tuple[str, str]] = []
    parser = expat.ParserCreate('utf-8')

    def begin(tag: str, attributes: Mapping[str, str]) -> None:
        path.append((tag, attributes.get('name', '')))
        tags, names = zip(*path, strict=True)
        found.append(_Element(tags, names, attributes, parser.CurrentLineNumber))

    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda tag: path.pop()
    parser.Parse(urdf.lstrip().encode(), True)
    return found


@collected
def check_text(urdf: str, robot: Robot) -> Iterator[CheckResult]:
    """Check for xacro expressions, links without inertia and joints without effort command."""
    elements = _elements(urdf)
    leftovers = [f'<{element.tags[-1]} {name}="{value[:60]}"> in line {element.line}'
                 for element in elements for name, value in element.attributes.items()
                 if '${' in value or '$(' in value]
    if leftovers:
        yield warning('xacro', f'unexpanded: {listed(leftovers, _MOST_LEFTOVERS)}',
                      'expand the file with xacro; readers of these elements get no values')

    def names(*tags: str) -> set[tuple[str, ...]]:
        return {element.names[1:] for element in elements if element.tags[1:] == tags}

    shaped, weighed = ({link for tag in tags for link, _ in names('link', tag)}
                       for tags in (('visual', 'collision'), ('inertial',)))
    massless = [name for name, frame in robot.frames.items()
                if frame.body >= 0 and name in shaped - weighed]
    if massless:
        verb = 'has' if len(massless) == 1 else 'have'
        yield note(listed(massless), f'{verb} a shape and no <inertial>, so no weight',
                   'add <inertial> unless the mass is included in the parent link')
    commands = {command[1:] for command in names('ros2_control', 'joint', 'command_interface')}
    uncommanded = [name for name in robot.joint_names if (name, 'effort') not in commands]
    if names('ros2_control') and uncommanded:
        offered = ', '.join(sorted({kind for joint, kind in commands if joint in uncommanded}))
        yield warning(
            listed(uncommanded), 'cannot be commanded an effort: <ros2_control> offers '
            + (f'{offered} only' if offered else 'no command interface'),
            'use hardware with an effort interface, add <command_interface name="effort"/>, or '
            'leave the joint out by the parameter joints')


def check_masses(robot: Robot) -> list[CheckResult]:
    """Check proportions of lengths, masses and inertias."""
    p = robot.inertial_parameters.copy()
    # A first moment without mass has no centre; the reader reports it.
    p[p[:, 0] == 0.0, 1:4] = 0.0
    mass, com, tensor = com_from_parameters(p)
    if not np.any(mass > 0.0):
        return []  # a finding of the reader
    moments = np.linalg.eigvalsh(tensor).astype(np.float64, copy=False)
    length = reach(robot) or float(np.linalg.norm(com, axis=1).max())
    results = [*_check_size(robot, float(mass.sum()), length),
               *_check_centres(robot, mass, com, length),
               *_check_inertias(robot, mass, moments, length)]
    return merged(results) or [
        ok('masses', f'{mass.sum():.3g} kg move within a reach of {length:.3g} m')]


def _check_size(robot: Robot, total: float, length: float) -> Iterator[CheckResult]:
    if length > LONGEST_REACH:
        yield warning(robot.name, f'reaches {length:.3g} m', 'lengths are in metres: were they '
                      'written in millimetres?')
    if 0.0 < length < SHORTEST_REACH:
        yield warning(robot.name, f'reaches {1e3 * length:.3g} mm',
                      'lengths are in metres: check them')
    density = total / max(length, _LEAST_LENGTH)**3
    text = f'moves {total:.3g} kg within a reach of {length:.3g} m'
    if density > DENSEST and length >= SHORTEST_REACH:
        yield warning(robot.name, text, 'masses are in kilograms: were they written in grams?')
    if density < THINNEST and length <= LONGEST_REACH:
        yield warning(robot.name, text, 'masses are in kilograms: were they written in tonnes, '
                      'or are most of them missing?')


def _check_centres(robot: Robot, mass: FloatArray, com: FloatArray, length: float
                   ) -> Iterator[CheckResult]:
    heavy = mass > 0.0
    distances = np.linalg.norm(com, axis=1)
    for k in np.flatnonzero(heavy & (distances > FARTHEST * max(length, _LEAST_LENGTH))):
        yield warning(robot.body_names[k], f'has its centre of mass {distances[k]:.3g} m from its '
                      f'joint, in an arm that reaches {length:.3g} m',
                      'the origin of <inertial> is in metres, in the frame of the link')
    if heavy.sum() > 1 and not np.any(distances[heavy] > 1e-9):
        yield warning(robot.name, 'has every centre of mass in the origin of its link',
                      'give <inertial> its origin: gravity compensation depends on it')


def _check_inertias(robot: Robot, mass: FloatArray, moments: FloatArray, length: float
                    ) -> Iterator[CheckResult]:
    for name, m, largest in zip(robot.body_names, mass, moments.max(axis=1), strict=True):
        if m <= 0.0 or largest <= 0.0:
            continue
        gyration = float(np.sqrt(largest / m))
        figures = f'(inertia {largest:.3g} kg m^2 for {m:.3g} kg)'
        ratio = gyration / max(length, _LEAST_LENGTH)
        if ratio > WIDEST:
            unit = 'kg mm^2' if ratio < 700.0 else 'g mm^2'
            guess = f'was it written in {unit}?' if ratio > 10.0 else 'check it'
            yield warning(name, f'has a radius of gyration of {gyration:.3g} m {figures}',
                          f'inertia is in kg m^2: {guess}')
        elif gyration < NARROWEST and m >= SOME_MASS:
            yield warning(name, f'has a radius of gyration below a millimetre {figures}',
                          'inertia is in kg m^2: check it')
    rows = np.column_stack([mass, moments])[mass > 0.0]
    if len(rows) >= 3 and np.allclose(rows, rows[0], rtol=1e-6, atol=0.0):
        yield warning(robot.name, f'has {len(rows)} links with the same mass and inertia '
                      f'({rows[0, 0]:.3g} kg)',
                      'give those of the real links: these look like placeholders')


def reach(robot: Robot) -> float:
    """Upper bound of the distance of any frame from the first joint: lengths added up. m."""
    far = np.zeros(robot.n_bodies)
    for k, parent in enumerate(robot.parents):
        length = float(np.linalg.norm(robot.link_offsets[k]))
        if parent >= 0:
            length += far[parent] + float(np.linalg.norm(robot.placements[k][:3, 3]))
        far[k] = length + _stroke(robot, k)
    tips = [far[frame.body] + float(np.linalg.norm(frame.pose[:3, 3]))
            for frame in robot.frames.values() if frame.body >= 0]
    return float(max([*far, *tips]))


def _stroke(robot: Robot, body: int) -> float:
    """Largest displacement of a body by a prismatic joint. m."""
    name = robot.body_joint_names[body]
    if robot.joint_types[body] != JointType.PRISMATIC or name not in robot.joint_names:
        return 0.0
    k = robot.coordinates.velocities(robot.joint_names.index(name)).start
    ends = np.abs(np.array(_position_range(robot))[:, k])
    return float(ends.max()) if np.isfinite(ends).all() else 0.0


def _position_range(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Lower and upper position limits; placeholders are -inf and inf. rad or m."""
    lower, upper = robot.limits.lower, robot.limits.upper
    return (np.where(lower <= -_NO_RANGE, -np.inf, lower),
            np.where(upper >= _NO_RANGE, np.inf, upper))


def check_gravity(robot: Robot) -> list[CheckResult]:
    """Check direction and magnitude of gravity."""
    strength = float(np.linalg.norm(robot.gravity))
    if strength == 0.0:
        return [note('gravity', 'is zero', 'right in space or for an arm that moves '
                     'horizontally only; else give gravity')]
    direction = robot.gravity / strength
    x, y, z = (float(x) + 0.0 for x in np.round(direction, 6))
    along = _AXES.get((x, y, z))
    axis = along or '(' + ', '.join(f'{x:.2f}' for x in direction) + ')'
    text = f'{strength:.4g} m/s^2 along {axis} of {robot.base_name!r}'
    if abs(strength - _GRAVITY) > _GRAVITY_TOLERANCE:
        return [warning('gravity', text, 'on earth give 9.81 m/s^2')]
    if along != '-z':
        return [note('gravity', text, 'right where the base is mounted on a wall, a ceiling or '
                                      'a slope; else give [0.0, 0.0, -9.81]')]
    return [ok('gravity', text)]


def check_limits(robot: Robot) -> list[CheckResult]:
    """Check the units of position and velocity limits."""
    results = merged(_check_limit_units(robot))
    if any(result.level >= Level.WARNING for result in results):
        return results
    limits = robot.limits
    bounded = np.isfinite([limits.lower, limits.upper]).all(axis=0)
    positions, speeds, efforts = (np.count_nonzero(known) for known in (
        bounded, np.isfinite(limits.velocity), np.isfinite(limits.effort)))
    return [*results, ok('limits', f'positions of {positions}, speeds of {speeds} and efforts of '
                                   f'{efforts} of {robot.n} joints')]


def _check_limit_units(robot: Robot) -> Iterator[CheckResult]:
    limits = robot.limits
    for name, is_prismatic, lower, upper, speed in zip(
            robot.joint_names, prismatic_joints(robot), limits.lower, limits.upper,
            limits.velocity, strict=True):
        far, fast, unit, other = \
            (FARTHEST_SLIDE, FASTEST_SLIDE, 'm', 'millimetres') if is_prismatic else \
            (FARTHEST_TURN, FASTEST_TURN, 'rad', 'degrees')
        farthest = max((abs(end) for end in (lower, upper) if math.isfinite(end)), default=0.0)
        if farthest >= _NO_RANGE:
            yield note(name, f'moves from {lower:g} to {upper:g} {unit}, which limits nothing',
                       'give the range of the real joint, if it has one')
        elif farthest > far:
            yield warning(name, f'moves from {lower:g} to {upper:g} {unit}',
                          f'limits are in {unit}: were they written in {other}?')
        if speed > _NO_SPEED * fast or speed in _ROUND:
            yield note(name, f'has a velocity limit of {speed:g} {unit}/s, which limits nothing',
                       'give that of the real joint: joint states are accepted up to it')
        elif speed > fast:
            yield warning(name, f'has a velocity limit of {speed:g} {unit}/s',
                          f'limits are in {unit}/s: was it written in {other} per second?')


@dataclass(frozen=True, eq=False)
class EffortNeeds:
    """Efforts that an arm needs.

    ``gravity``, (k, n), holds it in each posture, N m or N; ``inertia``, (n,), is the largest
    about each joint in all postures, including rotors, kg m^2 or kg.
    """

    gravity: FloatArray
    inertia: FloatArray

    @property
    def holding(self) -> FloatArray:
        """Largest effort of each joint for holding the arm, shape (n,). N m or N."""
        return np.abs(self.gravity).max(axis=0)


def effort_needs(robot: Robot, postures: int = POSTURES, seed: int = 1) -> EffortNeeds:
    """Efforts that an arm needs in postures drawn uniformly within its limits.

    For large robots there are fewer postures, to limit memory.
    """
    postures = max(1, min(postures, _MOST_NUMBERS // robot.n**2))
    lower, upper = _position_range(robot)
    free = np.where(prismatic_joints(robot), 0.5, np.pi)
    lower = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0) - free)
    upper = np.where(np.isfinite(upper), upper, lower + 2.0 * free)
    q = np.random.default_rng(seed).uniform(lower, upper, (postures, robot.n))
    dynamics = Dynamics(robot)
    inertia = np.diagonal(dynamics.mass_matrix(q), axis1=1, axis2=2).max(axis=0)
    return EffortNeeds(dynamics.gravity_torque(q), inertia)


def check_strength(robot: Robot, needs: EffortNeeds) -> list[CheckResult]:
    """Compare the needs of an arm with its effort limits; joints without one are left out."""
    if not np.isfinite(robot.limits.effort).any():
        return []  # a finding of the reader
    return merged([*_check_holding(robot, needs), *_check_motion(robot, needs)])


def _check_holding(robot: Robot, needs: EffortNeeds) -> list[CheckResult]:
    effort, holding, units = robot.limits.effort, needs.holding, effort_units(robot)
    limit = np.where(np.isfinite(effort), effort, np.inf)
    beyond = np.abs(needs.gravity) > limit
    make = error if beyond.any(axis=1).mean() > 0.5 else warning
    results = [
        make(robot.joint_names[k],
             f'needs {holding[k]:.3g} {units[k]} to hold the arm still and has {limit[k]:.3g}: '
             f'in {_percent(beyond[:, k].mean())} of postures it falls',
             'check the effort limit and the masses beyond this joint; or keep the arm out of '
             'these postures')
        for k in np.flatnonzero(beyond.any(axis=0))]
    if results:
        return results
    if not np.any(holding > 1e-9 * np.abs(needs.inertia)):
        return [ok('holds itself', 'gravity moves no joint')]
    worst = int(np.argmax(holding / limit))
    if holding[worst] > TIRING * limit[worst]:
        return [warning(robot.joint_names[worst], f'needs {holding[worst]:.3g} {units[worst]} of '
                        f'{limit[worst]:.3g} to hold the arm still',
                        'little is left for motion: keep payloads small')]
    return [ok('holds itself', f'{robot.joint_names[worst]} needs most, '
               f'{_percent(holding[worst] / limit[worst])} of its effort limit, in '
               f'{len(needs.gravity)} postures')]


def _check_motion(robot: Robot, needs: EffortNeeds) -> Iterator[CheckResult]:
    """Check the effort left for friction, motion and feedback."""
    names, limits = robot.joint_names, robot.limits
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, 0.0)
    units = effort_units(robot)
    for k in np.flatnonzero(robot.friction > TIRING * limits.effort):
        make, result = (error, 'it cannot move') if robot.friction[k] >= limits.effort[k] else (
            warning, 'little is left for motion')
        yield make(names[k], f'has a dry friction of {robot.friction[k]:.3g} {units[k]} and an '
                   f'effort limit of {limits.effort[k]:.3g}: {result}',
                   'check friction in its <dynamics>, and its effort limit')
    fast = robot.friction + robot.damping * speed > limits.effort
    for k in np.flatnonzero(fast & (robot.friction <= TIRING * limits.effort)):
        yield warning(names[k], 'has friction at full speed above its effort limit',
                      'check damping and friction in its <dynamics>, and its velocity limit')
    known = np.isfinite(limits.effort)
    gains = FeedbackGains()
    spare = limits.effort - needs.holding - robot.friction
    for k in np.flatnonzero(known & (spare > 0.0) & (needs.inertia > 0.0)):
        acceleration = spare[k] / needs.inertia[k]
        if acceleration < SLUGGISH:
            unit = position_units(robot)[k]
            saturates = acceleration / (gains.bandwidth * gains.error_rate)
            yield warning(names[k], f'accelerates at {acceleration:.2g} {unit}/s^2 at most, and '
                          f'its feedback saturates from an error of {saturates:.1g} {unit} on',
                          'check its effort limit; choose slow references')
    # No joint needs an effort near its limit in a fast motion.
    need = needs.holding + _BRISK * needs.inertia
    known &= need > 0.0
    least = float(np.min(limits.effort[known] / need[known], initial=np.inf))
    if _PROTECTS_NOTHING < least < np.inf:
        yield note(robot.name, f'has effort limits of {least:.0f} times or more of what the arm '
                   'needs for a fast motion', 'set the parameter effort_limit lower: these '
                                              'protect nothing')


def _percent(share: float) -> str:
    return f'{100.0 * share:.0f} %' if share >= 0.01 else 'under 1 %'
