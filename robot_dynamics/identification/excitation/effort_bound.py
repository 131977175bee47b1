# SPDX-License-Identifier: Apache-2.0
r"""Bounds of the joint efforts along a whole motion.

Between two times h apart, a function with |f''| <= D exceeds the larger of its two values by at
most D h^2/8. Efforts are computed at many times. D follows from bounds of the motion: in the
Newton-Euler equations, every vector and its time derivatives are replaced by bounds of their
norms, sums by sums and products by the Leibniz rule,

.. math::

    |(x y)^{(k)}| \le \sum_i \binom{k}{i} |x|^{(i)} |y|^{(k-i)}

For a vector r fixed to a body that rotates with omega, dr/dt = omega x r. D is several times too
large, but is multiplied by the square of about a millisecond.
"""

from __future__ import annotations

from math import comb

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.identification.excitation.curves import RestToRest
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.inertia import com_from_parameters
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot

#: Largest excess of the bound over the computed efforts, relative to the largest effort.
TIGHTNESS = 0.01
#: Smallest and largest number of times at which efforts are computed.
FEWEST, MOST = 1_000, 400_000


class EffortEnclosure:
    """Bounds of the efforts of a robot along motions.

    The efforts are those of the bodies and the described armature, damping and dry friction:
    tau = M a + C v + g + armature a + damping v, plus friction on its magnitude.
    """

    def __init__(self, dynamics: Dynamics):
        dynamics.robot.require_single_coordinates('excitation')
        self.dynamics, self.robot = dynamics, dynamics.robot

    def efforts(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Efforts without dry friction, shape (m, n)."""
        robot = self.robot
        return self.dynamics.inverse_dynamics(q, v, a) + robot.damping * v

    def largest(self, curve: RestToRest) -> FloatArray:
        """Upper bound of the magnitude of each effort at all times, shape (n,), N m or N.

        Raises
        ------
        TrajectoryError
            If the motion is too fast for a useful bound.
        """
        sampled, missed, _ = self._sampled(curve)
        return np.max(np.abs(sampled), axis=0) + missed + self.robot.friction

    def worst(self, curve: RestToRest, joint: int) -> tuple[float, float]:
        """Time and value of the largest effort of a joint, with its friction."""
        sampled, _, times = self._sampled(curve)
        k = int(np.argmax(np.abs(sampled[:, joint])))
        value = float(sampled[k, joint])
        return float(times[k]), value + float(np.copysign(self.robot.friction[joint], value))

    def _sampled(self, curve: RestToRest) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Efforts at even times, their largest excess between, and the times."""
        bend = bends(self.robot, [curve.largest(k) for k in range(1, 5)])
        count = FEWEST
        while True:
            times = np.linspace(0.0, curve.duration, count + 1)
            tau = self.efforts(*(curve.evaluate(times, k) for k in range(3)))
            missed = bend * (curve.duration / count) ** 2 / 8.0
            large = np.max(np.abs(tau), axis=0) + self.robot.friction
            # For a joint with small efforts, relative to the largest effort.
            wanted = TIGHTNESS * np.maximum(large, 0.01 * np.max(large))
            if np.all(missed <= wanted):
                return tau, missed, times
            needed = count * np.sqrt(np.max(missed / np.maximum(wanted, 1e-300)))
            # Written so that values that are not finite are rejected.
            if not needed < MOST:
                joint = int(np.argmax(missed / np.maximum(wanted, 1e-300)))
                raise TrajectoryError('has efforts that change too fast to be bounded',
                                      subject=self.robot.joint_names[joint],
                                      remedy='make the motion slower, or check the masses '
                                             'and sizes in the description')
            count = int(1.1 * needed) + 1


def bends(robot: Robot, rates: list[FloatArray]) -> FloatArray:
    """Bounds of |d^2 tau/dt^2|, (n,), from those of four derivatives of the joint positions."""
    coupling = np.abs(robot.coupling)
    speeds = np.array([coupling @ rate for rate in rates])
    bodies = [_Body(robot, k, speeds[:, k]) for k in range(robot.n_bodies)]
    turning: list[FloatArray] = []
    axes: list[FloatArray] = []
    arms: list[FloatArray] = []
    for body, parent in zip(bodies, robot.parents, strict=True):
        above = turning[parent] if parent >= 0 else np.zeros(4)
        axes.append(_carried(1.0, above, 4))
        turning.append(above + _product(axes[-1], body.speeds, 4) if body.turns else above)
        arms.append(_arm(body, above, turning[-1], axes[-1]))
    tau = np.zeros(robot.n_bodies)
    for k, body in enumerate(bodies):
        force = body.mass * _acceleration(robot, k, arms, turning, body.centre)
        spin = _spin(body, turning[k])
        # From the centre of mass down to each joint that carries it.
        lever = _carried(body.centre, turning[k], 3)
        joint = k
        while joint >= 0:
            moment = force
            if bodies[joint].turns:
                # The axis passes through the joint: add the offset to the frame.
                reach = lever + _carried(bodies[joint].offset, turning[joint], 3)
                moment = _product(reach, force, 3) + spin
            tau[joint] += _product(axes[joint], moment, 3)[2]
            lever = lever + arms[joint][:3]
            joint = int(robot.parents[joint])
    return coupling.T @ tau + robot.armature * rates[3] + robot.damping * rates[2]


class _Body:
    """Lengths and sizes of a body, and the speeds of its joint."""

    def __init__(self, robot: Robot, k: int, speeds: FloatArray):
        mass, centre, inertia = com_from_parameters(robot.inertial_parameters[k])
        self.turns = robot.joint_types[k] != JointType.PRISMATIC
        self.speeds = speeds
        self.mass = abs(float(mass))
        self.centre = float(np.linalg.norm(centre))
        self.inertia = float(np.linalg.norm(inertia, 2))
        self.place = float(np.linalg.norm(robot.placements[k, :3, 3]))
        self.offset = float(np.linalg.norm(robot.link_offsets[k]))
        # Largest displacement by a prismatic joint.
        self.travel = 0.0
        if not self.turns:
            row = robot.coupling[k]
            ends = np.maximum(np.abs(robot.limits.lower), np.abs(robot.limits.upper))
            moved = row != 0.0
            self.travel = float(np.abs(row[moved]) @ ends[moved]
                                + abs(robot.coupling_offset[k]))
            if not np.isfinite(self.travel):
                raise TrajectoryError('slides without position limits', subject=robot.
                                      body_joint_names[k], remedy='write <limit lower="..." '
                                      'upper="..."> into the URDF')


def _product(x: FloatArray, y: FloatArray, count: int) -> FloatArray:
    """Bounds of a product and of its derivatives."""
    return np.array([sum(comb(k, i) * x[i] * y[k - i] for i in range(k + 1))
                     for k in range(count)])


def _carried(length: float, omega: FloatArray, count: int) -> FloatArray:
    """Bounds of a vector of constant length fixed to a turning body, and of its derivatives."""
    jet = np.full(count, length)
    for k in range(1, count):
        jet[k] = _product(omega, jet, k)[-1]
    return jet


def _arm(body: _Body, above: FloatArray, own: FloatArray, axis: FloatArray) -> FloatArray:
    """Bounds of the vector from the parent's frame to the body's, and of four derivatives."""
    way = _carried(body.place, above, 5) + _carried(body.offset, own, 5)
    if body.turns:
        return way
    return way + _product(_carried(1.0, above, 5), np.append(body.travel, body.speeds), 5)


def _acceleration(robot: Robot, k: int, arms: list[FloatArray], turning: list[FloatArray],
                  centre: float) -> FloatArray:
    """Bounds of the acceleration of a centre of mass and gravity, and of two derivatives."""
    total = _carried(centre, turning[k], 5)[2:]
    body = k
    while body >= 0:
        total = total + arms[body][2:]
        body = int(robot.parents[body])
    total[0] += np.linalg.norm(robot.gravity)
    return total


def _spin(body: _Body, omega: FloatArray) -> FloatArray:
    """Bounds of the rate of angular momentum, and of two derivatives.

    The inertia in fixed axes changes by dI/dt = [omega] I - I [omega].
    """
    return _product(_carried(body.inertia, 2.0 * omega, 4), omega, 4)[1:]
