# SPDX-License-Identifier: Apache-2.0
"""``FaultyPlant``: a simulated arm whose actuators fail, and that may be pushed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import finite_array
from robot_dynamics.errors import DimensionError, SimulationError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.simulation.faults import Fault, FaultKind
from robot_dynamics.simulation.plant import Plant

#: How exactly a blocked joint gets its velocity. rad/s or m/s.
_BLOCK_TOLERANCE = 1e-7
#: Trials of the effort that blocks it; two are enough without dry friction.
_BLOCK_TRIALS = 12
#: How often several blocked joints are gone through, and what is no change any more. N m or N.
_BLOCK_SWEEPS, _SAME_EFFORT = 30, 1e-6


class FaultyPlant(Plant):
    """A plant with actuator faults; without one it is a `Plant`.

    `effort` still tells what the drives believe to deliver: that is what makes a fault one.

    Parameters
    ----------
    robot : Robot
        The robot as it really is.
    **options
        As for `Plant`.
    """

    def __init__(self, robot: Robot, **options: Any):
        self._faults: list[Fault] = []
        self._slopes: dict[int, float] = {}
        self._pushes: list[tuple[float, float, int, FloatArray, FloatArray]] = []
        super().__init__(robot, **options)

    @property
    def faults(self) -> Sequence[Fault]:
        """Every fault, past, present and to come."""
        return tuple(self._faults)

    @property
    def fault_effort(self) -> FloatArray:
        """tau_f of the last step, shape (n,), a copy. N m or N."""
        return self._fault_effort.copy()

    def add_fault(self, fault: Fault) -> None:
        """Let an actuator fail.

        Raises
        ------
        SimulationError
            Where the robot has no such joint, or the fault needs a largest effort and there
            is none.
        """
        if fault.joint not in self.robot.joint_names:
            raise SimulationError('is no joint of this robot', subject=fault.joint,
                                  remedy='name one of: ' + ', '.join(self.robot.joint_names))
        if fault.kind is FaultKind.SATURATED \
                and not math.isfinite(self._limit[self.robot.joint_names.index(fault.joint)]):
            raise SimulationError('has no largest effort to be stuck at', subject=fault.joint,
                                  remedy='give it one, or choose a bias')
        self._faults.append(fault)

    def clear_faults(self) -> None:
        """Let everything be sound again."""
        self._faults.clear()
        self._pushes.clear()
        self._slopes.clear()
        self._restore()

    def add_push(self, frame: str, force: ArrayLike, begin: float = 0.0,
                 end: float = math.inf) -> None:
        """Let a force act on the arm for some time.

        Parameters
        ----------
        frame : str
            Link or frame at whose origin it acts.
        force : array_like, shape (3,)
            In base axes. N.
        begin, end : float
            From when to when, in simulated time. s.

        Raises
        ------
        SimulationError, DimensionError
            Where there is no such moving frame, or no such force.
        """
        force = finite_array('force', force)
        if force.shape != (3,):
            raise DimensionError(f'has shape {force.shape}, not (3,)', subject='force',
                                 remedy='give x, y and z in base axes, N')
        place = self.robot.frames.get(frame)
        if place is None or place.body < 0:
            raise SimulationError('is no link or frame that moves', subject=frame,
                                  remedy='name one of: ' + ', '.join(
                                      name for name, at in self.robot.frames.items()
                                      if at.body >= 0))
        body = self._id('mjOBJ_BODY', self.robot.body_names[place.body])
        self._pushes.append((begin, end, body, np.array(place.pose[:3, 3]), force))

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Start over; faults stay, by their times."""
        super().reset(q, v)
        self._fault_effort = np.zeros(self.robot.n)

    def _step(self, count: int) -> None:
        """Step, one by one where something is wrong."""
        for k in range(count):
            time = (self._steps + k) * self.timestep
            faults = [fault for fault in self._faults if fault.is_active(time)]
            pushes = [push for push in self._pushes if push[0] <= time < push[1]]
            if not faults and not pushes and not self._will_change(time, count - k):
                self._restore()
                super()._step(count - k)
                return
            self._step_wrong(faults, pushes)

    def _will_change(self, time: float, count: int) -> bool:
        """Whether something begins within so many steps."""
        end = time + count * self.timestep
        return any(time < begin < end for begin in
                   [fault.begin for fault in self._faults] + [push[0] for push in self._pushes])

    def _step_wrong(self, faults: Sequence[Fault], pushes: Sequence[Any]) -> None:
        """Take one step with what is wrong now."""
        self._restore()
        names = self.robot.joint_names
        blocks: dict[int, float] = {}
        # What a block took last is where the search for it begins now.
        before = self._fault_effort
        self._fault_effort = np.zeros(self.robot.n)
        for fault in faults:
            joint = names.index(fault.joint)
            if fault.kind is FaultKind.BLOCK:
                # Of several at one joint the strongest holds it.
                blocks[joint] = max(fault.size, blocks.get(joint, 0.0))
                continue
            got = self._gain[joint] * fault.delivered(self._effort[joint], self._limit[joint])
            self._apply(joint, self._gain[joint] * self._effort[joint] - got)
        for _, _, body, point, force in pushes:
            self._push(body, point, force)
        if not blocks:
            super()._step(1)
            return
        self._block_all(blocks, before)
        super()._step(1)

    def _block_all(self, blocks: Mapping[int, float], efforts: FloatArray) -> None:
        """Block joints, which throw each other off: one by one until none changes any more.

        That is the iteration of Gauss and Seidel for (M^-1)_bb tau_b, which converges, as that
        is positive definite.
        """
        efforts = efforts.copy()
        for joint, rate in blocks.items():
            efforts[joint] = self._block(joint, rate, efforts[joint])
        for _ in range(_BLOCK_SWEEPS if len(blocks) > 1 else 0):
            largest_change = 0.0
            for joint, rate in blocks.items():
                self._data.qfrc_applied[self._dof[joint]] += efforts[joint]
                effort = self._block(joint, rate, efforts[joint])
                largest_change = max(largest_change, abs(effort - efforts[joint]))
                efforts[joint] = effort
            if largest_change <= _SAME_EFFORT:
                break

    def _block(self, joint: int, rate: float, effort: float) -> float:
        """Take away and return the effort after which a joint is as fast as a block makes it.

        That of eq. 7 up to what a step of finite length, friction and joint limits change:
        so it is found by trying.
        """
        mujoco, model, data = self._mujoco, self._model, self._data
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        before = np.zeros(mujoco.mj_stateSize(model, kind))
        mujoco.mj_getState(model, data, before, kind)
        dof = self._dof[joint]
        wanted = data.qvel[dof] * math.exp(-min(rate * self.timestep, 700.0))
        # It changes with the pose, slowly; trying corrects it.
        slope = self._slopes.get(joint) or self.timestep * self._mobility(dof)
        last: tuple[float, float] | None = None
        for _ in range(_BLOCK_TRIALS):
            mujoco.mj_setState(model, data, before, kind)
            data.qfrc_applied[dof] -= effort
            super()._step(1)
            excess = data.qvel[dof] - wanted
            if abs(excess) <= _BLOCK_TOLERANCE:
                break
            if last is not None and (last[1] - excess) * (effort - last[0]) > 0.0:
                slope = (last[1] - excess) / (effort - last[0])
                self._slopes[joint] = slope
            last = effort, excess
            effort += excess / slope
        mujoco.mj_setState(model, data, before, kind)
        self._apply(joint, effort)
        return effort

    def _mobility(self, dof: int) -> float:
        """Return how fast a joint speeds up per effort: h_ii, the diagonal of M^-1."""
        mujoco, model, data = self._mujoco, self._model, self._data
        mujoco.mj_forward(model, data)
        unit, answer = np.zeros((1, model.nv)), np.zeros((1, model.nv))
        unit[0, dof] = 1.0
        mujoco.mj_solveM(model, data, answer, unit)
        return float(answer[0, dof])

    def _apply(self, joint: int, effort: float) -> None:
        """Take an effort away from a joint."""
        self._data.qfrc_applied[self._dof[joint]] -= effort
        self._fault_effort[joint] = effort

    def _push(self, body: int, point: FloatArray, force: FloatArray) -> None:
        """Let a force act on a point of a body, given in the axes of the body."""
        mujoco, model, data = self._mujoco, self._model, self._data
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        at = data.xpos[body] + data.xmat[body].reshape(3, 3) @ point
        mujoco.mj_applyFT(model, data, force, np.zeros(3), at, body, data.qfrc_applied)

    def _restore(self) -> None:
        """Let the actuators deliver what was commanded, and nothing else act."""
        self._data.qfrc_applied[:] = 0.0
        self._data.qfrc_applied[self._dof] = self._gain * self._effort
