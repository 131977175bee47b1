# SPDX-License-Identifier: Apache-2.0
"""Whether a robot that was accepted can be used: finite equations, bounded commands."""

from __future__ import annotations

import numpy as np

from fuzzing.judge import BrokenPromiseError, promise
from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.session.session import ControlSession, SessionSettings
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot

#: Bodies above which the regressors, and commands, are left out: they take too long.
_FEW = 60
#: Farthest from zero that a joint is put. rad or m.
_FAR = 100.0


def check_robot(robot: Robot, seed: int) -> None:
    """Raise unless a robot is finite, can be computed with and can be written down."""
    try:
        _check_robot(robot, np.random.default_rng(seed))
    except RobotDynamicsError as error:
        raise BrokenPromiseError(f'accepted, and then: {error}') from error


def _check_robot(robot: Robot, random: np.random.Generator) -> None:
    q, v, a = _random_state(robot, random)
    dynamics = Dynamics(robot)
    results = {'torque': dynamics.inverse_dynamics(q, v, a), 'gravity': dynamics.gravity_torque(q),
               'pose': dynamics.forward_kinematics(q)}
    results['M'], results['C'], _ = dynamics.matrices(q, v)
    if robot.n_bodies <= _FEW:
        results['regressor'] = dynamics.regressor(q, v, a)
        results['jacobian'] = dynamics.jacobian(q, robot.body_names[-1])
        results['Yr'] = dynamics.slotine_li_regressor(q, v, v, a)
    for name, values in results.items():
        promise(bool(np.all(np.isfinite(values))), f'{name} is not finite')
    _accelerate(dynamics, q, v, results['torque'])
    for finding in robot.findings:
        promise(str(finding).isprintable() and len(str(finding)) <= 1000,
                f'a finding of {len(str(finding))} characters')
    _check_written(robot)
    if robot.n_bodies <= _FEW:
        check_commands(robot, q)


def _random_state(robot: Robot, random: np.random.Generator
                  ) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a position that the limits allow, a velocity and an acceleration."""
    v, a = random.normal(size=robot.n), random.normal(size=robot.n)
    if not robot.all_joints_1dof:
        return robot.integrate(robot.neutral(), random.normal(size=robot.n)), v, a
    lower = np.clip(robot.limits.lower, -_FAR, _FAR)
    upper = np.clip(robot.limits.upper, -_FAR, _FAR)
    return lower + random.uniform(size=robot.n) * (upper - lower), v, a


def _accelerate(dynamics: Dynamics, q: FloatArray, v: FloatArray, tau: FloatArray) -> None:
    """Check that acceleration is finite or refused."""
    try:
        acceleration = dynamics.forward_dynamics(q, v, tau)
    except RobotDynamicsError:
        return
    promise(bool(np.all(np.isfinite(acceleration))), 'the acceleration is not finite')


def _check_written(robot: Robot) -> None:
    """Check that what the exporter writes can be read again."""
    try:
        text = robot.to_urdf()
    except RobotDynamicsError:
        return
    again = Robot.from_urdf(text.encode(), gravity=robot.gravity)
    promise(sorted(again.joint_names) == sorted(robot.joint_names), 'other joints after to_urdf')


def check_commands(robot: Robot, q: FloatArray) -> None:
    """Check that commands to a robot at rest are finite and within limits, where there are any."""
    try:
        law = PDGravityController(robot, period=0.002)
        session = ControlSession(robot, law, SessionSettings(period=0.002))
    except RobotDynamicsError:
        return
    for k in range(1, 6):
        t = 0.002 * k
        command = session.on_joint_state(t, t, list(robot.joint_names), q, 0.0 * q, 0.0 * q)
        check_command(session, command)
        promise(session.reason.isprintable() and len(session.reason) <= 1000,
                f'a reason of {len(session.reason)} characters')


def check_command(session: ControlSession, command: object) -> None:
    """Check that a command, if there is one, is finite and within the limits."""
    if command is not None:
        effort = command.effort
        promise(bool(np.all(np.isfinite(effort))), 'a command is not finite')
        promise(bool(np.all(np.abs(effort) <= session.limiter.limit)), 'a command is too large')
