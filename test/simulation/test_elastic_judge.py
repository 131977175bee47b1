# SPDX-License-Identifier: Apache-2.0
"""MuJoCo, with rotors as bodies and springs as tendons, agrees with our own integrator."""

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import ArrayLike

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.elastic.joints import ElasticJoints
from robot_dynamics.elastic.robot import ElasticRobot
from robot_dynamics.errors import SimulationError
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.robot_data import JointLimits
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.elastic_plant import ElasticPlant
from robot_dynamics.simulation.mjcf import robot_to_mjcf
from robot_dynamics.simulation.plant import EffortDriven, Plant

pytest.importorskip('mujoco', reason='the judge is MuJoCo')

STEP = 1e-4
_UPPER = np.triu_indices(3)


class ElasticJudge:
    """A robot with elastic joints simulated by MuJoCo with its Runge-Kutta integrator.

    The same calls as `robot_dynamics.simulation.elastic_plant.ElasticPlant`, as far as both
    assume the same: there is no Coulomb friction, which is a constraint in MuJoCo, and
    joints have no limits.

    Parameters
    ----------
    robot : ElasticRobot
        The robot.
    timestep : float
        Step of the integration. s.

    Raises
    ------
    SimulationError
        Where MuJoCo is missing, or the robot has what both do not simulate alike.
    """

    def __init__(self, robot: ElasticRobot, *, timestep: float = 0.0005):
        if np.any(robot.joints.coulomb):
            joint = robot.links.joint_names[int(np.argmax(robot.joints.coulomb))]
            raise SimulationError('has Coulomb friction, which MuJoCo simulates as a constraint',
                                  subject=joint, remedy='judge the robot without it')
        self.elastic = robot
        self.robot = robot.links
        self._ratio = robot.joints.gear_ratio
        self._links = Dynamics(robot.links)
        self._plant = _SpringPlant(robot, timestep)

    @property
    def q(self) -> FloatArray:
        """Positions of the links, shape (n,). rad or m."""
        return self._plant.q[:self.elastic.n]

    @property
    def v(self) -> FloatArray:
        """Velocities of the links, shape (n,). rad/s or m/s."""
        return self._plant.v[:self.elastic.n]

    @property
    def motor_q(self) -> FloatArray:
        """Angles theta of the motors over their gear ratios, shape (n,). rad or m."""
        return self._plant.q[self.elastic.n:] / self._ratio

    @property
    def motor_v(self) -> FloatArray:
        """Velocities theta' of the motors, shape (n,). rad/s or m/s."""
        return self._plant.v[self.elastic.n:] / self._ratio

    @property
    def energy(self) -> float:
        """Kinetic, gravitational and elastic energy at this state. J."""
        return self._plant.energy

    def reset(self, q: ArrayLike, v: ArrayLike | None = None, *,
              motor_q: ArrayLike | None = None, motor_v: ArrayLike | None = None) -> None:
        """Put the arm somewhere; see `ElasticPlant.reset`."""
        q = self._vector(q, 'q')
        v = np.zeros(self.elastic.n) if v is None else self._vector(v, 'v')
        if motor_q is None:
            motor_q = q + self._links.gravity_torque(q) / self.elastic.joints.stiffness
        motor_q = self._vector(motor_q, 'motor_q')
        motor_v = v if motor_v is None else self._vector(motor_v, 'motor_v')
        self._plant.reset(np.concatenate([q, self._ratio * motor_q]),
                          np.concatenate([v, self._ratio * motor_v]))

    def set_effort(self, tau: ArrayLike) -> None:
        """Command efforts of the motors, shape (n,), N m or N, to act until the next call."""
        tau = self._vector(tau, 'effort command')
        self._plant.set_effort(np.concatenate([np.zeros_like(tau), tau / self._ratio]))

    def advance(self, seconds: float | None = None, *, steps: int | None = None) -> int:
        """Simulate for some time or a number of steps; see `Plant.advance`."""
        return self._plant.advance(seconds, steps=steps)

    _vector = EffortDriven._vector


class _SpringPlant(Plant):
    """Links and rotors with springs between them, each rotor at the angle of its own shaft."""

    def __init__(self, robot: ElasticRobot, timestep: float):
        self._elastic = robot
        super().__init__(with_rotors(robot), timestep=timestep, joint_limits=False)

    def _compile(self, joint_limits: bool) -> Any:
        root = ElementTree.fromstring(robot_to_mjcf(self.robot, timestep=self.timestep,
                                                    joint_limits=joint_limits))
        root.find('option').set('integrator', 'RK4')
        tendons = ElementTree.SubElement(root, 'tendon')
        joints = self._elastic.joints
        for index, name in enumerate(joints.names):
            tendon = ElementTree.SubElement(
                tendons, 'fixed', name=f'spring_{name}', springlength='0',
                stiffness=repr(float(joints.stiffness[index])),
                damping=repr(float(joints.spring_damping[index])))
            motor = self.robot.joint_names[self._elastic.n + index]
            for joint, coefficient in ((self.robot.joint_names[index], 1.0),
                                       (motor, -1.0 / joints.gear_ratio[index])):
                ElementTree.SubElement(tendon, 'joint', joint=joint,
                                       coef=repr(float(coefficient)))
        try:
            return self._mujoco.MjModel.from_xml_string(
                ElementTree.tostring(root, encoding='unicode'))
        except ValueError as error:
            raise SimulationError(f'MuJoCo does not take this robot ({error})',
                                  subject=self.robot.name,
                                  remedy='check its masses, inertias and springs') from error


def with_rotors(robot: ElasticRobot) -> Robot:
    """Return links and rotors as bodies of one robot without springs, links first.

    The inertia of a rotor about its own axis is taken out of the body that is said to
    include it (eq. A.14 of Zollo et al., "Identification of Dynamic Parameters for Robots
    with Elastic Joints"); its mass stays there, where it makes no difference.

    Parameters
    ----------
    robot : ElasticRobot
        The robot.

    Returns
    -------
    Robot
        Of 2 n joints; those of the motors are angles at their own shafts, rad.
    """
    links, joints, n = robot.links, robot.joints, robot.n
    spins = joints.rotor_inertia[:, None, None] * np.einsum('ij,ik->ijk', robot.rotor_axes,
                                                            robot.rotor_axes)
    rotors, bodies = np.zeros((n, 10)), np.array(links.inertial_parameters)
    rotors[:, 4:] = spins[:, _UPPER[0], _UPPER[1]]
    parents = np.full(n, -1)
    if robot.is_coupled:
        parents = np.array(links.parents)
        for rotor, parent in zip(rotors, parents, strict=True):
            if parent >= 0:
                bodies[parent] -= rotor
    names = tuple(f'motor_{name}' for name in links.joint_names)
    unlimited, ratio = np.full(n, np.nan), joints.gear_ratio
    return replace(
        links, name=f'{links.name}_with_rotors',
        body_names=links.body_names + tuple(f'rotor_{name}' for name in links.joint_names),
        body_joint_names=links.body_joint_names + names, joint_names=links.joint_names + names,
        parents=np.concatenate([links.parents, parents]),
        joint_types=np.concatenate([links.joint_types, np.full(n, int(JointType.REVOLUTE))]),
        placements=np.concatenate([links.placements, np.tile(np.eye(4), (n, 1, 1))]),
        axes=np.concatenate([links.axes, robot.rotor_axes]),
        link_offsets=np.concatenate([links.link_offsets, np.zeros((n, 3))]),
        inertial_parameters=np.concatenate([bodies, rotors]),
        coupling=np.eye(2 * n), coupling_offset=np.zeros(2 * n),
        limits=JointLimits(np.full(2 * n, -np.inf), np.full(2 * n, np.inf),
                           np.concatenate([unlimited, unlimited]),
                           np.concatenate([unlimited, links.limits.effort / ratio])),
        damping=np.concatenate([np.zeros(n), joints.viscous / ratio**2]),
        friction=np.zeros(2 * n), armature=np.zeros(2 * n), frames={}, findings=())


def without_coulomb(robot):
    return replace(robot, joints=replace(robot.joints, coulomb=0.0))


def planar():
    """The planar elbow with springs, dampers and viscous motors, one of them askew."""
    links = Robot.from_urdf(resolve_robot('planar_2r'))
    return ElasticRobot(links, ElasticJoints(
        [50.0, 80.0], [4e-4, 1e-4], [2000.0, 900.0], viscous=[1.0, 0.5],
        spring_damping=[0.8, 0.3], rotor_axes=[[0.2, 0.1, 1.0], [0.3, -1.0, 0.4]],
        names=links.joint_names))


def seven():
    """The 7-joint arm with its springs, without Coulomb friction."""
    links = Robot.from_urdf(resolve_robot('arm7'))
    return without_coulomb(ElasticRobot.from_yaml('arm7', links))


def slider():
    """A sliding joint between two that turn, its rotor standing across."""
    links = Robot.from_urdf(resolve_robot('rpr'))
    return ElasticRobot(links, ElasticJoints(
        [60.0, 200.0, 40.0], [3e-4, 1e-4, 2e-4], [3000.0, 2e4, 800.0], viscous=0.4,
        rotor_axes=[[0.0, 0.0, 1.0], [1.0, 0.5, 0.0], [0.2, 0.0, 1.0]],
        names=links.joint_names))


@pytest.mark.parametrize('is_coupled', [True, False], ids=['coupled', 'spong'])
@pytest.mark.parametrize('make', [planar, seven, slider])
def test_both_integrators_agree(make, is_coupled):
    robot = replace(make(), is_coupled=is_coupled)
    n = robot.n
    rng = np.random.default_rng(1)
    mine, judge = ElasticPlant(robot, timestep=STEP), ElasticJudge(robot, timestep=STEP)
    limits = robot.links.limits
    start = np.clip(0.0, limits.lower, limits.upper) + 0.1
    v = 0.3 * rng.normal(size=n)
    for plant in (mine, judge):
        plant.reset(start, v, motor_q=mine.motor_q if plant is judge else None,
                    motor_v=-0.5 * v)
    carried = mine.elastic.joints.stiffness * (mine.motor_q - mine.q)
    first, farthest = mine.q, 0.0
    for _ in range(10):
        effort = carried + rng.uniform(-0.4, 0.4, n) * np.minimum(limits.effort, 50.0)
        for plant in (mine, judge):
            plant.set_effort(effort)
            plant.advance(0.1)
        for name in ('q', 'motor_q', 'v', 'motor_v'):
            np.testing.assert_allclose(getattr(mine, name), getattr(judge, name), atol=1e-4,
                                       err_msg=name)
        farthest = max(farthest, np.abs(mine.q - first).max())
    assert farthest > 0.2


def test_the_coupling_of_rotors_and_links_is_seen():
    """The judge would notice a model without it, and one with the other sign."""
    robot = planar()
    results = []
    for case in (robot, replace(robot, is_coupled=False),
                 replace(robot, joints=replace(robot.joints,
                                               rotor_axes=-robot.rotor_axes))):
        judge = ElasticJudge(case, timestep=STEP)
        judge.reset([0.3, 0.4], [0.5, -0.5])
        judge.advance(0.5)
        results.append(judge.q)
    assert np.abs(results[1] - results[0]).max() > 1e-3
    assert np.abs(results[2] - results[0]).max() > 1e-3


def test_both_know_the_same_energy():
    robot = replace(planar(), joints=replace(planar().joints, viscous=0.0, spring_damping=0.0))
    mine, judge = ElasticPlant(robot, timestep=STEP), ElasticJudge(robot, timestep=STEP)
    states = [([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]),
              ([0.4, -0.9], [1.0, 0.3], [0.41, -0.88], [-0.4, 0.8])]
    energies = np.empty((2, 2))
    for k, (q, v, motor_q, motor_v) in enumerate(states):
        for j, plant in enumerate((mine, judge)):
            plant.reset(q, v, motor_q=motor_q, motor_v=motor_v)
            energies[k, j] = plant.energy
    np.testing.assert_allclose(*(energies[1] - energies[0])[:, None], rtol=1e-12)
    judge.advance(1.0)
    assert judge.energy == pytest.approx(energies[1, 1], rel=1e-8)


def test_what_is_no_constant_of_both_is_refused():
    rough = replace(planar(), joints=replace(planar().joints, coulomb=[0.0, 0.1]))
    with pytest.raises(SimulationError, match='joint2'):
        ElasticJudge(rough)
    with pytest.raises(SimulationError, match='joint1'):
        ElasticJudge(planar()).set_effort([np.nan, 0.0])
