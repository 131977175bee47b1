# SPDX-License-Identifier: Apache-2.0
"""Logs of robots with elastic joints: positions of links and motors, efforts of motors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import DimensionError, Finding, RecordingError, Severity
from robot_dynamics.identification.dataset.cleaning import clean
from robot_dynamics.identification.dataset.dataset import Dataset, Segment
from robot_dynamics.identification.dataset.log import Log, stamps_of
from robot_dynamics.identification.elastic.encoders import Encoders, require_fit
from robot_dynamics.identification.elastic.reading import (
    ElasticDatasetSettings,
    joined,
    read_sides,
    require_same_motion,
)
from robot_dynamics.model.arrays import FloatArray, real_array


@dataclass(frozen=True, eq=False)
class ElasticDataset:
    """Motion of links and motors, and efforts on both.

    Parameters
    ----------
    dataset : Dataset
        Its joints are the coordinates that are measured, links before motors: positions of
        links and of motors over their gear ratios; efforts S^T tau (see `encoders`), those
        on links from outside being zero where they are not measured. rad, N m or m, N.
    encoders : Encoders
        Which links and motors are measured.
    """

    dataset: Dataset
    encoders: Encoders

    @property
    def source(self) -> str:
        """Where it came from."""
        return self.dataset.source

    def with_rigid(self, joints: Sequence[int]) -> ElasticDataset:
        """Return the same without the encoders of some links, as if their springs were rigid.

        Efforts on these links then act on their motors.
        """
        n, encoders = self.encoders.n, self.encoders
        links = tuple(has and k not in joints for k, has in enumerate(encoders.links))
        left = Encoders(links, encoders.motors)
        # Efforts S^T tau of the fewer coordinates are sums of those of the more.
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
        the settings. Motors are joints called ``motor_<joint>``, in the joint states of the
        links or in a topic of their own.
    robot : ElasticRobot
        The robot.
    settings : ElasticDatasetSettings, optional
        What is unusual about the log.

    Raises
    ------
    RecordingError
        When it cannot be read, or next to nothing of it can be used.
    """
    settings = ElasticDatasetSettings() if settings is None else settings
    links, motors = read_sides(Path(source), robot, settings)
    return _from_logs(links, motors, robot, settings)


def elastic_dataset_from_arrays(
        robot: ElasticRobot, time: ArrayLike, effort: ArrayLike, *, q: ArrayLike | None = None,
        theta: ArrayLike | None = None, v: ArrayLike | None = None,
        theta_dot: ArrayLike | None = None, link_effort: ArrayLike | None = None,
        settings: ElasticDatasetSettings | None = None) -> ElasticDataset:
    """Make a dataset of arrays, in the same way as of a file.

    Parameters
    ----------
    robot : ElasticRobot
        The robot.
    time : array_like, shape (N,)
        s.
    effort : array_like, shape (N, n)
        Of the motors: u, or as the settings say.
    q, theta : array_like, shape (N, n), optional
        Positions of links and of motors, the latter over their gear ratios, or as the
        settings say; one of them may be missing.
    v, theta_dot : array_like, shape (N, n), optional
        Their velocities, where they were measured.
    link_effort : array_like, shape (N, n), optional
        J^T h_e, efforts on the links from outside; zero if not given.
    settings : ElasticDatasetSettings, optional
        As in `load_elastic_dataset`.
    """
    settings = ElasticDatasetSettings() if settings is None else settings
    if q is None and theta is None:
        raise DimensionError('are both missing', subject='q and theta',
                             remedy='give positions of links, of motors, or of both')
    clock = real_array(time, 'time')
    given = {'q': q, 'theta': theta, 'v': v, 'theta_dot': theta_dot, 'effort': effort,
             'link_effort': link_effort}
    arrays = {name: None if value is None else real_array(value, name)
              for name, value in given.items()}
    shape = (len(clock), robot.n) if clock.ndim == 1 else None
    for name, array in arrays.items():
        if array is not None and array.shape != shape:
            raise DimensionError(f'has shape {array.shape}', subject=name,
                                 remedy=f'give one row of {robot.n} numbers for each time')
    stamps, good = stamps_of(clock)
    dropped = {'rows without a time': int(np.count_nonzero(~good))}

    def log(position: str, velocity: str, force: str) -> Log | None:
        if arrays[position] is None:
            return None
        empty = np.full(shape, np.nan)
        return Log(robot.links.joint_names, stamps,
                   *(empty[good] if arrays[key] is None else arrays[key][good]
                     for key in (position, velocity, force)), dropped, 'arrays')

    links, motors = log('q', 'v', 'link_effort'), log('theta', 'theta_dot', 'effort')
    settings = replace(settings, has_link_efforts=link_effort is not None)
    if motors is None:
        links = replace(links, effort=arrays['effort'][good])
        settings = replace(settings, encoders='links')
    elif links is None:
        settings = replace(settings, encoders='motors')
    return _from_logs(links, motors, robot, settings)


def _from_logs(links: Log | None, motors: Log | None, robot: ElasticRobot,
               settings: ElasticDatasetSettings) -> ElasticDataset:
    """Convert to q, theta and S^T tau, and clean."""
    n, joints = robot.n, robot.joints
    motor_scale, effort_scale = settings.scales(joints.gear_ratio)
    links, motors = (_in_units(log, settings, scale) for log, scale in
                     ((links, np.ones(n)), (motors, motor_scale)))
    if motors is not None:
        motors = replace(motors, effort=motors.effort * effort_scale)
    if links is None:
        log, encoders = motors, Encoders.of_motors(n)
    elif motors is None:
        log, encoders = replace(links, effort=links.effort * effort_scale), Encoders.of_links(n)
    else:
        is_told = settings.has_link_efforts and not np.all(np.isnan(links.effort))
        outside = links.effort if is_told else np.zeros_like(links.effort)
        log = joined(replace(links, effort=outside), motors)
        require_same_motion(log, joints.gear_ratio)
        encoders = Encoders.both(n)
    require_fit(encoders, robot)
    if np.all(np.isnan(log.effort[:, -n:])):
        raise RecordingError('tells no effort of the motors', subject=log.source,
                             remedy='record the efforts of motors with their positions')
    names = encoders.names(robot)
    cleaned = clean(log, np.zeros(len(names), dtype=bool), times=settings.log.times)
    bounds = [*cleaned.starts, len(cleaned.time)]
    segments = tuple(Segment(cleaned.time[a:b], cleaned.position[a:b], cleaned.velocity[a:b],
                             cleaned.effort[a:b]) for a, b in pairwise(bounds))
    findings = tuple(Finding(Severity.INFO, log.source, f'{count} {reason}')
                     for reason, count in cleaned.counts.items())
    return ElasticDataset(
        Dataset(names, segments, cleaned.period, np.eye(len(names)), names,
                bool(np.all(np.isfinite(cleaned.velocity))), counts=cleaned.counts,
                findings=findings, source=log.source, velocity_source=settings.log.velocity),
        encoders)


def _in_units(log: Log | None, settings: ElasticDatasetSettings, scale: FloatArray) -> Log | None:
    """Return positions and velocities of a side in rad or m, seen from the joints."""
    if log is None:
        return None
    n = len(scale)
    scale = scale * settings.log.of_joints('position_scale', n)
    return replace(log, velocity=log.velocity * scale, position=log.position * scale
                   + settings.log.of_joints('position_offset', n))
