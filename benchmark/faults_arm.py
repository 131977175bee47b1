# SPDX-License-Identifier: Apache-2.0
"""The arm of the fault study: a loop like that of the nodes, with noise and friction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from fault_parts.arm import load_arm

from robot_dynamics.control.faults.load_estimator import LoadEstimator
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
from robot_dynamics.simulation.faults import FaultyPlant
from robot_dynamics.simulation.sensors import JointSensors, SensorQuality

PERIOD, DELAY, TIMESTEP = 0.002, 0.001, 0.0005
#: Coulomb and viscous friction of the joints of arm7. N m, N m s/rad.
COULOMB = np.array([0.5, 0.6, 0.5, 0.65, 0.45, 0.3, 0.35])
VISCOUS = np.array([0.6, 0.6, 0.4, 0.4, 0.25, 0.2, 0.15])
#: Friction and rotors of the other arms, as shares of the effort limits: Coulomb, viscous (per
#: rad/s) and armature of undescribed rotors, kg m^2 per N m.
SHARES, ROTORS = (0.01, 0.005), 0.003
#: A gripper of arm7, which the models know. kg, m, kg m^2.
HAND = {'mass': 0.73, 'com': (-0.01, 0.0, 0.03), 'inertia': np.diag([0.001, 0.0025, 0.0017]),
        'frame': 'flange'}
GEN3 = Path(__file__).resolve().parents[2] / 'shared/data/urdf/gen3_robotiq.urdf'
#: Arms of the study, each with the frame of its flange.
FLANGES = {'arm7': 'flange', 'panda': 'panda_link8', 'gen3': 'end_effector_link'}
#: Mass of the payload that no model knows, kg (2 kg beyond its gripper need all of the 9 N m of
#: the sixth joint of the Gen3, at rest), and its centre from the flange, m.
MASSES = {'arm7': 2.0, 'panda': 2.0, 'gen3': 1.0}
PAYLOADS = {'none': None, 'centred': (0.0, 0.0, 0.15), 'shifted': (0.1, 0.05, 0.15)}
#: Sensors: encoders of 16 bits, velocity with white noise. rad, rad/s.
QUALITY = SensorQuality(position_resolution=2.0 * np.pi / 2**16, velocity_noise=0.005)
#: Time from the start in motion until residuals are judged. s.
SETTLING = 0.6


def study_robots(name: str, known_friction: float, rotors: bool) -> tuple[Robot, Robot]:
    """Return the arm as it is, and its model: a share of its friction, and none of its rotors."""
    if name == 'arm7':
        robot = with_payload(load_arm(name), **HAND)
        viscous, coulomb = VISCOUS, COULOMB
    else:
        robot = load_arm(name) if name != 'gen3' else Robot.from_urdf(
            GEN3, joints=[f'joint_{k}' for k in range(1, 8)])
        coulomb, viscous = np.outer(SHARES, robot.limits.effort)
    armature = robot.armature + rotors * ROTORS * robot.limits.effort
    return (replace(robot, damping=viscous, friction=coulomb, armature=armature),
            replace(robot, damping=known_friction * viscous, friction=known_friction * coulomb))


def study_motion(kind: str, robot: Robot, seed: int) -> Reference:
    """Return a motion without end: ``fourier``, or ``poses``: moves and rests."""
    if kind == 'fourier':
        return exciting_fourier(robot, seed, harmonics=5, base_frequency=0.1, speed=0.9)
    lower, upper = np.clip([robot.limits.lower, robot.limits.upper], -np.pi, np.pi)
    middle, reach = 0.5 * (lower + upper), upper - lower
    random = np.random.default_rng(seed)
    poses = [middle + random.uniform(-0.25, 0.25, robot.n) * reach for _ in range(6)]
    return Repeat(through_poses([*poses, poses[0]], velocity_limit=1.2, acceleration_limit=4.0,
                                dwell=0.5))


class StudyArm:
    """An arm under a tracking law, with an observer at its joint states.

    Parameters
    ----------
    name : str
        One of `FLANGES`.
    known_friction : float
        Share of the friction that the models know.
    rotors : bool
        Whether the arm has rotors that no model describes.
    payload : str
        One of `PAYLOADS`.
    gain : float
        K_O of the observer. 1/s.
    """

    def __init__(self, name: str = 'arm7', known_friction: float = 0.8, *, rotors: bool = False,
                 payload: str = 'none', gain: float = GAIN):
        self.true, self.model = study_robots(name, known_friction, rotors)
        self.flange = FLANGES[name]
        if PAYLOADS[payload]:
            self.true = with_payload(self.true, MASSES[name], PAYLOADS[payload],
                                     frame=self.flange)
        self.dynamics = Dynamics(self.model)
        self.plant = FaultyPlant(self.true, timestep=TIMESTEP)
        self.law = AdaptiveController(self.model, period=PERIOD, delay=DELAY,
                                      dynamics=self.dynamics)
        self.observer = MomentumObserver(self.model, self.dynamics, gain=gain)
        self.predictor = MotionPredictor(self.model, MotionFilter(PERIOD))
        self.load = LoadEstimator(self.observer, self.predictor)
        self._desired = np.zeros((3, self.true.n))

    def run(self, motion: Reference, begin: float, seconds: float, seed: int,
            judge: Callable[[float, bool, FloatArray], bool],
            prepare: Callable[[FaultyPlant], None] = lambda plant: None,
            twin: FaultyPlant | None = None, adapt: bool = False) -> None:
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
        adapt : bool
            Whether the law adapts to the arm.
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
        self.load.begin_anew()
        late, steps = round(DELAY / TIMESTEP), round(PERIOD / TIMESTEP)
        for k in range(round((SETTLING + seconds) / PERIOD)):
            time = k * PERIOD
            reading = sensors.read(time, plant.q, plant.v, plant.effort)
            dt = PERIOD if k else 0.0
            self.observer.update(reading.q, reading.v, reading.effort, dt)
            counts = self.predictor.update(self.observer.matrices, reading.q, reading.v,
                                           reading.effort, dt)
            self.load.update(reading.q, reading.v, dt)
            if time >= SETTLING and judge(time - SETTLING, counts, reading.v):
                return
            motion.sample_into(begin + time, q_d, v_d, a_d)
            tau = law.update(reading.q, reading.v, q_d, v_d, a_d, dt, adapt=adapt)
            for arm in plants:
                arm.advance(steps=late)
                arm.set_effort(tau)
                arm.advance(steps=steps - late)
