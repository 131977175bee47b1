# SPDX-License-Identifier: Apache-2.0
"""A recording of an arm that runs now, without a file between."""

from __future__ import annotations

import io
import sys

import numpy as np

from robot_dynamics.bringup.progress import progress_bar
from robot_dynamics.bringup.running_system import running_system
from robot_dynamics.bringup.session import StopFlag
from robot_dynamics.identification.dataset.bags import JointStateCollector
from robot_dynamics.identification.dataset.log import Log
from robot_dynamics.identification.dataset.settings import DatasetSettings
from robot_dynamics.model.robot import Robot

#: What is kept beside the result, so that it can be identified again.
KEPT = 'recording.npz'


def live_log(robot: Robot, settings: DatasetSettings, seconds: float, namespace: str = '',
             domain: int | None = None) -> Log:
    """Listen to an arm for some time; the first Ctrl-C ends it early and keeps what there is.

    Parameters
    ----------
    robot : Robot
        Whose joints are wanted.
    settings : DatasetSettings
        What is special about its joint states; names and topic count here.
    seconds : float
        How long.
    namespace : str
        Where the arm is.
    domain : int, optional
        ROS domain; that of the environment, or the one in use on this machine, by default.

    Returns
    -------
    Log
        As if it had been recorded.
    """
    collector = JointStateCollector(robot.joint_names, settings.names)
    with running_system(domain) as number, StopFlag().listening() as stop:
        from robot_dynamics.nodes.observing.live_states import listen
        where = '' if number is None else f' in ROS domain {number}'
        print(f'listening to {settings.topic or "joint states"}{where} for {seconds:g} s from the '
              'first message on; Ctrl-C ends it early and keeps what there is', file=sys.stderr,
              flush=True)
        listen(seconds, collector.take, topic=settings.topic, namespace=namespace,
               domain=number, is_over=lambda: stop.is_set, progress=progress_bar())
    # A bar that was left in the middle has not ended its line.
    if stop.is_set and sys.stderr.isatty():
        print(file=sys.stderr)
    log = collector.log('live')
    print(f'heard {log.count:,} messages of {log.source.partition(":")[2]}', file=sys.stderr,
          flush=True)
    return log


def kept_file(log: Log) -> bytes:
    """Return a log as an NPZ archive that `load_dataset` reads with the same settings."""
    content = io.BytesIO()
    np.savez_compressed(content, time=1e-9 * (log.stamps - log.stamps[0]),
                        position=log.position, velocity=log.velocity, effort=log.effort,
                        names=np.array(log.names))
    return content.getvalue()
