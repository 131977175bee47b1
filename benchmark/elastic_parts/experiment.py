# SPDX-License-Identifier: Apache-2.0
"""Moves a robot with elastic joints along an excitation, and measures it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.laws.elastic_pd import ElasticPDController
from robot_dynamics.elastic.friction import StribeckFriction
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.identification.excitation.curves import RestToRest
from robot_dynamics.identification.excitation.design import DesignSettings, design
from robot_dynamics.identification.excitation.limits import MotionLimits
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.simulation.elastic_plant import ElasticPlant

#: Encoders count so many steps a turn.
COUNTS = 1_250_000
#: Samples a second, Hz.
RATE = 1000.0


@dataclass(frozen=True, eq=False)
class Run:
    """What was measured, and what was true.

    Parameters
    ----------
    time : ndarray, shape (N,)
        s.
    q, v, a : ndarray, shape (N, 2 n)
        qbar and its derivatives as they were.
    effort : ndarray, shape (N, n)
        Of the motors at these times: efforts are held from sample to sample, and at a sample
        the mean of both sides is what a filter makes of them.
    """

    time: FloatArray
    q: FloatArray
    v: FloatArray
    a: FloatArray
    effort: FloatArray

    def counted(self) -> FloatArray:
        """Return qbar as encoders count it."""
        step = 2.0 * np.pi / COUNTS
        return step * np.round(self.q / step)


def designed(robot: ElasticRobot, seconds: float, *, position: float, velocity: float,
             acceleration: float, iterations: int = 60) -> RestToRest:
    """Return a motion of fifth-order B-splines within limits, for the links as if rigid.

    Parameters
    ----------
    robot : ElasticRobot
        The robot.
    seconds : float
        Duration.
    position, velocity, acceleration : float
        Largest magnitudes of each joint. rad, rad/s, rad/s^2.
    iterations : int
        Of the optimisation.
    """
    n = robot.n
    limits = MotionLimits(robot.links.joint_names, np.full(n, -position), np.full(n, position),
                          np.full(n, velocity), np.full(n, acceleration), np.full(n, np.inf))
    return design(robot.links, np.zeros(n), limits, DesignSettings(
        seconds=seconds, waves=round(2.0 * seconds), restarts=1, iterations=iterations)).motion


def simulate(robot: ElasticRobot, motion: RestToRest, seconds: float, *, timestep: float,
             friction: StribeckFriction | None = None) -> Run:
    """Follow a motion by PD control with on-line gravity compensation.

    Parameters
    ----------
    robot : ElasticRobot
        The robot.
    motion : RestToRest
        Desired motion of its links.
    seconds : float
        Duration.
    timestep : float
        Of the integration and of the control, s; measured is at `RATE`.
    friction : StribeckFriction, optional
        Of the motors; as described if not given.
    """
    plant = ElasticPlant(robot, timestep=timestep, friction=friction)
    law = ElasticPDController(robot, period=timestep, delay=0.0)
    each, count, n = round(1.0 / (RATE * timestep)), round(seconds * RATE), robot.n
    times = timestep * np.arange(each * count)
    desired = [motion.evaluate(times, k) for k in range(3)]
    rows, efforts = np.empty((3, count, 2 * n)), np.empty((count, n))
    plant.reset(desired[0][0])
    before = law.holding_effort(plant.motor_q, plant.motor_v, desired[0][0])
    for k in range(len(times)):
        tau = law.update(plant.motor_q, plant.motor_v, *(values[k] for values in desired),
                         timestep, adapt=False)
        plant.set_effort(tau)
        if k % each == 0:
            row = k // each
            rows[0, row] = np.concatenate([plant.q, plant.motor_q])
            rows[1, row] = np.concatenate([plant.v, plant.motor_v])
            rows[2, row] = plant.acceleration
            efforts[row] = 0.5 * (before + tau)
        before = tau
        plant.advance(steps=1)
    return Run(np.arange(count) / RATE, *rows, efforts)
