# SPDX-License-Identifier: Apache-2.0
"""Trajectories as they come from a topic, and the arms that they are for."""

from __future__ import annotations

from array import array
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzzing import odd
from fuzzing.judge import ACCEPTED, promise
from fuzzing.kind import Drawn
from fuzzing.seeds import REPOSITORY
from robot_dynamics.control.motion.trajectory import TrajectoryBuffer
from robot_dynamics.control.motion.trajectory_points import TrajectoryPoint
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

#: Arms with revolute, prismatic, continuous and mimic joints.
ARMS = ('planar_2r', 'rpr', 'arm7', 'mimic')


@cache
def arm_called(name: str) -> Robot:
    """Return an arm that joint states are of: revolute, prismatic, continuous and mimic joints."""
    if name == 'mimic':
        return Robot.from_urdf(REPOSITORY / 'test' / 'cases' / 'urdf_mimic' / 'mimic.urdf')
    return Robot.from_urdf(resolve_robot(name))


class Trajectories(Drawn):
    """Trajectories, one after the other, for a buffer that others were accepted by."""

    name = 'trajectories'
    text = 'trajectories'
    share = 1200

    def strategy(self) -> st.SearchStrategy[Any]:
        """Return the name of a robot and some trajectories."""
        return st.tuples(st.sampled_from(ARMS), st.lists(trajectories(), min_size=1, max_size=4))

    def run(self, item: tuple[str, list[dict[str, Any]]]) -> str:
        """Accept what can be; the motion has to stay finite and within limits."""
        name, given = item
        arm = arm_called(name)
        buffer = TrajectoryBuffer.for_robot(arm)
        buffer.anchor(middle_pose(arm))
        now, refused = 10.0, None
        for trajectory in given:
            try:
                buffer.accept(*points(trajectory, arm), stamp=start_stamp(trajectory, now),
                              now=now, measured=buffer.sample(now)[0])
            except TrajectoryError as error:
                refused = error
            for step in (0.0, 0.001, 0.1, 1.0, 700.0, 1e6):
                _check_motion(arm, *buffer.sample(now + step))
            now += 0.05
        if refused is not None:
            raise refused
        return ACCEPTED


def trajectories() -> st.SearchStrategy[dict[str, Any]]:
    """Return trajectories: half of them with one mistake at most."""
    regular = st.tuples(st.floats(0.1, 2.0), st.integers(1, 6)).map(
        lambda grid: [grid[0] * k for k in range(1, 1 + grid[1])])
    uneven = st.lists(st.floats(0.001, 2.0) | durations(), max_size=6).map(
        lambda steps: list(accumulate(steps)))
    mistake = st.tuples(st.integers(0, 5), numbers(),
                        st.sampled_from(('positions', 'velocities', 'accelerations')))
    small, fields = st.floats(-0.03, 0.03), st.integers(1, 3)
    good = st.fixed_dictionaries({
        'stamp': st.sampled_from((None, 0.0, 0.1, -0.01)), 'names': st.none(), 'times': regular,
        'step': small, 'odd': st.just([]) | st.lists(mistake, max_size=1), 'fields': fields})
    rough = st.fixed_dictionaries({
        'stamp': durations(), 'names': names(),
        'times': regular | uneven | st.lists(durations(), max_size=6),
        'step': small | floats(), 'odd': st.lists(mistake, max_size=2), 'fields': fields})
    return st.booleans().flatmap(lambda is_good: good if is_good else rough)


def points(trajectory: dict[str, Any], arm: Robot) -> tuple[list[str], list[TrajectoryPoint]]:
    """Return names and points: a slow motion from the pose, but for what is odd."""
    joints = trajectory['names'] or list(arm.joint_names)
    pose, n, step = middle_pose(arm), len(joints), trajectory['step']
    rows = []
    for k, t in enumerate(trajectory['times']):
        with np.errstate(all='ignore'):
            q = np.resize(pose, n) + step * k
        fields = {'positions': q, 'velocities': np.full(n, 0.0), 'accelerations': np.zeros(n)}
        fields = dict(list(fields.items())[:trajectory['fields']])
        for place, values, field in trajectory['odd']:
            if place == k:
                fields[field] = array('d', values)
        rows.append(TrajectoryPoint(t, **fields))
    return joints, rows


def start_stamp(trajectory: dict[str, Any], now: float) -> float | None:
    """Return the stamp of a trajectory, drawn as a distance from now; None for none. s."""
    stamp = trajectory['stamp']
    return stamp and now + stamp


def middle_pose(arm: Robot) -> FloatArray:
    """Return a pose in the middle of all limits."""
    with np.errstate(invalid='ignore'):
        middle = 0.5 * (arm.limits.lower + arm.limits.upper)
    return np.where(np.isfinite(middle), middle, 0.0)


def _check_motion(arm: Robot, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
    """Raise unless a motion is finite and within the limits."""
    promise(bool(np.all(np.isfinite((q, v, a)))), 'the motion is not finite')
    promise(bool(np.all((q >= arm.limits.lower - 2e-6) & (q <= arm.limits.upper + 2e-6))),
            'the motion leaves its range')
    promise(not np.any(np.abs(v) > (1.0 + 2e-6) * arm.limits.velocity), 'the motion is too fast')


def floats() -> st.SearchStrategy[float]:
    """Return any numbers, half of them such as an arm may have."""
    return st.floats() | st.floats(-3.0, 3.0)


def durations() -> st.SearchStrategy[float]:
    """Return times in s, usual and impossible ones."""
    return st.floats() | st.sampled_from(
        (0.0, 1e-9, 0.001, 0.05, 0.3, 5.0, -0.001, -5.0, 1e5, 1e9))


def numbers() -> st.SearchStrategy[list[float]]:
    """Return the numbers of a field: too few, too many, or those of seven joints."""
    return st.lists(floats(), max_size=8) | st.lists(st.just(0.1), min_size=7, max_size=7)


def names() -> st.SearchStrategy[list[str] | None]:
    """Return names of joints; None for those of the arm."""
    return st.none() | st.none() | st.lists(
        st.sampled_from(('joint1', 'joint2', 'joint3')) | st.sampled_from(odd.NAMES) | st.text(),
        max_size=8) | st.sampled_from((['joint1'] * 5000, [f'j{k}' for k in range(20_000)]))
