# SPDX-License-Identifier: Apache-2.0
"""Reads the two sides of elastic joints, links and motors, and puts them on the same times.

A YAML beside a log says what is special about it; beside what
`robot_dynamics.identification.dataset.settings` knows::

    encoders: both               # both, links or motors
    links: {topic: joint_states, efforts: false}
    motors: {topic: motor_states, prefix: motor_}
    position: {side: motor}      # angles of the motors' own shafts, not over gear ratios
    effort: {kind: motor_torque} # torques of the motors' own shafts
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.dataset.bag_log import read_bag
from robot_dynamics.identification.dataset.cleaning import GAP_PERIODS
from robot_dynamics.identification.dataset.log import Log
from robot_dynamics.identification.dataset.settings import DatasetSettings, settings_from
from robot_dynamics.identification.dataset.table_log import TABLES, read_csv, read_npz
from robot_dynamics.model.arrays import FloatArray, IntArray

#: Sides that may be measured.
SIDES = ('both', 'links', 'motors')
#: Stamps of links and motors are the same times where so many of them are equal.
_SAME = 0.9
#: Motors that move in step with their links by another factor than this one or its inverse are
#: told in another unit: no spring gives way that much and stays in step.
MOST_GIVEN = 2.0
# In step: correlation of both; and links that move less say nothing, rad or m.
_IN_STEP, _STANDS = 0.9, 1e-3


@dataclass(frozen=True, eq=False)
class ElasticDatasetSettings:
    """How to read a log of links and motors.

    Parameters
    ----------
    log : DatasetSettings
        As for rigid robots; side of positions and kind of efforts are those of motors. Gear
        ratios are the robot's.
    encoders : {'both', 'links', 'motors'}
        Which sides are measured.
    link_topic, motor_topic : str, optional
        Topics of a recording; by default those that name the joints.
    prefix : str
        Of the names of motors.
    has_link_efforts : bool
        Whether the efforts of links are those that act on them from outside, J^T h_e; most
        drivers tell those of the springs or of the motors there, and outside is nothing.
    """

    log: DatasetSettings = field(default_factory=DatasetSettings)
    encoders: str = 'both'
    link_topic: str | None = None
    motor_topic: str | None = None
    prefix: str = 'motor_'
    has_link_efforts: bool = False

    def __post_init__(self) -> None:
        if self.encoders not in SIDES:
            raise ParameterError(f'is {self.encoders!r}', subject='encoders',
                                 remedy='choose among ' + ', '.join(SIDES))
        for name in ('link_topic', 'motor_topic', 'prefix'):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ParameterError(f'is {value!r}', subject=name, remedy='give a name')
        if not isinstance(self.has_link_efforts, bool):
            raise ParameterError(f'is {self.has_link_efforts!r}', subject='links.efforts',
                                 remedy='say true or false')
        if self.log.unsigned_bits is not None:
            raise ParameterError('is not known of motors of elastic joints',
                                 subject='effort.unsigned_bits', remedy='leave it out')
        if self.log.coupling is not None or np.any(np.asarray(self.log.gear_ratio) != 1.0):
            raise ParameterError('belongs to the robot', subject='effort.gear_ratio or coupling',
                                 remedy='give it in the description of the elastic joints')

    def scales(self, gear_ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what positions and efforts of motors are multiplied by, each shape (n,)."""
        n, log = len(gear_ratio), self.log
        position = 1.0 / gear_ratio if log.position_side == 'motor' else np.ones(n)
        effort = log.of_joints('sign', n)
        if log.effort_kind == 'gravity_compensated':
            raise ParameterError(f'is {log.effort_kind}', subject='effort.kind',
                                 remedy='give efforts of motors: torque, motor_torque or current')
        if log.effort_kind == 'current':
            effort = effort * log.of_joints('torque_constant', n)
        if log.effort_kind != 'torque':
            effort = effort * gear_ratio
        return position, effort


def elastic_settings_from(content: Any, subject: str = 'settings') -> ElasticDatasetSettings:
    """Return settings out of what a YAML says; keys that it does not know are refused."""
    log = settings_from(content, subject)
    known = {'links': {'topic': 'link_topic', 'efforts': 'has_link_efforts'},
             'motors': {'topic': 'motor_topic', 'prefix': 'prefix'}}
    flat: dict[str, Any] = {'encoders': content.get('encoders', 'both')}
    for section, keys in known.items():
        part = content.get(section, {})
        if not isinstance(part, Mapping) or any(key not in keys for key in part):
            raise ParameterError(f'is {part!r}', subject=f'{subject}: {section}',
                                 remedy='give ' + ', '.join(keys))
        flat.update({keys[key]: value for key, value in part.items()})
    return ElasticDatasetSettings(log, **flat)


def read_sides(path: Path, robot: ElasticRobot, settings: ElasticDatasetSettings
               ) -> tuple[Log | None, Log | None]:
    """Return what a log says of links, and of motors; None of a side that is not measured.

    Where links alone are measured their efforts are those of the motors.
    """
    joints = robot.links.joint_names
    motors = tuple(settings.prefix + name for name in joints)
    links_log = motors_log = None
    if settings.encoders != 'motors':
        required = ('position', 'effort') if settings.encoders == 'links' else ('position',)
        links_log = _read(path, joints, settings.log, settings.link_topic, required)
    if settings.encoders != 'links':
        rename = dict(settings.log.names)
        if settings.motor_topic is not None:
            # In a topic of their own motors may be called as their joints are.
            rename.update({rename.get(name, name): motor
                           for name, motor in zip(joints, motors, strict=True)})
        try:
            motors_log = _read(path, motors, settings.log, settings.motor_topic,
                               ('position', 'effort'), rename)
        except RecordingError as error:
            if links_log is None:
                raise
            # Links were read: what is wrong is that motors are not there.
            raise RecordingError(
                f'tells nothing of the motors: {error.message}', subject=error.subject,
                remedy=f'record the states of the motors, give motors.topic or motors.prefix, or '
                       f'say encoders: links where only links have encoders; {error.remedy}'
            ) from error
    return links_log, motors_log


def joined(links: Log, motors: Log) -> Log:
    """Return both sides in the rows of the motors, links before motors.

    Parameters
    ----------
    links, motors : Log
        Stamps count from the same origin where they come from one file.

    Returns
    -------
    Log
        Where stamps are not the same, what links say is interpolated by cubics; rows of
        motors that no rows of links surround closely are told to have no position.
    """
    common, of_links, of_motors = np.intersect1d(links.stamps, motors.stamps,
                                                 return_indices=True)
    dropped = {reason: links.dropped.get(reason, 0) + motors.dropped.get(reason, 0)
               for reason in {**links.dropped, **motors.dropped}}
    if len(common) >= _SAME * min(links.count, motors.count):
        sides = [tuple(array[rows] for array in (log.position, log.velocity, log.effort))
                 for log, rows in ((links, of_links), (motors, of_motors))]
        stamps = common
    else:
        stamps = motors.stamps
        sides = [_at(stamps, links), (motors.position, motors.velocity, motors.effort)]
    together = (np.concatenate(pair, axis=1) for pair in zip(*sides, strict=True))
    return Log(links.names + motors.names, stamps, *together, dropped, motors.source)


def require_same_motion(log: Log, gear_ratio: FloatArray) -> None:
    """Refuse motors that go where their links do, but in another unit or the other way.

    Parameters
    ----------
    log : Log
        Positions of n links, then of n motors.
    gear_ratio : ndarray, shape (n,)
        Of the motors.

    Raises
    ------
    RecordingError
        Naming the joint, and what to look at.
    """
    n = len(gear_ratio)
    good = log.position[np.all(np.isfinite(log.position), axis=1)]
    if len(good) < 2:
        return
    moved = good - good.mean(axis=0)
    for joint, ratio in enumerate(gear_ratio):
        link, motor = moved[:, joint], moved[:, n + joint]
        sizes = np.sqrt(np.mean(link**2)), np.sqrt(np.mean(motor**2))
        step = float(np.mean(link * motor))
        if sizes[0] < _STANDS or abs(step) < _IN_STEP * sizes[0] * sizes[1]:
            continue
        factor = step / sizes[0]**2
        if not 1.0 / MOST_GIVEN < factor < MOST_GIVEN:
            raise RecordingError(
                f'moves {factor:.4g} times as far as its link', subject=log.names[n + joint],
                remedy=f'say position: {{side: motor}} for angles of shafts (its gear ratio is '
                       f'{ratio:g}), correct gear_ratio, or names')


def _at(stamps: IntArray, log: Log) -> tuple[FloatArray, ...]:
    """Return positions, velocities and efforts of a log at other times, nan in its gaps."""
    from scipy.interpolate import make_interp_spline
    good = np.all(np.isfinite(log.position), axis=1)
    own, rows = np.unique(log.stamps[good], return_index=True)
    if len(own) < 4:
        raise RecordingError(f'has {len(own)} rows of links', subject=log.source,
                             remedy='record links and motors at the same time')
    origin = own[0]
    seconds, at = (own - origin) * 1e-9, (stamps - origin) * 1e-9
    after = np.clip(np.searchsorted(own, stamps), 1, len(own) - 1)
    width = seconds[after] - seconds[after - 1]
    far = ((at < seconds[0]) | (at > seconds[-1])
           | (width > GAP_PERIODS * np.median(np.diff(seconds))))
    position = make_interp_spline(seconds, log.position[good][rows], k=3)(at)
    position[far] = np.nan
    others = [np.stack([np.interp(at, seconds, column) for column in array[good][rows].T], axis=1)
              for array in (log.velocity, log.effort)]
    return position, *others


def _read(path: Path, names: Sequence[str], settings: DatasetSettings, topic: str | None,
          required: Sequence[str], rename: Mapping[str, str] | None = None) -> Log:
    rename = settings.names if rename is None else rename
    if settings.files:
        folder = path if path.is_dir() else path.parent
        files = {quantity: folder / str(name) for quantity, name in settings.files.items()}
        return read_csv(files, names, rename, settings.rate, settings.keys, required)
    if path.suffix.lower() in TABLES:
        return read_csv({'all': path}, names, rename, settings.rate, settings.keys, required)
    if path.suffix.lower() == '.npz':
        return read_npz(path, names, rename, settings.keys, settings.rate, required)
    return read_bag(path, names, rename, settings.topic if topic is None else topic)
