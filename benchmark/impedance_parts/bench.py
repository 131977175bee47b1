# SPDX-License-Identifier: Apache-2.0
"""An arm in MuJoCo above a table, and a Cartesian impedance that answers its states late."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from benchmark.fault_parts.arm import ARMS, load_arm
from robot_dynamics.control import (
    CartesianImpedanceController,
    Impedance,
    ImpedanceSettings,
    SetpointLimits,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import Robot
from robot_dynamics.simulation.mjcf import robot_to_mjcf, text_of
from robot_dynamics.simulation.plant import Plant

#: A Kinova Gen3 with its gripper, which cannot be shipped.
GEN3 = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'urdf' / 'gen3_robotiq.urdf'
#: Rate of the states, Hz, and time from a state to the effort that answers it, s.
RATE, DELAY = 500.0, 0.002
TIMESTEP = 0.0005
#: Radius of the ball at the end effector. m.
RADIUS = 0.02
#: Time constant of MuJoCo's contact, s, and its damping ratio: hard, without a bounce of its own.
CONTACT = (0.004, 1.0)


def load(name: str) -> tuple[Robot, str, FloatArray]:
    """Model of an arm, its end effector and a pose with room below it, rad."""
    if name == 'gen3':
        robot = Robot.from_urdf(GEN3, locked={'robotiq_85_left_knuckle_joint': 0.0})
        return robot, 'end_effector_link', np.array([0.0, 0.26, 3.14, -2.27, 0.0, 0.96, 1.57])
    _, link, pose, _ = ARMS[name]
    return load_arm(name), link, np.array(pose)


class Table(Plant):
    """An arm with a ball at its end effector, and a table at some height, m."""

    def __init__(self, robot: Robot, link: str, height: float):
        self._link, self._height = link, height
        super().__init__(robot, timestep=TIMESTEP)

    @property
    def force(self) -> float:
        """Force between ball and table, 0 without contact. N."""
        force = np.zeros(6)
        total = 0.0
        for k in range(self._data.ncon):
            self._mujoco.mj_contactForce(self._model, self._data, k, force)
            total += float(force[0])
        return total

    def _compile(self, joint_limits: bool) -> Any:
        root = ElementTree.fromstring(robot_to_mjcf(self.robot, timestep=self.timestep,
                                                    joint_limits=joint_limits))
        root.find('option').remove(root.find('option/flag'))
        frame = self.robot.frames[self._link]
        name = self.robot.body_names[frame.body]
        solid = {'solref': text_of(CONTACT), 'condim': '3', 'friction': '0.3 0.005 0.0001'}
        ElementTree.SubElement(
            root.find(f".//body[@name='{name}']"), 'geom', type='sphere', size=text_of(RADIUS),
            pos=text_of(frame.pose[:3, 3]), mass='0', **solid)
        ElementTree.SubElement(root.find('worldbody'), 'geom', type='plane', size='5 5 0.1',
                               pos=text_of([0.0, 0.0, self._height]), **solid)
        return self._mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding='unicode'))


class Bench:
    """An arm, a table below it and the law; `below` is the room between ball and table, m."""

    def __init__(self, name: str, stiffness: float, *, below: float = 1.0,
                 rotational: float = 30.0, speed: float = 0.1, **settings: Any):
        self.robot, self.link, self.q0 = load(name)
        self.dynamics = Dynamics(self.robot)
        begin = self.dynamics.forward_kinematics(self.q0, self.link)
        self.plant = Table(self.robot, self.link, begin[2, 3] - RADIUS - below)
        self.plant.reset(self.q0)
        self.law = CartesianImpedanceController(
            self.robot, link=self.link, period=1.0 / RATE, delay=DELAY,
            settings=ImpedanceSettings(
                impedance=Impedance((stiffness,) * 3, (rotational,) * 3),
                limits=SetpointLimits(speed=speed, timeout=1e9), **settings))
        self.law.reset(self.q0, np.zeros(self.robot.n))
        self.begin = begin
        self._late = self.dynamics.gravity_torque(self.q0)

    @property
    def pose(self) -> FloatArray:
        """True pose of the end effector, shape (4, 4)."""
        return self.dynamics.forward_kinematics(self.plant.q, self.link)

    @property
    def velocity(self) -> FloatArray:
        """Its true velocity, shape (6,)."""
        return self.dynamics.jacobian(self.plant.q, self.link) @ self.plant.v

    def cycle(self, wrench: FloatArray | None = None) -> None:
        """Answer a state, and simulate a period with a force and moment on the end effector."""
        q, v = self.plant.q, self.plant.v
        still = np.zeros(self.robot.n)
        tau = self.law.update(q, v, q, still, still, 1.0 / RATE, adapt=False).copy()
        push = 0.0 if wrench is None else self.dynamics.jacobian(q, self.link).T @ wrench
        # The delay is a period: the effort of the state before acts until the next one.
        self.plant.set_effort(self._late + push)
        self._late = tau
        self.plant.advance(1.0 / RATE)

    def run(self, seconds: float, wrench: FloatArray | None = None) -> None:
        """Let time pass, with a force and moment that grow within 0.3 s."""
        for k in range(round(seconds * RATE)):
            self.cycle(None if wrench is None else min(k / (0.3 * RATE), 1.0) * wrench)
