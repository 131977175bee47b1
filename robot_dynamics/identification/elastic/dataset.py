# SPDX-License-Identifier: Apache-2.0
"""Logs of robots with elastic joints: positions of links and motors, efforts of motors.

Links and motors are read separately and put on common times. A YAML file may contain, beside
the settings of `robot_dynamics.identification.dataset.settings`::

    encoders: both               # both, links or motors
    links: {topic: joint_states, efforts: false}
    motors: {topic: motor_states, prefix: motor_}
    position: {side: motor}      # angles of the motor shafts, not divided by gear ratios
    effort: {kind: motor_torque} # torques of the motor shafts
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import DimensionError, Finding, ParameterError, RecordingError, Severity
from robot_dynamics.identification.dataset.dataset import (
    Dataset,
    Segment,
    log_from_arrays,
    read_log,
    require_rows,
    segments_of,
)
from robot_dynamics.identification.dataset.log import GAP_PERIODS, Log, clean
from robot_dynamics.identification.dataset.settings import (
    DatasetSettings,
    from_sections,
    require_bool,
    require_choice,
    settings_from,
)
from robot_dynamics.identification.elastic.encoders import Encoders, require_fit
from robot_dynamics.identification.signals import by_lines
from robot_dynamics.model.arrays import FloatArray, IntArray, real_array

#: Measured sides.
SIDES = ('both', 'links', 'motors')
#: Fraction of equal stamps above which links and motors have the same times.
_SAME = 0.9
#: Ratio of the motions of motor and link, or its inverse, above which their units differ: no
#: spring deflects that much in phase.
MOST_GIVEN = 2.0
_SECTIONS = {'links': {'topic': 'link_topic', 'efforts': 'has_link_efforts'},
             'motors': {'topic': 'motor_topic', 'prefix': 'prefix'}}
# Correlation of motion in phase, and least motion of links to compare, rad or m.
_IN_STEP, _STANDS = 0.9, 1e-3


@dataclass(frozen=True, eq=False)
class ElasticDataset:
    """Motion of links and motors, and efforts on both.

    See Also
    --------
    load_elastic_dataset, identify_elastic
    """

    #: Its joints are the measured coordinates, links before motors: positions of links, and of
    #: motors divided by their gear ratios; efforts S^T tau (see `encoders`), with zero external
    #: efforts on links if these are not measured. rad, N m or m, N.
    dataset: Dataset
    #: Measured links and motors.
    encoders: Encoders

    @property
    def source(self) -> str:
        """Origin of the log."""
        return self.dataset.source

    def with_rigid(self, joints: Sequence[int]) -> ElasticDataset:
        """Copy without the encoders of some links, as if their springs were rigid.

        Efforts on these links then act on their motors.
        """
        n, encoders = self.encoders.n, self.encoders
        links = tuple(has and k not in joints for k, has in enumerate(encoders.links))
        left = Encoders(links, encoders.motors)
        # Efforts S^T tau of fewer coordinates are sums of the efforts of more coordinates.
        together = np.zeros((len(encoders.measured), len(left.measured)))
        for row, coordinate in enumerate(encoders.measured):
            kept = coordinate if coordinate in left.measured else coordinate + n
            together[row, np.searchsorted(left.measured, kept)] = 1.0
        rows = np.searchsorted(encoders.measured, left.measured)
        names = tuple(self.dataset.joint_names[row] for row in rows)
        segments = tuple(Segment(one.time, one.position[:, rows], one.velocity[:, rows],
                                 one.effort @ together) for one in self.dataset.segments)
        return ElasticDataset(replace(self.dataset, joint_names=names, segments=segments,
                                      axes=np.eye(len(names)), axis_names=names), left)


def load_elastic_dataset(source: str | Path, robot: ElasticRobot,
                         settings: ElasticDatasetSettings | None = None) -> ElasticDataset:
    """Read a log of the links and motors of a robot.

    Parameters
    ----------
    source : str or Path
        A rosbag2 recording, a ``.csv`` or ``.npz`` file, or a folder with the ``files`` of
        the settings. Motors are joints named ``motor_<joint>``, in the joint states of the links
        or in a topic of their own.
    robot : ElasticRobot
        The robot.
    settings : ElasticDatasetSettings, optional
        Properties of the log.

    Raises
    ------
    RecordingError
        If the log cannot be read, or has next to no usable rows.

    See Also
    --------
    elastic_dataset_from_arrays, identify_elastic

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.elastic.robot import ElasticJoints, ElasticRobot
    >>> from robot_dynamics.identification import load_elastic_dataset
    >>> links = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> robot = ElasticRobot(links, ElasticJoints([50.0, 50.0], [0.01, 0.01], [500.0, 500.0]))
    >>> t = np.arange(0.0, 2.0, 0.01)
    >>> q = np.sin(np.outer(t, [1.0, 2.0, 1.0, 2.0]))
    >>> path = Path(tempfile.mkdtemp()) / 'log.npz'
    >>> names = [*links.joint_names, *(f'motor_{name}' for name in links.joint_names)]
    >>> np.savez(path, names=names, time=t, position=q, effort=np.cos(q))
    >>> load_elastic_dataset(path, robot).dataset.count
    200
    """
    settings = ElasticDatasetSettings() if settings is None else settings
    return _from_logs(*read_sides(Path(source), robot, settings), robot, settings)


def elastic_dataset_from_arrays(
        robot: ElasticRobot, time: ArrayLike, effort: ArrayLike, *, q: ArrayLike | None = None,
        theta: ArrayLike | None = None, v: ArrayLike | None = None,
        theta_dot: ArrayLike | None = None, link_effort: ArrayLike | None = None,
        settings: ElasticDatasetSettings | None = None) -> ElasticDataset:
    """Dataset of arrays, cleaned and converted as that of a file.

    Parameters
    ----------
    robot : ElasticRobot
        The robot.
    time : array_like, shape (N,)
        s.
    effort : array_like, shape (N, n)
        Efforts of the motors: u, or as the settings specify.
    q, theta : array_like, shape (N, n), optional
        Positions of links, and of motors divided by their gear ratios or as the settings
        specify; one of them may be missing.
    v, theta_dot : array_like, shape (N, n), optional
        Their velocities, if measured.
    link_effort : array_like, shape (N, n), optional
        J^T h_e, external efforts on the links; zero if not given.
    settings : ElasticDatasetSettings, optional
        See `load_elastic_dataset`.

    See Also
    --------
    load_elastic_dataset, identify_elastic

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.elastic.robot import ElasticJoints, ElasticRobot
    >>> from robot_dynamics.identification import elastic_dataset_from_arrays
    >>> robot = ElasticRobot(Robot.from_urdf('urdf/planar_2r.urdf'),
    ...                      ElasticJoints([50.0, 50.0], [1e-4, 1e-4], [500.0, 500.0]))
    >>> t = np.arange(0.0, 2.0, 0.01)
    >>> q, u = np.sin(np.outer(t, [1.0, 2.0])), np.cos(np.outer(t, [1.0, 2.0]))
    >>> data = elastic_dataset_from_arrays(robot, t, u, q=q, theta=q + u / 500.0)
    >>> data.dataset.joint_names[:2] == robot.links.joint_names
    True
    """
    settings = ElasticDatasetSettings() if settings is None else settings
    if q is None and theta is None:
        raise DimensionError('are both missing', subject='q and theta',
                             remedy='give positions of links, of motors, or of both')
    clock = real_array(time, 'time')
    given = {'q': q, 'theta': theta, 'v': v, 'theta_dot': theta_dot, 'effort': effort,
             'link_effort': link_effort}
    arrays = {name: real_array(value, name) for name, value in given.items() if value is not None}
    require_rows(arrays, clock, robot.n)

    def log(position: str, velocity: str, force: str) -> Log | None:
        if position not in arrays:
            return None
        keys = {'position': position, 'velocity': velocity, 'effort': force}
        return log_from_arrays(robot.links.joint_names, clock, {
            name: arrays[key] for name, key in keys.items() if key in arrays})

    links, motors = log('q', 'v', 'link_effort'), log('theta', 'theta_dot', 'effort')
    settings = replace(settings, has_link_efforts=link_effort is not None)
    if motors is None:
        links = log('q', 'v', 'effort')
        settings = replace(settings, encoders='links')
    elif links is None:
        settings = replace(settings, encoders='motors')
    return _from_logs(links, motors, robot, settings)


def _from_logs(links: Log | None, motors: Log | None, robot: ElasticRobot,
               settings: ElasticDatasetSettings) -> ElasticDataset:
    """Convert to q, theta and S^T tau, and clean."""
    n, joints = robot.n, robot.joints
    motor_scale, effort_scale = settings.scales(joints.gear_ratio)
    if links is not None:
        links = _in_units(links, settings, np.ones(n))
    if motors is not None:
        motors = _in_units(motors, settings, motor_scale)
        log, encoders = replace(motors, effort=motors.effort * effort_scale), \
            Encoders.of_motors(n)
    if links is not None and motors is None:
        log, encoders = replace(links, effort=links.effort * effort_scale), Encoders.of_links(n)
    elif links is not None:
        is_measured = settings.has_link_efforts and not np.all(np.isnan(links.effort))
        outside = links.effort if is_measured else np.zeros_like(links.effort)
        log = joined(replace(links, effort=outside), log)
        require_same_motion(log, joints.gear_ratio)
        encoders = Encoders.both(n)
    require_fit(encoders, robot)
    if np.all(np.isnan(log.effort[:, -n:])):
        raise RecordingError('has no efforts of the motors', subject=log.source,
                             remedy='record the efforts of motors with their positions')
    names = encoders.names(robot)
    cleaned = clean(log, np.zeros(len(names), dtype=bool), times=settings.log.times)
    segments = segments_of(cleaned, cleaned.position, cleaned.velocity, cleaned.effort)
    findings = tuple(Finding(Severity.INFO, log.source, f'{count} {reason}')
                     for reason, count in cleaned.counts.items())
    return ElasticDataset(
        Dataset(names, segments, cleaned.period, np.eye(len(names)), names,
                bool(np.all(np.isfinite(cleaned.velocity))), counts=cleaned.counts,
                findings=findings, source=log.source, velocity_source=settings.log.velocity),
        encoders)


def _in_units(log: Log, settings: ElasticDatasetSettings, scale: FloatArray) -> Log:
    """Log with positions and velocities in rad or m, on the side of the joints."""
    n = len(scale)
    scale = scale * settings.log.of_joints('position_scale', n)
    return replace(log, velocity=log.velocity * scale, position=log.position * scale
                   + settings.log.of_joints('position_offset', n))


@dataclass(frozen=True, eq=False)
class ElasticDatasetSettings:
    """Settings of a log of links and motors."""

    #: As for rigid robots; side of positions and kind of efforts are those of motors. Gear ratios
    #: are properties of the robot.
    log: DatasetSettings = field(default_factory=DatasetSettings)
    #: Measured sides: ``both``, ``links`` or ``motors``.
    encoders: str = 'both'
    #: Topics of a recording; by default those that name the joints.
    link_topic: str | None = None
    motor_topic: str | None = None
    #: Prefix of the names of motors.
    prefix: str = 'motor_'
    #: Whether the efforts of links are external ones, J^T h_e. Most drivers report efforts of
    #: springs or motors there; external efforts are then zero.
    has_link_efforts: bool = False

    def __post_init__(self) -> None:
        require_choice('encoders', self.encoders, SIDES)
        for name in ('link_topic', 'motor_topic', 'prefix'):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ParameterError(f'must be a name, got {value!r}', subject=name,
                                     remedy='correct it')
        require_bool('links.efforts', self.has_link_efforts)
        if self.log.unsigned_bits is not None:
            raise ParameterError('is not available for elastic joints',
                                 subject='effort.unsigned_bits', remedy='leave it out')
        if self.log.coupling is not None or np.any(np.asarray(self.log.gear_ratio) != 1.0):
            raise ParameterError('must not be set for elastic joints',
                                 subject='effort.gear_ratio or coupling',
                                 remedy='give it in the description of the elastic joints')

    def scales(self, gear_ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Factors of positions and of efforts of motors, shape (n,) each."""
        n, log = len(gear_ratio), self.log
        position = 1.0 / gear_ratio if log.position_side == 'motor' else np.ones(n)
        effort = log.of_joints('sign', n)
        if log.effort_kind == 'gravity_compensated':
            raise ParameterError('must be torque, motor_torque or current, got '
                                 + log.effort_kind, subject='effort.kind',
                                 remedy='give efforts of motors')
        if log.effort_kind == 'current':
            effort = effort * log.of_joints('torque_constant', n)
        if log.effort_kind != 'torque':
            effort = effort * gear_ratio
        return position, effort


def elastic_settings_from(content: Any) -> ElasticDatasetSettings:
    """Settings from the content of a YAML file; unknown keys are rejected."""
    return ElasticDatasetSettings(settings_from(content), content.get('encoders', 'both'),
                                  **from_sections(content, _SECTIONS, 'settings'))


def read_sides(path: Path, robot: ElasticRobot, settings: ElasticDatasetSettings
               ) -> tuple[Log | None, Log | None]:
    """Logs of links and of motors; None for a side that is not measured.

    If only links are measured, their efforts are those of the motors.
    """
    joints = robot.links.joint_names
    motors = tuple(settings.prefix + name for name in joints)
    links_log = motors_log = None
    if settings.encoders != 'motors':
        required = ('position', 'effort') if settings.encoders == 'links' else ('position',)
        links_log = read_log(path, joints, settings.log, topic=settings.link_topic,
                             required=required)
    if settings.encoders != 'links':
        rename = dict(settings.log.names)
        if settings.motor_topic is not None:
            # In a separate topic, motors may have the names of their joints.
            rename.update({rename.get(name, name): motor
                           for name, motor in zip(joints, motors, strict=True)})
        try:
            motors_log = read_log(path, motors, settings.log, topic=settings.motor_topic,
                                  rename=rename)
        except RecordingError as error:
            if links_log is None:
                raise
            # Links were read, so that only the motors are missing.
            raise RecordingError(
                f'has no states of the motors: {error.message}', subject=error.subject,
                remedy=f'record the states of the motors, give motors.topic or motors.prefix, or '
                       f'set encoders: links if only links have encoders; {error.remedy}'
            ) from error
    return links_log, motors_log


def joined(links: Log, motors: Log) -> Log:
    """Both sides in the rows of the motors, links before motors.

    If the stamps, which count from the same origin, differ, the links are interpolated by cubics;
    positions in gaps of the links are nan.
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
    position, velocity, effort = (np.concatenate(pair, axis=1)
                                  for pair in zip(*sides, strict=True))
    return Log(links.names + motors.names, stamps, position, velocity, effort, dropped,
               motors.source)


def require_same_motion(log: Log, gear_ratio: FloatArray) -> None:
    """Raise RecordingError for motors that move with their links in another unit or direction."""
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
                remedy=f'set position: {{side: motor}} for angles of shafts (its gear ratio is '
                       f'{ratio:g}), correct gear_ratio, or names')


def _at(stamps: IntArray, log: Log) -> tuple[FloatArray, ...]:
    """Positions, velocities and efforts of a log at other times, nan in its gaps."""
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
    return position, *(by_lines(at, seconds, x[good][rows]) for x in (log.velocity, log.effort))
