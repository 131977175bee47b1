# SPDX-License-Identifier: Apache-2.0
"""The arm of the fault study: a loop like that of the nodes, with noise and friction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robot_dynamics.control.faults.motion_predictor import MotionFilter, MotionPredictor
from robot_dynamics.control.faults.residuals import GAIN, MomentumObserver
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import (
    Reference,
    Repeat,
    exciting_fourier,
    through_poses,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.modify import with_payload
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.faults import FaultyPlant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

PERIOD, DELAY, TIMESTEP = 0.002, 0.001, 0.0005
#: Coulomb and viscous friction of the seven joints. N m, N m s/rad.
COULOMB = np.array([0.5, 0.6, 0.5, 0.65, 0.45, 0.3, 0.35])
VISCOUS = np.array([0.6, 0.6, 0.4, 0.4, 0.25, 0.2, 0.15])
#: A gripper, which the models know. kg, m, kg m^2.
HAND = {'mass': 0.73, 'com': (-0.01, 0.0, 0.03), 'inertia': np.diag([0.001, 0.0025, 0.0017]),
        'frame': 'flange'}
#: Sensors: encoders of 16 bits, velocity with white noise. rad, rad/s.
QUALITY = SensorQuality(position_resolution=2.0 * np.pi / 2**16, velocity_noise=0.005)
#: Time from the start in motion until residuals are judged. s.
SETTLING = 0.6


def study_robots(known_friction: float) -> tuple[Robot, Robot]:
    """Return the arm as it is, and its model that knows a share of its friction."""
    robot = with_payload(Robot.from_urdf(resolve_robot('arm7')), **HAND)
    return (replace(robot, damping=VISCOUS, friction=COULOMB),
            replace(robot, damping=known_friction * VISCOUS, friction=known_friction * COULOMB))


def study_motion(kind: str, robot: Robot, seed: int) -> Reference:
    """Return a motion without end: ``fourier``, or ``poses``: moves and rests."""
    if kind == 'fourier':
        return exciting_fourier(robot, seed, harmonics=5, base_frequency=0.1, speed=0.9)
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    reach = robot.limits.upper - robot.limits.lower
    random = np.random.default_rng(seed)
    poses = [middle + random.uniform(-0.25, 0.25, robot.n) * reach for _ in range(6)]
    return Repeat(through_poses([*poses, poses[0]], velocity_limit=1.2, acceleration_limit=4.0,
                                dwell=0.5))


class StudyArm:
    """An arm under a tracking law, with an observer at its joint states.

    Parameters
    ----------
    known_friction : float
        Share of the friction that the models know.
    gain : float
        K_O of the observer. 1/s.
    """

    def __init__(self, known_friction: float = 0.8, gain: float = GAIN):
        self.true, self.model = study_robots(known_friction)
        self.dynamics = Dynamics(self.model)
        self.plant = FaultyPlant(self.true, timestep=TIMESTEP)
        self.law = AdaptiveController(self.model, period=PERIOD, delay=DELAY,
                                      dynamics=self.dynamics)
        self.observer = MomentumObserver(self.model, self.dynamics, gain=gain)
        self.predictor = MotionPredictor(self.model, MotionFilter(PERIOD))
        self._desired = np.zeros((3, self.true.n))

    def run(self, motion: Reference, begin: float, seconds: float, seed: int,
            judge: Callable[[float, bool, FloatArray], bool],
            prepare: Callable[[FaultyPlant], None] = lambda plant: None,
            twin: FaultyPlant | None = None) -> None:
        """Follow a motion from some point of it, until a judge has seen enough.

        Parameters
        ----------
        motion : Reference
            What to follow.
        begin : float
            Where in it to start, at its velocity. s.
        seconds : float
            How long, after `SETTLING`. s.
        seed : int
            Of the noise.
        judge : callable
            Takes time since the settling, s, whether the predictor's surprise counts, and the
            measured velocity; returns whether it has seen enough.
        prepare : callable
            Puts faults and pushes into the plant; their times count from the start.
        twin : FaultyPlant, optional
            Gets the same efforts, and no fault.
        """
        plant, law, (q_d, v_d, a_d) = self.plant, self.law, self._desired
        plants = [plant] if twin is None else [plant, twin]
        sensors = JointSensors(QUALITY, seed=seed)
        motion.sample_into(begin, q_d, v_d, a_d)
        for arm in plants:
            arm.clear_faults()
            arm.reset(q_d, v_d)
            arm.set_effort(self.dynamics.inverse_dynamics(q_d, v_d, a_d))
        prepare(plant)
        law.reset(q_d, v_d)
        self.observer.reset()
        self.predictor.reset()
        late, steps = round(DELAY / TIMESTEP), round(PERIOD / TIMESTEP)
        for k in range(round((SETTLING + seconds) / PERIOD)):
            time = k * PERIOD
            reading = sensors.read(time, plant.q, plant.v, plant.effort)
            dt = PERIOD if k else 0.0
            self.observer.update(reading.q, reading.v, reading.effort, dt)
            counts = self.predictor.update(self.observer.matrices, reading.q, reading.v,
                                           reading.effort, dt)
            if time >= SETTLING and judge(time - SETTLING, counts, reading.v):
                return
            motion.sample_into(begin + time, q_d, v_d, a_d)
            tau = law.update(reading.q, reading.v, q_d, v_d, a_d, dt, adapt=False)
            for arm in plants:
                arm.advance(steps=late)
                arm.set_effort(tau)
                arm.advance(steps=steps - late)
