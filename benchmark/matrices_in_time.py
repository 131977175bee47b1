# SPDX-License-Identifier: Apache-2.0
"""What M, C and g cost with their time derivatives, in a process of its own: ``ROUNDS``.

A tree of 25 revolute joints, as Garofalo, Ott and Albu-Schaeffer had it in their humanoid.
Prints one line of JSON: medians in microseconds by name.
"""

from __future__ import annotations

import json
import sys
import timeit

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.robot_data import JointLimits

#: Length of a measurement. s.
SLICE = 4e-4


def humanoid() -> Robot:
    """Make a tree like that of the paper's robot: a waist, two legs and two arms of six joints."""
    rng = np.random.default_rng(0)
    parents = np.array([-1, *(6 * limb + joint if joint else 0
                              for limb in range(4) for joint in range(6))])
    n = len(parents)
    names = tuple(f'joint{i}' for i in range(n))
    placements = np.tile(np.eye(4), (n, 1, 1))
    placements[:, :3, :3] = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    placements[:, :3, :3] *= np.linalg.det(placements[:, :3, :3])[:, None, None]
    placements[:, :3, 3] = rng.uniform(-0.3, 0.3, (n, 3))
    no = np.full(n, np.nan)
    return Robot(
        name='humanoid', base_name='base', body_names=tuple(f'link{i}' for i in range(n)),
        body_joint_names=names, parents=parents, joint_types=np.zeros(n, int),
        placements=placements, axes=np.tile([0.0, 0.0, 1.0], (n, 1)),
        link_offsets=np.zeros((n, 3)),
        inertial_parameters=np.tile([2.0, 0.1, 0.0, 0.2, 0.1, 0.0, 0.01, 0.1, 0.0, 0.08], (n, 1)),
        gravity=(0.0, 0.0, -9.81), joint_names=names, coupling=np.eye(n),
        coupling_offset=np.zeros(n),
        limits=JointLimits(np.full(n, -np.inf), np.full(n, np.inf), no, no), damping=np.zeros(n),
        friction=np.zeros(n), armature=np.zeros(n))


def in_time(rounds: int) -> dict[str, float]:
    """Medians in microseconds for the tree of 25 joints, call by call from Python."""
    dynamics = Dynamics(humanoid())
    n = dynamics.n
    q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, n))
    three = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    six = (*three, np.zeros((n, n)), np.zeros((n, n)), np.zeros(n))
    calls = {
        'M, C and g': lambda: dynamics.matrices(q, v, three),
        'M, C and g and their time derivatives':
            lambda: dynamics.matrix_time_derivatives(q, v, a, six),
        'dM/dq, dC/dq, dC/dv and dg/dq': lambda: dynamics.state_derivatives(q, v),
        'dM/dpi, dC/dpi and dg/dpi': lambda: dynamics.parameter_derivatives(q, v),
    }
    times = {name: [] for name in calls}
    counts = {}
    for name, call in calls.items():
        call()
        counts[name] = max(3, int(SLICE / (timeit.timeit(call, number=3) / 3)))
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timeit.timeit(call, number=counts[name]) / counts[name] * 1e6)
    return {name: float(np.median(values)) for name, values in times.items()}


if __name__ == '__main__':
    print(json.dumps(in_time(int(sys.argv[1]))))
