# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.spatial.transform import Rotation

from robot_dynamics.control.feedback.drives import with_rotors
from robot_dynamics.control.laws.cartesian_impedance import (
    CartesianImpedanceController,
    ImpedanceSettings,
)
from robot_dynamics.control.laws.impedance import Impedance
from robot_dynamics.control.motion.pose_setpoint import SetpointLimits
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ControlError, ParameterError, StateError
from robot_dynamics.model.robot import Robot

POSE = np.array([0.2, 0.4, -0.3, -1.5, 0.5, 1.2, 0.3])
STILL = np.zeros(7)
LINK = 'flange'
#: Rotors make every motion of the wrist heavy enough for its stiffness.
ROTORS = np.array([0.6, 0.6, 0.4, 0.4, 0.2, 0.15, 0.15])
SOFT = Impedance((500.0, 800.0, 300.0), (30.0, 20.0, 40.0))
#: Nothing but spring and damper.
FREE = {'posture_rate': 0.0, 'largest_force': 1e4, 'largest_moment': 1e4,
        'limits': SetpointLimits(speed=10.0, turn_rate=10.0, acceleration=100.0,
                                 turn_acceleration=100.0, timeout=1e9)}


@pytest.fixture(scope='module')
def robot():
    return replace(Robot.from_urdf('arm7'), armature=ROTORS)


def law_of(robot, impedance=SOFT, q=POSE, **settings):
    law = CartesianImpedanceController(
        robot, link=LINK, settings=ImpedanceSettings(impedance=impedance, **{**FREE, **settings}))
    law.reset(q, STILL)
    return law


def answer(law, q, v=STILL, dt=0.0):
    return law.update(q, v, q, STILL, STILL, dt, adapt=False).copy()


def near(law, distance, turn):
    """Joint positions a small way of the end effector away, by Newton steps."""
    dynamics, q = law.model.empty, POSE.copy()
    goal = dynamics.forward_kinematics(q, LINK)
    goal[:3, 3] += distance
    goal[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ goal[:3, :3]
    for _ in range(20):
        here = dynamics.forward_kinematics(q, LINK)
        error = np.concatenate([goal[:3, 3] - here[:3, 3], Rotation.from_matrix(
            goal[:3, :3] @ here[:3, :3].T).as_rotvec()])
        q += np.linalg.pinv(dynamics.jacobian(q, LINK)) @ error
    return q


def energy(law, q, v):
    """Kinetic energy and that of the spring, J."""
    dynamics = law.model.empty
    here = dynamics.forward_kinematics(q, LINK)
    error = law.setpoint.position - here[:3, 3]
    epsilon = (Rotation.from_quat(law.setpoint.quaternion)
               * Rotation.from_matrix(here[:3, :3]).inv()).as_quat()[:3]
    K = law.settings.impedance.values[:6]
    return float(0.5 * v @ dynamics.mass_matrix(q) @ v + 0.5 * error @ (K[:3] * error)
                 + 2.0 * epsilon @ (K[3:] * epsilon))


def test_holds_its_pose_with_the_gravity_of_the_model(robot):
    law = law_of(robot)
    np.testing.assert_allclose(answer(law, POSE), Dynamics(robot).gravity_torque(POSE), atol=1e-9)
    np.testing.assert_allclose(law.wrench, 0.0, atol=1e-9)


def test_wrench_is_stiffness_times_displacement(robot):
    law = law_of(robot)
    distance, turn = np.array([0.01, -0.02, 0.015]), np.array([0.01, -0.005, 0.008])
    q = near(law, -distance, -turn)
    tau = answer(law, q)
    assert law.softened == 1.0
    np.testing.assert_allclose(law.wrench[:3], np.array([500.0, 800.0, 300.0]) * distance,
                               rtol=1e-6)
    np.testing.assert_allclose(law.wrench[3:], [0.3, -0.1, 0.32], atol=1e-3)
    J = Dynamics(robot).jacobian(q, LINK)
    np.testing.assert_allclose(tau - Dynamics(robot).gravity_torque(q), J.T @ law.wrench,
                               atol=1e-9)


def test_moment_is_the_gradient_of_the_energy(robot):
    """Also for a large angle, and a stiffness that differs about the axes."""
    law = law_of(robot)
    q = near(law, np.zeros(3), np.array([0.5, -0.8, 0.4]))
    tau = answer(law, q) - Dynamics(robot).gravity_torque(q)
    step = 1e-6
    gradient = [(energy(law, q + step * row, STILL) - energy(law, q - step * row, STILL))
                / (2.0 * step) for row in np.eye(7)]
    np.testing.assert_allclose(tau, -np.array(gradient), atol=1e-5)


def test_damping_is_that_of_the_double_diagonalisation(robot):
    """The force of the damper against the closed form with LAPACK."""
    law, dynamics = law_of(robot, Impedance(SOFT.stiffness, SOFT.rotational_stiffness, 0.7)), \
        Dynamics(robot)
    v = np.array([0.1, -0.05, 0.08, 0.02, -0.1, 0.06, 0.05])
    answer(law, POSE, v)
    J, M = dynamics.jacobian(POSE, LINK), dynamics.mass_matrix(POSE)
    inertia = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    K = np.diag(law.settings.impedance.values[:6])
    squares, vectors = eigh(K, inertia)
    # Lambda = Q Q^T, K = Q diag(w^2) Q^T with Q = Lambda W.
    Q = inertia @ vectors
    np.testing.assert_allclose(Q @ np.diag(squares) @ Q.T, K, atol=1e-6)
    D = Q @ np.diag(1.4 * np.sqrt(squares)) @ Q.T
    np.testing.assert_allclose(law.wrench, -D @ (J @ v), rtol=1e-7, atol=1e-9)
    # Every mode has the ratio: the eigenvalues of the linear system show it.
    half = cholesky(inertia, lower=True)
    inner = solve_triangular(half, solve_triangular(half, D, lower=True).T, lower=True)
    np.testing.assert_allclose(np.linalg.eigvalsh(inner), np.sort(1.4 * np.sqrt(squares)))


def test_given_damping_acts_along_the_axes(robot):
    law = law_of(robot, Impedance(SOFT.stiffness, SOFT.rotational_stiffness, 1.0,
                                  (40.0, 50.0, 60.0), (3.0, 4.0, 5.0)))
    v = 0.1 * np.ones(7)
    answer(law, POSE, v)
    velocity = Dynamics(robot).jacobian(POSE, LINK) @ v
    np.testing.assert_allclose(law.wrench, -np.array([40.0, 50.0, 60.0, 3.0, 4.0, 5.0]) * velocity,
                               rtol=1e-9)


def test_energy_only_falls(robot):
    """Of an arm that is released away from its pose; posture and limits are far away."""
    law, dynamics = law_of(robot), Dynamics(robot)
    q, v = near(law, np.array([0.06, -0.05, 0.08]), np.array([0.4, -0.3, 0.2])), STILL.copy()
    step, energies = 2e-4, []
    for _ in range(8000):
        energies.append(energy(law, q, v))
        v = v + step * dynamics.forward_dynamics(q, v, answer(law, q, v))
        q = q + step * v
    energies = np.array(energies)
    assert np.diff(energies).max() < 0.0
    assert energies[-1] < 0.01 * energies[0]


def test_null_space_does_not_move_the_tip(robot):
    posture = POSE + [0.5, 0.0, -0.6, 0.0, 0.4, 0.0, 0.0]
    dynamics = Dynamics(robot)
    v = 0.2 * np.ones(7)
    law, other = (law_of(robot, posture=posture, posture_rate=rate) for rate in (5.0, 0.0))
    # Its acceleration and that of the same arm without posture: the difference does not move it.
    difference = answer(law, POSE, v) - answer(other, POSE, v)
    a = np.linalg.solve(dynamics.mass_matrix(POSE), difference)
    assert np.abs(a).max() > 0.5
    np.testing.assert_allclose(dynamics.jacobian(POSE, LINK) @ a, 0.0, atol=1e-9)


def test_posture_is_restored(robot):
    law, dynamics = law_of(robot, posture=POSE, posture_rate=5.0), Dynamics(robot)
    null = np.linalg.svd(dynamics.jacobian(POSE, LINK))[2][-1]
    q, v = POSE + 0.2 * null, STILL.copy()
    law.setpoint.begin(dynamics.forward_kinematics(q, LINK))
    for _ in range(2000):
        v = v + 0.001 * dynamics.forward_dynamics(q, v, answer(law, q, v, 0.001))
        q = q + 0.001 * v
    null = np.linalg.svd(dynamics.jacobian(q, LINK))[2][-1]
    assert abs(null @ (q - POSE)) < 0.01


def test_follows_a_twist_without_an_error(robot):
    """Inertia, Coriolis forces and gravity of the motion come from the model."""
    law, dynamics = law_of(robot), Dynamics(robot)
    q, v = POSE.copy(), STILL.copy()
    law.setpoint.follow_twist(np.array([0.1, 0.15, -0.1, 0.2, 0.3, -0.2]))
    errors = []
    for _ in range(1000):
        tau = answer(law, q, v, 0.001)
        errors.append(np.linalg.norm(law.setpoint.position - law.pose[:3, 3]))
        v = v + 0.001 * dynamics.forward_dynamics(q, v, tau)
        q = q + 0.001 * v
    assert np.linalg.norm(law.setpoint.position - dynamics.forward_kinematics(
        POSE, LINK)[:3, 3]) > 0.15
    assert max(errors) < 2e-4


def test_force_is_limited_and_not_stored(robot):
    law = law_of(robot, largest_force=40.0, largest_moment=5.0)
    q = near(law, np.array([-0.2, 0.1, -0.15]), np.array([0.4, 0.0, 0.3]))
    before = law.setpoint.position.copy()
    answer(law, q)
    assert np.linalg.norm(law.wrench[:3]) == pytest.approx(40.0)
    assert np.linalg.norm(law.wrench[3:]) == pytest.approx(5.0)
    # The desired pose is nearer now, where the spring has about this force.
    here = law.model.empty.forward_kinematics(q, LINK)[:3, 3]
    assert np.linalg.norm(law.setpoint.position - here) < 0.6 * np.linalg.norm(before - here)
    answer(law, q)
    assert np.linalg.norm(law.wrench[:3]) == pytest.approx(40.0, rel=0.05)


def test_angle_is_limited(robot):
    law = law_of(robot, Impedance((500.0,) * 3, (0.1,) * 3))
    law.setpoint.quaternion[:] = (Rotation.from_rotvec([0.0, 0.0, 3.0])
                                  * Rotation.from_quat(law.setpoint.quaternion)).as_quat()
    answer(law, POSE)
    here = law.model.empty.forward_kinematics(POSE, LINK)[:3, :3]
    turn = Rotation.from_quat(law.setpoint.quaternion) * Rotation.from_matrix(here).inv()
    # By the sine of half the angle, which is 1 at the beginning.
    assert np.linalg.norm(turn.as_rotvec()) < 0.71 * 3.01


def test_above_the_speed_limit_it_brakes_and_a_wrong_speed_counts_little(robot):
    limits = SetpointLimits(speed=0.2, turn_rate=10.0)
    law, dynamics = law_of(robot, limits=limits), Dynamics(robot)
    M, J = dynamics.mass_matrix(POSE), dynamics.jacobian(POSE, LINK)
    v = np.linalg.pinv(J) @ [0.1, 0.0, 0.0, 0.0, 0.0, 0.0]
    free = law_of(robot)

    def braking(times):
        more = answer(law, POSE, times * v) - answer(free, POSE, times * v)
        return (J @ np.linalg.solve(M, more))[0]

    assert braking(1.9) == pytest.approx(0.0, abs=1e-9)
    assert braking(2.5) == pytest.approx(-law.rate * 0.05, rel=1e-6)
    # From 1.5 times the limit on, neither damper nor brake grow.
    np.testing.assert_allclose(answer(law, POSE, 4.0 * v), answer(law, POSE, 3.0 * v), atol=0.2)


def test_joint_limits_push_back(robot):
    upper = robot.limits.upper[3]
    law, dynamics = law_of(robot), Dynamics(robot)
    q = POSE.copy()
    q[3] = upper - 0.05
    law.setpoint.begin(dynamics.forward_kinematics(q, LINK))
    a = np.linalg.solve(dynamics.mass_matrix(q),
                        answer(law, q) - dynamics.gravity_torque(q))
    assert a[3] == pytest.approx(-law.rate * 20.0 * 0.05)
    np.testing.assert_allclose(np.delete(a, 3), 0.0, atol=1e-8)
    # An arm that begins there is not pushed.
    law.reset(q, STILL)
    np.testing.assert_allclose(answer(law, q), dynamics.gravity_torque(q), atol=1e-8)


@pytest.mark.parametrize('q', [STILL, np.array([0.3, 0.0, 0.0, -1e-9, 0.0, 0.0, 0.2])])
def test_singular_poses_need_bounded_efforts(robot, q):
    """Pulled by the largest force in every direction, and moving."""
    law, dynamics = law_of(robot, largest_force=80.0, largest_moment=15.0), Dynamics(robot)
    J = dynamics.jacobian(q, LINK)
    assert np.linalg.svd(J, compute_uv=False)[-1] < 1e-6
    gravity = dynamics.gravity_torque(q)
    for axis in range(6):
        for sign in (-1.0, 1.0):
            law.reset(q, STILL)
            law.setpoint.position += 0.5 * sign * np.eye(6)[axis, :3]
            law.setpoint.quaternion[:] = (
                Rotation.from_rotvec(0.5 * sign * np.eye(6)[axis, 3:])
                * Rotation.from_quat(law.setpoint.quaternion)).as_quat()
            tau = answer(law, q, 0.3 * np.ones(7))
            assert np.all(np.abs(tau - gravity) < robot.limits.effort)


def test_a_singular_arm_comes_to_rest(robot):
    """Drawn out of reach, it stretches and stays there."""
    law, dynamics = law_of(robot, largest_force=60.0, largest_moment=10.0, posture_rate=4.0,
                           limits=SetpointLimits(timeout=1e9)), Dynamics(robot)
    q, v = POSE.copy(), STILL.copy()
    direction = np.array([0.6, 0.0, 0.8])
    law.setpoint.follow_pose(law.setpoint.position + 2.0 * direction,
                             law.setpoint.quaternion.copy())
    fastest = 0.0
    for _ in range(6000):
        v = v + 0.001 * dynamics.forward_dynamics(q, v, answer(law, q, v, 0.001))
        q = q + 0.001 * v
        fastest = max(fastest, np.abs(v / robot.limits.velocity).max())
    assert fastest < 1.2
    assert np.abs(v).max() < 0.02
    assert np.linalg.norm(law.wrench[:3]) == pytest.approx(60.0, rel=0.05)


@pytest.mark.parametrize(('rotors', 'share'), [(True, 1.0), (False, 0.138)])
def test_assumed_rotors_keep_the_stiffness_of_a_light_wrist(rotors, share):
    links = Robot.from_urdf('arm7')
    law = CartesianImpedanceController(with_rotors(links) if rotors else links, link=LINK,
                                       period=0.002, delay=0.002)
    law.reset(POSE, STILL)
    answer(law, POSE)
    assert law.softened == pytest.approx(share, abs=0.02)


def test_a_light_motion_is_softened_to_what_the_loop_keeps():
    """The last link of arm7 has 0.0007 kg m^2 about its axis, without rotors."""
    robot = Robot.from_urdf('arm7')
    law = law_of(robot, Impedance((500.0,) * 3, (30.0,) * 3))
    J, M = Dynamics(robot).jacobian(POSE, LINK), Dynamics(robot).mass_matrix(POSE)
    mobility = J @ np.linalg.solve(M, J.T)
    q = near(law, np.zeros(3), np.array([0.01, 0.02, -0.01]))
    answer(law, q)
    stiffest = eigh(np.diag(law.settings.impedance.values[:6]), np.linalg.inv(mobility),
                    eigvals_only=True)[-1]
    assert law.softened == pytest.approx(0.6 * law.rate**2 / stiffest, rel=1e-2)
    assert law.softened < 0.5


def test_a_change_of_stiffness_is_smooth_however_often_it_comes(robot):
    law = law_of(robot, blend_time=0.5)
    q = near(law, np.array([0.02, 0.0, 0.0]), np.zeros(3))
    answer(law, q)
    forces = []
    for k in range(600):
        if k == 0:
            law.adjust(Impedance((1500.0, 800.0, 300.0), (30.0,) * 3))
        if k == 100:
            law.adjust(Impedance((100.0, 800.0, 300.0), (30.0,) * 3, 1.0, (20.0,) * 3, (2.0,) * 3))
        answer(law, q, dt=0.002)
        forces.append(law.wrench[0])
    forces = np.array(forces)
    # The whole change takes 250 steps.
    assert np.abs(np.diff(forces)).max() <= 1400.0 * 0.02 / 250.0 + 1e-9
    assert forces[99] == pytest.approx(-0.02 * (500.0 + 0.4 * 1000.0), rel=1e-3)
    assert forces[-1] == pytest.approx(-0.02 * 100.0, rel=1e-3)


def test_loads_and_hand_over(robot):
    """A pose that was held before is the desired one, and a payload is part of gravity."""
    law = law_of(robot)
    held = near(law, np.array([0.0, 0.0, 0.01]), np.zeros(3))
    law.holding_effort(POSE, STILL, held)
    law.reset(POSE, STILL)
    answer(law, POSE)
    assert law.wrench[2] == pytest.approx(3.0, rel=1e-6)
    load = np.zeros((7, 10))
    load[-1, 0], load[-1, 4:10] = 2.0, [0.01, 0.0, 0.0, 0.01, 0.0, 0.01]
    law.carry(load, 0.0)
    law.reset(POSE, STILL)
    loaded = robot.with_parameters(robot.inertial_parameters + load)
    np.testing.assert_allclose(answer(law, POSE), Dynamics(loaded).gravity_torque(POSE), atol=1e-9)


def test_states_that_cannot_be_are_refused(robot):
    law = law_of(robot)
    with pytest.raises(StateError, match='joint3'):
        answer(law, np.where(np.arange(7) == 2, np.nan, POSE))
    with pytest.raises(ControlError, match='joint1 moves at 9'):
        answer(law, POSE, 9.0 * np.eye(7)[0])


@pytest.mark.parametrize(('arguments', 'words'), [
    (((0.0, 1.0, 1.0),), 'stiffness must be three numbers within 1 to 5000'),
    (((100.0,) * 2,), 'stiffness must be three'),
    (((100.0,) * 3, (1e3,) * 3), 'rotational_stiffness must be'),
    (((100.0,) * 3, (1.0,) * 3, 0.1), 'damping_ratio must be within 0.4 to 2'),
    (((100.0,) * 3, (1.0,) * 3, 1.0, (1.0,) * 3), 'rotational_damping must be three')])
def test_impedances_out_of_bounds_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        Impedance(*arguments)


def test_settings_that_do_not_fit_the_robot_are_refused(robot):
    with pytest.raises(ParameterError, match='posture must have 7 values'):
        law_of(robot, posture=(1.0,))
    with pytest.raises(ParameterError, match='is fixed to the base'):
        CartesianImpedanceController(robot, link=robot.base_name)
    with pytest.raises(ParameterError, match='largest_force must be a positive'):
        ImpedanceSettings(largest_force=0.0)
