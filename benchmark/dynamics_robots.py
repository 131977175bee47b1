# SPDX-License-Identifier: Apache-2.0
"""The robots of the dynamics benchmark, for us and for Pinocchio, from the same URDFs."""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot

DESCRIPTIONS = Path(sysconfig.get_path('purelib'),
                    'cmeel.prefix/share/example-robot-data/robots')
URDFS = {
    'UR5': 'ur_description/urdf/ur5_joint_limited_robot.urdf',
    'Panda': 'panda_description/urdf/panda.urdf',
    'Talos reduced': 'talos_data/robots/talos_reduced.urdf',
}
#: Robots that other benchmarks ask for.
MORE_URDFS = {'UR10': 'ur_description/urdf/ur10_joint_limited_robot.urdf'}
#: Place of each of our ten parameters among Pinocchio's.
PARAMETER_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


@dataclass(frozen=True)
class Subject:
    """One robot in both programs.

    ``order[k]`` is our joint number of Pinocchio's joint k.
    """

    name: str
    dynamics: Dynamics
    model: pinocchio.Model
    data: pinocchio.Data
    order: list[int]


def load(name: str) -> Subject:
    """Read a URDF of the example-robot-data package, mimic joints as joints of their own."""
    text = (DESCRIPTIONS / (URDFS | MORE_URDFS)[name]).read_text()
    text = re.sub(r'<mimic\s[^>]*>', '', text)
    robot = Robot.from_urdf(text)
    model = pinocchio.buildModelFromXML(text)
    order = [robot.joint_names.index(joint) for joint in list(model.names)[1:]]
    return Subject(name, Dynamics(robot), model, model.createData(), order)


def worst_disagreement(subject: Subject) -> float:
    """Largest difference between both programs' regressors and matrices at some states."""
    dynamics, model, data, order = subject.dynamics, subject.model, subject.data, subject.order
    n = dynamics.n
    rng = np.random.default_rng(0)
    worst = 0.0
    for q, v, a in rng.uniform(-1.0, 1.0, (5, 3, n)):
        Q, V, A = q[order], v[order], a[order]
        Y = pinocchio.computeJointTorqueRegressor(model, data, Q, V, A).reshape(n, n, 10)
        ours = dynamics.regressor(q, v, a).reshape(n, n, 10)[np.ix_(order, order)]
        M, C, g = dynamics.matrices(q, v)
        upper = np.triu(pinocchio.crba(model, data, Q))
        pairs = ((ours, Y[..., PARAMETER_ORDER]),
                 (M[np.ix_(order, order)], upper + np.triu(upper, 1).T),
                 (C[np.ix_(order, order)], pinocchio.computeCoriolisMatrix(model, data, Q, V)),
                 (g[order], pinocchio.computeGeneralizedGravity(model, data, Q)))
        worst = max(worst, *(float(np.max(np.abs(x - y))) for x, y in pairs))
    return worst
