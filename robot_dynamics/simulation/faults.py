# SPDX-License-Identifier: Apache-2.0
r"""Actuator faults, and a simulated arm with such faults.

With a fault the arm moves by

.. math:: M(q) a + c(q, v) + g(q) = \tau - \tau_f

A. De Luca, Robotics 2, July 12, 2021, Exercise 2, eq. 1. tau_f has one entry, that of the
faulty joint i:

=============  =============================================================  ============
kind           tau_f,i                                                        size
=============  =============================================================  ============
block          (h_i . (tau - c - g) + size v_i) / h_ii, so that               lambda, 1/s
               a_i = -size v_i; h_i is row i of M^-1 (eq. 7)
free_swinging  tau_i: nothing is delivered                                    none
saturated      tau_i - size times the largest effort: stuck there             -1 to 1
loss           size tau_i: only the rest is delivered                         0 to 1
bias           -size: so much is added                                        N m or N
=============  =============================================================  ============

Through the inverse of the inertia each of them also accelerates the other joints, by
-h_ji tau_f,i.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.checks import finite_array
from robot_dynamics.errors import DimensionError, SimulationError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.simulation.plant import Plant

#: Tolerance of the velocity of a blocked joint. rad/s or m/s.
_BLOCK_TOLERANCE = 1e-7
#: Iterations for the effort that blocks it; two are sufficient without dry friction.
_BLOCK_TRIALS = 12
#: Largest number of sweeps over several blocked joints, and their final change. N m or N.
_BLOCK_SWEEPS, _SAME_EFFORT = 30, 1e-6


class FaultKind(Enum):
    """Kind of fault; the value is its name in parameters.

    Examples
    --------
    >>> from robot_dynamics.simulation import FaultKind
    >>> [kind.value for kind in FaultKind]
    ['block', 'free_swinging', 'saturated', 'loss', 'bias']
    """

    BLOCK = 'block'
    FREE_SWINGING = 'free_swinging'
    SATURATED = 'saturated'
    LOSS = 'loss'
    BIAS = 'bias'


#: Lowest and highest permitted sizes.
_SIZES = {
    FaultKind.BLOCK: (0.0, 1e6), FaultKind.FREE_SWINGING: (-math.inf, math.inf),
    FaultKind.SATURATED: (-1.0, 1.0), FaultKind.LOSS: (0.0, 1.0),
    FaultKind.BIAS: (-1e6, 1e6),
}


@dataclass(frozen=True)
class Fault:
    """A fault of one actuator during a time interval.

    Parameters
    ----------
    joint : str
        Its joint.
    kind : FaultKind
        Kind of the fault.
    size : float
        Size, see above.
    begin, end : float
        Interval in simulated time. s.

    Examples
    --------
    >>> from robot_dynamics.simulation import Fault, FaultKind
    >>> fault = Fault('joint2', FaultKind.LOSS, 0.3, begin=1.0)
    >>> fault.is_active(0.5), fault.is_active(2.0)
    (False, True)
    >>> fault.delivered(10.0, limit=50.0)
    7.0
    """

    joint: str
    kind: FaultKind
    size: float = 0.0
    begin: float = 0.0
    end: float = math.inf

    def __post_init__(self) -> None:
        low, high = _SIZES[self.kind]
        # Written so that NaN fails.
        if not low <= self.size <= high:
            raise SimulationError(f'must be from {low:g} to {high:g} for {self.kind.value}, got '
                                  f'{self.size:g}', subject=f'size of the fault of {self.joint}',
                                  remedy='change the size')
        if not self.begin < self.end:
            raise SimulationError('must end after it begins, got begin '
                                  f'{self.begin:g} s and end {self.end:g} s',
                                  subject=f'fault of {self.joint}', remedy='give a later end')

    def is_active(self, time: float) -> bool:
        """Whether the fault acts at a time in s."""
        return self.begin <= time < self.end

    def delivered(self, tau: float, limit: float) -> float:
        """Effort that the actuator delivers, except for a block, N m or N.

        Parameters
        ----------
        tau, limit : float
            Effort commanded, and the largest. N m or N.
        """
        return {
            FaultKind.BLOCK: tau, FaultKind.FREE_SWINGING: 0.0,
            FaultKind.SATURATED: self.size * limit if math.isfinite(limit) else tau,
            FaultKind.LOSS: (1.0 - self.size) * tau, FaultKind.BIAS: tau + self.size,
        }[self.kind]


class FaultyPlant(Plant):
    """A plant with actuator faults; without one it is a `Plant`.

    `effort` remains the effort that the drives report: it does not show the fault.

    Parameters
    ----------
    robot : Robot
        The true robot.
    **options
        As for `Plant`.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> from robot_dynamics.model.shipped import resolve_robot
    >>> from robot_dynamics.simulation import Fault, FaultKind, FaultyPlant
    >>> plant = FaultyPlant(Robot.from_urdf(resolve_robot('planar_2r')))
    >>> plant.add_fault(Fault('joint1', FaultKind.BIAS, 2.0))
    >>> plant.advance(steps=1)
    1
    >>> plant.fault_effort.tolist()
    [-2.0, 0.0]
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
        """Add a fault of an actuator.

        Raises
        ------
        SimulationError
            If the robot has no such joint, or lacks an effort limit that the fault needs.
        """
        if fault.joint not in self.robot.joint_names:
            raise SimulationError('is not a joint of this robot', subject=fault.joint,
                                  remedy='name one of: ' + ', '.join(self.robot.joint_names))
        if fault.kind is FaultKind.SATURATED \
                and not math.isfinite(self._limit[self.robot.joint_names.index(fault.joint)]):
            raise SimulationError('has no effort limit to be stuck at', subject=fault.joint,
                                  remedy='give it one, or choose a bias')
        self._faults.append(fault)

    def clear_faults(self) -> None:
        """Remove all faults and pushes."""
        self._faults.clear()
        self._pushes.clear()
        self._slopes.clear()
        self._restore()

    def add_push(self, frame: str, force: ArrayLike, begin: float = 0.0,
                 end: float = math.inf) -> None:
        """Add a force on the arm for some time.

        Parameters
        ----------
        frame : str
            Link or frame at the origin of which it acts.
        force : array_like, shape (3,)
            In base axes. N.
        begin, end : float
            Interval in simulated time. s.

        Raises
        ------
        SimulationError, DimensionError
            If there is no such moving frame, or the force is invalid.
        """
        force = finite_array('force', force)
        if force.shape != (3,):
            raise DimensionError(f'must have shape (3,), got {force.shape}', subject='force',
                                 remedy='give x, y and z in base axes, N')
        place = self.robot.frames.get(frame)
        if place is None or place.body < 0:
            raise SimulationError('is not a link or frame that moves', subject=frame,
                                  remedy='name one of: ' + ', '.join(
                                      name for name, at in self.robot.frames.items()
                                      if at.body >= 0))
        body = self._id('mjOBJ_BODY', self.robot.body_names[place.body])
        self._pushes.append((begin, end, body, np.array(place.pose[:3, 3]), force))

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set the state of the arm; time zero. Faults keep their times."""
        super().reset(q, v)
        self._fault_effort = np.zeros(self.robot.n)

    def _step(self, count: int) -> None:
        """Step, one by one while there are faults or pushes."""
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
        """Whether a fault or push begins within some steps."""
        end = time + count * self.timestep
        return any(time < begin < end for begin in
                   [fault.begin for fault in self._faults] + [push[0] for push in self._pushes])

    def _step_wrong(self, faults: Sequence[Fault], pushes: Sequence[Any]) -> None:
        """Take one step with active faults and pushes."""
        self._restore()
        names = self.robot.joint_names
        blocks: dict[int, float] = {}
        # The search for the effort of a block begins with that of the last step.
        before = self._fault_effort
        self._fault_effort = np.zeros(self.robot.n)
        for fault in faults:
            joint = names.index(fault.joint)
            if fault.kind is FaultKind.BLOCK:
                # If several act on one joint, the strongest applies.
                blocks[joint] = max(fault.size, blocks.get(joint, 0.0))
                continue
            got = self._gain[joint] * fault.delivered(self._effort[joint], self._limit[joint])
            self._apply(joint, self._gain[joint] * self._effort[joint] - got)
        for _, _, body, point, force in pushes:
            self._push(body, point, force)
        if blocks:
            self._block_all(blocks, before)
        super()._step(1)

    def _block_all(self, blocks: Mapping[int, float], efforts: FloatArray) -> None:
        """Block joints that accelerate each other, one by one until no effort changes.

        This is Gauss-Seidel iteration for (M^-1)_bb tau_b, which converges because that matrix
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
        """Find, apply and return tau_f that gives a joint the velocity of a block.

        It differs from eq. 7 by the effects of the finite step, friction and joint limits; the
        secant method finds it by simulated steps.
        """
        mujoco, model, data = self._mujoco, self._model, self._data
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        before = np.zeros(mujoco.mj_stateSize(model, kind))
        mujoco.mj_getState(model, data, before, kind)
        dof = self._dof[joint]
        wanted = data.qvel[dof] * math.exp(-min(rate * self.timestep, 700.0))
        # The slope changes slowly with the pose, and the secant method corrects it.
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
        """Acceleration of a joint per effort: h_ii, the diagonal of M^-1."""
        mujoco, model, data = self._mujoco, self._model, self._data
        mujoco.mj_forward(model, data)
        unit, answer = np.zeros((1, model.nv)), np.zeros((1, model.nv))
        unit[0, dof] = 1.0
        mujoco.mj_solveM(model, data, answer, unit)
        return float(answer[0, dof])

    def _apply(self, joint: int, effort: float) -> None:
        """Subtract tau_f from the effort of a joint."""
        self._data.qfrc_applied[self._dof[joint]] -= effort
        self._fault_effort[joint] = effort

    def _push(self, body: int, point: FloatArray, force: FloatArray) -> None:
        """Apply a force at a point of a body, the point in the axes of the body."""
        mujoco, model, data = self._mujoco, self._model, self._data
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        at = data.xpos[body] + data.xmat[body].reshape(3, 3) @ point
        mujoco.mj_applyFT(model, data, force, np.zeros(3), at, body, data.qfrc_applied)

    def _restore(self) -> None:
        """Apply the commanded efforts, and nothing else."""
        self._data.qfrc_applied[:] = 0.0
        self._data.qfrc_applied[self._dof] = self._gain * self._effort
