# SPDX-License-Identifier: Apache-2.0
"""``Plant``: a robot in MuJoCo with the interface of an effort-controlled arm."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import DimensionError, SimulationError, install_line
from robot_dynamics.model.arrays import FloatArray, real_array
from robot_dynamics.model.robot import Robot
from robot_dynamics.simulation.mjcf import (
    leading_bodies,
    principal_inertia,
    quaternion,
    robot_to_mjcf,
)


def import_mujoco() -> ModuleType:
    """The module mujoco, imported on first use: only simulation needs it."""
    try:
        import mujoco
    except ImportError as error:
        raise SimulationError('is needed by the simulated arm, but is not installed',
                              subject='mujoco', remedy=install_line('mujoco')) from error
    return mujoco


def require_positive(name: str, value: float) -> None:
    """Raise SimulationError unless a value is positive and finite."""
    if not (np.isfinite(value) and value > 0.0):
        raise SimulationError(f'must be a positive number, got {value}', subject=name,
                              remedy='give a small one, e.g. 0.0005')


def no_mass(joint: str) -> SimulationError:
    """Error for a joint without positive inertia."""
    return SimulationError('moves no mass or a negative one, so its acceleration is undefined',
                           subject=joint, remedy='give its link an inertia, including rotors that '
                                                 'it carries, or lock the joint')


class EffortDriven:
    """Time and efforts of a simulated arm."""

    def __init__(self, robot: Robot, timestep: float, effort_gain: ArrayLike):
        require_positive('timestep', timestep)
        self.robot = robot
        self.timestep = float(timestep)
        self._gain = np.broadcast_to(real_array(effort_gain, 'effort_gain'), robot.n).copy()
        self._limit = np.where(np.isnan(robot.limits.effort), np.inf, robot.limits.effort)
        self._effort = np.zeros(robot.n)
        self._steps = 0

    @property
    def time(self) -> float:
        """Simulated time since the last reset, a whole number of steps. s."""
        return self._steps * self.timestep

    @property
    def effort(self) -> FloatArray:
        """Effort of the drives, after their limits, shape (n,), a copy. N m or N."""
        return self._effort.copy()

    def set_effort(self, tau: ArrayLike) -> None:
        """Command joint efforts, shape (n,), N m or N, to act until the next call.

        Raises
        ------
        SimulationError
            If a value is not finite; the previous effort is kept.
        """
        tau = self._vector(tau, 'effort command')
        np.clip(tau, -self._limit, self._limit, out=self._effort)
        self._act(self._gain * self._effort)

    def advance(self, seconds: float | None = None, *, steps: int | None = None) -> int:
        """Simulate for a time or a number of steps; returns the number of steps.

        Parameters
        ----------
        seconds : float, optional
            Duration, rounded to whole steps. s.
        steps : int, optional
            Number of steps, if no duration is given.

        Raises
        ------
        SimulationError
            If the state is no longer finite.
        """
        if seconds is not None and steps is None:
            steps = round(seconds / self.timestep)
        elif seconds is not None or steps is None:
            raise SimulationError('must have either a duration or a number of steps',
                                  subject='advance', remedy='give one of seconds and steps')
        if steps <= 0:
            return 0
        self._simulate(steps)
        return steps

    def _act(self, tau: FloatArray) -> None:
        """Let efforts act on the joints."""
        raise NotImplementedError

    def _simulate(self, count: int) -> None:
        """Take some steps, and check the state."""
        raise NotImplementedError

    def _resting(self) -> FloatArray:
        """The position within the limits that is nearest to zero, shape (n,)."""
        return np.clip(0.0, self.robot.limits.lower, self.robot.limits.upper)

    def _diverged(self) -> SimulationError:
        return SimulationError('has a simulated motion that diverged', subject=self.robot.name,
                               remedy='lower the efforts or the timestep, or check masses and '
                                      'stiffness; then reset')

    def _vector(self, values: ArrayLike, subject: str) -> FloatArray:
        """A finite vector with one value per joint."""
        vector, names = real_array(values, subject), self.robot.joint_names
        if vector.shape != (len(names),):
            raise DimensionError(f'must have shape ({len(names)},), got {vector.shape}',
                                 subject=subject, remedy='give one value for each of: '
                                 + ', '.join(names))
        if not np.all(np.isfinite(vector)):
            joint = names[int(np.argmin(np.isfinite(vector)))]
            raise SimulationError('must be finite', subject=f'{subject} of {joint}',
                                  remedy='give finite values only')
        return vector


class Plant(EffortDriven):
    """A fixed-base robot simulated by MuJoCo, driven by joint efforts.

    An effort acts until another one is set, as a drive holds its last command. Efforts are cut at
    the robot's effort limits, as a drive limits its current; `effort` is the effort after that.

    Parameters
    ----------
    robot : Robot
        The true robot, which may differ from the model of a controller.
    timestep : float
        Simulation step. s.
    joint_limits : bool
        Whether the joints stop at their limits.
    effort_gain : float or array_like, shape (n,)
        True effort per commanded effort: 1.07 is a torque constant 7 % off. It is not part of
        `effort`.

    Raises
    ------
    SimulationError
        If MuJoCo is missing or cannot simulate the robot.

    See Also
    --------
    robot_dynamics.simulation.FaultyPlant : with actuator faults and pushes.
    robot_dynamics.simulation.ElasticPlant : with elastic joints.

    Examples
    --------
    A planar elbow falls for a tenth of a second:

    >>> from robot_dynamics.model.shipped import resolve_robot
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.simulation import Plant
    >>> plant = Plant(Robot.from_urdf(resolve_robot('planar_2r')))
    >>> plant.reset([0.5, 0.5])
    >>> plant.advance(0.1)
    200
    >>> bool(plant.q[0] < 0.5)
    True
    """

    def __init__(self, robot: Robot, *, timestep: float = 0.0005, joint_limits: bool = True,
                 effort_gain: ArrayLike = 1.0):
        super().__init__(robot, timestep, effort_gain)
        self._mujoco = import_mujoco()
        self._model = self._compile(joint_limits)
        self._data = self._mujoco.MjData(self._model)
        self._restore_inertias()
        joint_ids = [self._id('mjOBJ_JOINT', name) for name in robot.body_joint_names]
        self._body_qpos = self._model.jnt_qposadr[joint_ids]
        self._body_dof = self._model.jnt_dofadr[joint_ids]
        leaders = leading_bodies(robot)
        self._qpos, self._dof = self._body_qpos[leaders], self._body_dof[leaders]
        self.reset(self._resting())

    @property
    def q(self) -> FloatArray:
        """Joint positions, shape (n,), a copy. rad or m."""
        return self._data.qpos[self._qpos]

    @property
    def v(self) -> FloatArray:
        """Joint velocities, shape (n,), a copy. rad/s or m/s."""
        return self._data.qvel[self._dof]

    @property
    def acceleration(self) -> FloatArray:
        """Joint accelerations at this state and effort, shape (n,). rad/s^2 or m/s^2."""
        self._mujoco.mj_forward(self._model, self._data)
        return self._data.qacc[self._dof]

    @property
    def energy(self) -> float:
        """Kinetic plus potential energy at this state. J."""
        mujoco, model, data = self._mujoco, self._model, self._data
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_energyPos(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_energyVel(model, data)
        return float(data.energy[0] + data.energy[1])

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set position and velocity, zero by default; time zero, no effort.

        Parameters
        ----------
        q : array_like, shape (n,)
            Joint positions. rad or m.
        v : array_like, shape (n,), optional
            Joint velocities. rad/s or m/s.
        """
        q = self._vector(q, 'q')
        v = np.zeros(self.robot.n) if v is None else self._vector(v, 'v')
        self._mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[self._body_qpos] = self.robot.coupling @ q + self.robot.coupling_offset
        self._data.qvel[self._body_dof] = self.robot.coupling @ v
        self._steps = 0
        self.set_effort(np.zeros(self.robot.n))
        self._mujoco.mj_forward(self._model, self._data)

    def _act(self, tau: FloatArray) -> None:
        self._data.qfrc_applied[self._dof] = tau

    def _simulate(self, count: int) -> None:
        self._step(count)
        self._steps += count
        # After divergence MuJoCo resets the state and counts a warning.
        warnings = self._data.warning
        kinds = self._mujoco.mjtWarning
        for kind in (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC):
            if warnings[int(kind)].number:
                raise self._diverged()

    def _step(self, count: int) -> None:
        with _without_warnings(self._mujoco):
            self._mujoco.mj_step(self._model, self._data, count)

    def _compile(self, joint_limits: bool) -> Any:
        """Compile the robot with MuJoCo."""
        text = robot_to_mjcf(self.robot, timestep=self.timestep, joint_limits=joint_limits)
        try:
            return self._mujoco.MjModel.from_xml_string(text)
        except ValueError as error:
            raise SimulationError(f'cannot be simulated by MuJoCo ({error})',
                                  subject=self.robot.name,
                                  remedy='check its masses and inertias') from error

    def _restore_inertias(self) -> None:
        """Write the exact inertias, which MuJoCo's compiler may have changed.

        MuJoCo needs a positive definite mass matrix, but not physically consistent links, so that
        planar textbook arms with J_zz only are simulated unchanged.
        """
        model = self._model
        for body, name in enumerate(self.robot.body_names):
            index = self._id('mjOBJ_BODY', name)
            mass, centre, moments, axes = principal_inertia(self.robot.inertial_parameters[body])
            model.body_mass[index] = mass
            model.body_ipos[index] = centre
            model.body_iquat[index] = quaternion(axes)
            model.body_inertia[index] = moments
            # A hint of the compiler that the inertial frame is the link frame.
            model.body_sameframe[index] = 0
        with _without_warnings(self._mujoco):
            self._mujoco.mj_setConst(model, self._data)
            self._check_mass_matrix()

    def _check_mass_matrix(self) -> None:
        """Check that every motion moves mass, because accelerations are undefined otherwise."""
        model, data = self._model, self._data
        mujoco = self._mujoco
        mujoco.mj_forward(model, data)
        matrix = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, matrix)
        eigenvalues, vectors = np.linalg.eigh(matrix)
        if eigenvalues[0] <= 1e-12 * eigenvalues[-1]:
            worst = int(np.argmax(np.abs(vectors[:, 0])))
            joint = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT,
                                      int(model.dof_jntid[worst]))
            raise no_mass(joint)

    def _id(self, kind: str, name: str) -> int:
        """MuJoCo's index of a named body or joint."""
        return self._mujoco.mj_name2id(self._model, getattr(self._mujoco.mjtObj, kind), name)


@contextmanager
def _without_warnings(mujoco: ModuleType) -> Iterator[None]:
    """Keep MuJoCo from writing a log into the working directory; `Plant` raises errors."""
    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(_ignore)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(handler)


def _ignore(message: str) -> None:
    """Do nothing with a warning."""
