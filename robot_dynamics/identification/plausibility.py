# SPDX-License-Identifier: Apache-2.0
"""What a model may predict well and still be dangerous for.

Efforts of the wrong sign that are nearly all friction are predicted well by a friction that
drives, and an arm whose friction is compensated by that runs away. A joint that stood still is
predicted well where it stood, and nothing is known of it elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import Finding, Severity
from robot_dynamics.identification.dataset import Dataset
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.model.arrays import BoolArray, FloatArray
from robot_dynamics.model.robot import Robot, prismatic_joints

#: Friction that gives power drives: more than this part of the effort times the speed.
DRIVES = 0.05
#: A joint that moves by less stood still, rad or m.
STOOD = 0.02
#: Efforts that come later or earlier than positions by more are not of one clock, s.
APART = 0.02

# Terms that take no power from a joint on the whole.
_STORING = ('armature', 'offset')
#: Velocities that come later than positions by more are told of, s.
LATE = 0.01
#: A velocity that is less than this part of the slope of the positions, or more than its
#: inverse, has another unit.
OTHER_VELOCITY_UNIT = 0.5
#: Positions may leave the limits of the description by this part of their range; whose motion
#: is larger than the range by `DEGREES` is written in degrees.
BEYOND, DEGREES = 0.05, 8.0
#: An effort with fewer levels than this is a coarse one.
LEVELS = 64
#: An effort saturates that is at its very largest in this part of the rows at least, and in
#: so many rows.
SATURATED, SATURATED_ROWS = 0.01, 20
#: A joint that stands still in a larger part of the rows is told of; still is this part of its
#: largest speed.
STANDS, STILL = 0.3, 0.005

# Rows that are looked at.
_ROWS = 20_000
#: Samples that are looked at.
SAMPLES = 3000
#: A regression on the description has to explain this share to mean anything.
EXPLAINED = 0.5
#: Of joints that are asked for less than this part of the most, nothing is said.
LIGHT = 0.05
#: And bodies this share of it, beside friction.
OF_BODIES = 0.05
#: Efforts below this part of what the description asks for, or above its inverse, have
#: another unit.
OTHER_UNIT = 0.2
#: So many joints with efforts that are off the description by one factor, this much apart, and
#: beyond this one, have another unit, too: wrong masses are off by different ones.
MANY, ALIKE, COMMON_UNIT = 3, 0.1, 2.0
#: Gravity counts as missing where less than this part of it is seen, and it explains less than
#: this share of the effort.
NO_GRAVITY = 0.15

_UNITS = ('set effort.kind with torque_constant and gear_ratio; where efforts are N m, mend the '
          'masses of the description first')


def driving_friction(stack: Stack, model: Model) -> tuple[Finding, ...]:
    """Tell of joints whose identified friction drives them instead of braking.

    Parameters
    ----------
    stack : Stack
        Equations of the recording, with the features of the model among its own.
    model : Model
        What was identified.

    Returns
    -------
    tuple of Finding
        An error for each joint with mean(f v) < -`DRIVES` rms(effort) rms(v): friction takes
        power from a joint, whatever its law.
    """
    speed = stack.speeds_of_rows()
    numbers = {feature: stack.first_feature + k for k, feature in enumerate(stack.features)}
    values = {numbers[feature]: value for feature, value in zip(
        model.features, model.friction, strict=True) if feature.term not in _STORING}
    found = []
    for j, rows in enumerate(stack.joints):
        used = stack.used[:, j]
        x = np.array([values.get(int(k), 0.0) for k in rows.columns])
        v, y = speed[used, j], rows.y[used]
        power = float(np.mean((rows.A[used] @ x) * v)) if np.any(used) else 0.0
        size = float(np.sqrt(np.mean(y ** 2) * np.mean(v ** 2))) if np.any(used) else 0.0
        if power < -DRIVES * size:
            found.append(Finding(
                Severity.ERROR, model.robot.joint_names[j], 'its friction drives it, instead of '
                'braking it: efforts and positions have different signs',
                'set effort.sign to -1 for it, or position.scale'))
    return tuple(found)


def still_joints(dataset: Dataset) -> tuple[str, ...]:
    """Return the joints that stood still all the time."""
    low, high = (np.array([size(s.position, axis=0) for s in dataset.segments])
                 for size in (np.min, np.max))
    moved = np.max(high, axis=0) - np.min(low, axis=0)
    return tuple(name for name, one in zip(dataset.joint_names, moved, strict=True)
                 if one < STOOD)


def late_efforts(signals: SignalSettings) -> tuple[Finding, ...]:
    """Tell of efforts that come so much later or earlier than positions that clocks differ."""
    if abs(signals.lag) <= APART:
        return ()
    return (Finding(Severity.WARNING, 'effort',
                    f'comes {1e3 * abs(signals.lag):.0f} ms '
                    f'{"after" if signals.lag > 0.0 else "before"} the positions; that was taken '
                    'out', 'stamp both by one clock: a controller would feel it as a delay'),)


def reading_findings(dataset: Dataset, robot: Robot, lag: FloatArray, gain: FloatArray
                     ) -> tuple[Finding, ...]:
    """Judge the readings of a log.

    Parameters
    ----------
    dataset : Dataset
        The log.
    robot : Robot
        Its description, of which limits and kinds of joints count.
    lag, gain : ndarray, shape (n,)
        Of the measured velocities; see `signal_choice.compare_velocity`.

    Returns
    -------
    tuple of Finding
        What looks wrong, and what to set.
    """
    return (*_positions(dataset, robot), *_velocities(dataset, lag, gain),
            *_effort_readings(dataset), *_standing(dataset))


def _positions(dataset: Dataset, robot: Robot) -> list[Finding]:
    """Tell of positions outside the limits, and of degrees."""
    lower, upper = robot.limits.lower, robot.limits.upper
    low = np.min([np.min(s.position, axis=0) for s in dataset.segments], axis=0)
    high = np.max([np.max(s.position, axis=0) for s in dataset.segments], axis=0)
    turns = ~prismatic_joints(robot)
    bounded = np.isfinite(lower) & np.isfinite(upper)
    span = np.where(bounded, upper - lower, np.inf)
    size = np.maximum(np.abs(low), np.abs(high))
    limit = np.maximum(np.abs(lower), np.abs(upper))
    degrees = turns & bounded & (size > DEGREES * limit)
    if np.any(degrees) and not np.any(turns & bounded & (size > 120.0 * limit)):
        return [Finding(Severity.WARNING, _named(dataset, degrees),
                        f'positions look like degrees: up to {np.max(size[degrees]):.3g}, where '
                        f'limits are {np.max(limit[degrees]):.3g}',
                        'set position.scale: 0.017453292519943295')]
    outside = bounded & ((low < lower - BEYOND * span) | (high > upper + BEYOND * span))
    if not np.any(outside):
        return []
    return [Finding(Severity.WARNING, _named(dataset, outside),
                    'positions lie outside the limits of the description',
                    'check names, and position.offset, scale and side')]


def _velocities(dataset: Dataset, lag: FloatArray, gain: FloatArray) -> list[Finding]:
    """Tell of velocities that come late, or are of another unit or sign."""
    findings = []
    late = np.abs(np.nan_to_num(lag)) > max(LATE, dataset.period)
    if np.any(late):
        worst = int(np.argmax(np.where(late, np.abs(lag), 0.0)))
        findings.append(Finding(
            Severity.WARNING, _named(dataset, late),
            f'velocity {"lags" if lag[worst] > 0 else "leads"} position by up to '
            f'{abs(lag[worst]):.2g} s', 'set velocity: position'))
    with np.errstate(invalid='ignore'):
        flipped = gain < 0.0
        other = (np.abs(gain) < OTHER_VELOCITY_UNIT) | (np.abs(gain) > 1.0 / OTHER_VELOCITY_UNIT)
    if np.any(flipped):
        findings.append(Finding(Severity.WARNING, _named(dataset, flipped), 'velocity has the '
                                'other sign than the slope of the position',
                                'set velocity: position'))
    if np.any(other):
        size = float(np.median(np.abs(gain[other])))
        findings.append(Finding(Severity.WARNING, _named(dataset, other),
                                f'velocity is {size:.3g} times the slope of the position: '
                                'another unit', 'set velocity: position'))
    return findings


def _effort_readings(dataset: Dataset) -> list[Finding]:
    """Tell of efforts with few levels, and of those that saturate."""
    findings = []
    # Conversions between joints and motors leave no common levels.
    effort = np.concatenate([s.effort for s in dataset.segments])[:_ROWS]
    coarse = np.array([1 < len(np.unique(np.round(column, 9))) < LEVELS for column in effort.T])
    if np.any(coarse) and len(effort) > 4 * LEVELS:
        findings.append(Finding(Severity.INFO, _named(dataset, coarse),
                                f'effort has fewer than {LEVELS} levels: it tells little'))
    size = np.abs(effort)
    largest = np.max(size, axis=0)
    at_it = np.count_nonzero(size >= largest * (1.0 - 1e-12), axis=0)
    clipped = ((largest > 0.0) & (at_it >= SATURATED_ROWS) & (at_it >= SATURATED * len(effort))
               & ~coarse)
    if np.any(clipped):
        findings.append(Finding(
            Severity.WARNING, _named(dataset, clipped),
            f'effort saturates in {100 * np.max(at_it[clipped]) / len(effort):.0f} % of the rows: '
            'more was asked for than is written', 'record slower motions, or leave these times '
            'out with log.times'))
    return findings


def _standing(dataset: Dataset) -> list[Finding]:
    """Tell of joints that stand still for long, where friction may be anything."""
    # Encoders sampled faster than they count stand between two counts: look at 50 ms.
    step = max(1, round(0.05 / dataset.period))
    slow = [np.abs(s.position[step:] - s.position[:-step]) for s in dataset.segments
            if len(s.time) > step]
    if not slow:
        return []
    slow = np.concatenate(slow)
    fast = np.percentile(slow, 99, axis=0)
    share = np.mean(slow <= STILL * fast, axis=0)
    still = (share > STANDS) & (fast > 0.0)
    if not np.any(still):
        return []
    return [Finding(Severity.INFO, _named(dataset, still),
                    f'stands still {100 * np.max(share[still]):.0f} % of the time, when friction '
                    'may be anything up to its limit', 'set estimate.velocity_threshold to leave '
                    'these rows out')]


def _named(dataset: Dataset, mask: BoolArray) -> str:
    return ', '.join(name for name, there in zip(dataset.joint_names, mask, strict=True) if there)


def plausibility(dataset: Dataset, robot: Robot) -> tuple[Finding, ...]:
    """Compare a log with what the description of the robot would have done.

    Parameters
    ----------
    dataset : Dataset
        The log.
    robot : Robot
        Its description.

    Returns
    -------
    tuple of Finding
        What looks wrong, and what to set.
    """
    from robot_dynamics.identification.signal_selection import compare_velocity, excerpt
    dataset = excerpt(dataset)
    return (*_efforts(dataset, robot),
            *reading_findings(dataset, robot, *compare_velocity(dataset)))


def _efforts(dataset: Dataset, robot: Robot) -> list[Finding]:
    """Judge unit, sign and gravity of the efforts by a regression on the description."""
    q, v, a, tau, free = _samples(dataset, robot)
    model = Dynamics(robot)
    gravity = model.gravity_torque(q)
    moving = model.inverse_dynamics(q, v, a) - gravity
    scales, missing = {}, []
    # Small links are described carelessly; what an arm carries is not.
    asked, weight = np.std(gravity + moving, axis=0), np.std(gravity, axis=0)
    for j, name in enumerate(dataset.joint_names):
        falling, swinging, effort, u = (x[free[:, j], j] for x in (gravity, moving, tau, v))
        if not len(u) or asked[j] < LIGHT * np.max(asked):
            continue
        speed = max(float(np.sqrt(np.mean(u ** 2))), 1e-9)
        rest = np.stack([np.ones(len(u)), np.tanh(u / (0.03 * speed)), u], axis=1)
        part = _share(np.column_stack([falling + swinging, rest]), effort)
        friction = _share(rest, effort)
        # Where friction alone explains the effort, the bodies' part of it means nothing.
        if part is None or part[1] < EXPLAINED or friction is None \
                or part[1] - friction[1] < OF_BODIES:
            continue
        scales[name] = float(part[0][0])
        if dataset.is_gravity_compensated \
                or weight[j] < LIGHT * np.max(weight):
            continue
        split = _share(np.column_stack([falling, swinging, rest]), effort)
        own = _share(np.column_stack([swinging, rest]), effort)
        if split is not None and own is not None and own[1] > EXPLAINED \
                and split[1] - own[1] < NO_GRAVITY \
                and abs(split[0][0]) < NO_GRAVITY * abs(split[0][1]):
            missing.append(name)
    if missing and len(missing) >= 0.5 * len(scales):
        return [Finding(Severity.ERROR, ', '.join(missing), 'effort is already '
                        'gravity-compensated: it does not change with the pose',
                        'set effort.kind: gravity_compensated')]
    return _of_scales(scales)


def _of_scales(scales: Mapping[str, float]) -> list[Finding]:
    """Judge signs and units by how many times the efforts are what the description asks for."""
    findings = []
    flipped = [name for name, scale in scales.items() if scale < 0.0]
    if flipped:
        findings.append(Finding(Severity.ERROR, ', '.join(flipped), 'sign flipped: effort '
                                'falls where the description asks for more',
                                'set effort.sign to -1 for it'))
    sizes = {name: abs(scale) for name, scale in scales.items()}
    other = {name: size for name, size in sizes.items()
             if not OTHER_UNIT < size < 1.0 / OTHER_UNIT}
    common = float(np.median(list(sizes.values()))) if sizes else 1.0
    alike = len(sizes) >= MANY and max(abs(size / common - 1.0) for size in sizes.values()) < ALIKE
    if other:
        findings.append(Finding(
            Severity.ERROR, ', '.join(other), 'these look like amperes or motor torques: '
            + ', '.join(f'{size:.3g}' for size in other.values())
            + ' times what the description asks for', _UNITS))
    elif alike and not 1.0 / COMMON_UNIT < common < COMMON_UNIT:
        findings.append(Finding(
            Severity.ERROR, 'effort', f'is {common:.3g} times what the description asks for, in '
            'all joints alike: amperes or motor torques, or every mass is off', _UNITS))
    return findings


def _samples(dataset: Dataset, robot: Robot
             ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, BoolArray]:
    """Return some motion, filtered, its efforts, and where each joint lies on no stop."""
    from robot_dynamics.identification.signals import SignalSettings, cutoff_of, motions_of
    from robot_dynamics.identification.stops import on_stops
    cutoff = cutoff_of(dataset)
    motions = motions_of(dataset, SignalSettings(cutoff))
    # Filters have not settled at the ends: accelerations there are wild.
    inner = [slice(trim, motion.count - trim) for motion in motions
             for trim in (int(min(0.5 * motion.rate, 0.1 * motion.count)),)]
    columns = [np.concatenate([getattr(motion, name)[rows] for motion, rows
                               in zip(motions, inner, strict=True)])
               for name in ('q', 'v', 'a', 'effort')]
    columns.append(np.concatenate([~on_stops(robot, dataset, motion, cutoff)[rows]
                                   for motion, rows in zip(motions, inner, strict=True)]))
    step = max(1, len(columns[0]) // SAMPLES)
    return tuple(column[::step] for column in columns)


def _share(A: FloatArray, y: FloatArray) -> tuple[FloatArray, float] | None:
    """Return the parameters and the share of the variance that A explains."""
    total = float(np.sum((y - y.mean()) ** 2))
    lengths = np.linalg.norm(A, axis=0)
    if total <= 0.0 or lengths[0] == 0.0:
        return None
    lengths[lengths == 0.0] = 1.0
    x = np.linalg.lstsq(A / lengths, y, rcond=1e-10)[0] / lengths
    return x, 1.0 - float(np.sum((y - A @ x) ** 2)) / total
