# SPDX-License-Identifier: Apache-2.0
"""An independent way to M, C, g and Jacobians, and to their derivatives by complex steps.

It is the recursion of Garofalo, Ott, Albu-Schaeffer, "On the closed form computation of the
dynamic matrices and their differentiations", in body axes and with complex numbers: moving
a joint by i h along a velocity makes every analytic quantity f into f + i h df, exactly when
h is 1e-30.
"""

import numpy as np
import pytest

from robot_dynamics.model.joints import JointType, joint_motion
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.robot_data import JointLimits

STEP = 1e-30


def skew(x):
    """Matrix of the vector product."""
    zero = 0.0 * x[0]
    return np.array([[zero, -x[2], x[1]], [x[2], zero, -x[0]], [-x[1], x[0], zero]])


def adj(v):
    """Lie bracket matrix of a twist (linear, angular)."""
    return np.block([[skew(v[3:]), skew(v[:3])], [np.zeros((3, 3)), skew(v[3:])]])


def inverse_adjoint(T):
    """Ad^-1 of a pose: twists of the parent in the axes of the child."""
    R, p = T[:3, :3], T[:3, 3]
    return np.block([[R.T, -R.T @ skew(p)], [np.zeros((3, 3)), R.T]])


def body_inertia(pi):
    """Lambda about the link origin from ten parameters in the order of `Robot`."""
    m, h = pi[0], pi[1:4]
    J = np.array([[pi[4], pi[5], pi[6]], [pi[5], pi[7], pi[8]], [pi[6], pi[8], pi[9]]])
    return np.block([[m * np.eye(3), -skew(h)], [skew(h), J]])


def directions(kind, axis, offset):
    """Xi: twists of the moved link in its own axes per unit velocity, shape (6, velocities)."""
    if kind is JointType.FLOATING:
        return np.eye(6)
    if kind is JointType.SPHERICAL:
        return np.eye(6)[:, 3:]
    if kind is JointType.PLANAR:
        from robot_dynamics.model.rotation import plane_axes
        frame = plane_axes(axis)
        return np.block([[frame[:, :2], np.zeros((3, 1))], [np.zeros((3, 2)), frame[:, 2:]]])
    if kind is JointType.PRISMATIC:
        return np.concatenate([axis, np.zeros(3)])[:, None]
    return np.concatenate([np.cross(axis, offset), axis])[:, None]


class Recursion:
    """J_k and dJ_k/dt of all bodies by eqs. 27 and 28, and the matrices of eq. 6.

    Parameters
    ----------
    robot : Robot
        A robot whose joints are not coupled.
    q, v : ndarray
        State.
    along : ndarray, shape (n,), optional
        Velocities along which the positions are shifted by i STEP.
    """

    def __init__(self, robot, q, v, along=None):
        self.robot, self.v = robot, np.asarray(v)
        at = robot.body_coordinates
        shift = np.zeros(at.n) if along is None else np.asarray(along)
        self.J, self.Jdot, self.R, self.p, self.Xi, self.Ad = [], [], [], [], [], []
        for k in range(robot.n_bodies):
            kind, columns = at.types[k], at.velocities(k)
            Xi = np.zeros((6, at.n))
            Xi[:, columns] = directions(kind, robot.axes[k], robot.link_offsets[k])
            moved = joint_motion(kind, robot.axes[k], robot.link_offsets[k], q[at.positions(k)])
            twist = Xi @ shift
            small = np.eye(4, dtype=complex)
            small[:3, :3] += 1j * STEP * skew(twist[3:])
            small[:3, 3] += 1j * STEP * twist[:3]
            self._extend(k, robot.placements[k] @ moved @ small, Xi)

    def _extend(self, k, T, Xi):
        parent, n = self.robot.parents[k], Xi.shape[1]
        J_p, Jdot_p, R_p, p_p = ((np.zeros((6, n)), np.zeros((6, n)), np.eye(3), np.zeros(3))
                                 if parent < 0 else
                                 (x[parent] for x in (self.J, self.Jdot, self.R, self.p)))
        Ad = inverse_adjoint(T)
        self.Xi.append(Xi)
        self.Ad.append(Ad)
        self.J.append(Ad @ J_p + Xi)
        self.Jdot.append(Ad @ Jdot_p - adj(Xi @ self.v) @ Ad @ J_p)
        self.R.append(R_p @ T[:3, :3])
        self.p.append(p_p + R_p @ T[:3, 3])

    @property
    def M(self):
        """Eq. 6a."""
        return sum(J.T @ L @ J for J, L in zip(self.J, self._inertias, strict=True))

    def C(self, factorisation):
        """Eq. 6b; or with the operator that makes it the Christoffel matrix."""
        total = 0.0
        for J, Jdot, L in zip(self.J, self.Jdot, self._inertias, strict=True):
            twist = J @ self.v
            Psi = L @ adj(twist) - adj(twist).T @ L
            if factorisation == 'christoffel':
                h = L @ twist
                Hb = -np.block([[np.zeros((3, 3)), skew(h[:3])], [skew(h[:3]), skew(h[3:])]])
                Psi = 0.5 * (Psi + Hb)
            total = total + J.T @ (Psi @ J + L @ Jdot)
        return total

    @property
    def g(self):
        """Eq. 6c."""
        return sum(J.T @ L @ np.concatenate([R.T @ -self.robot.gravity, np.zeros(3)])
                   for J, L, R in zip(self.J, self._inertias, self.R, strict=True))

    def tau(self, a):
        """Eq. 5."""
        return self.M @ a + self.C('garofalo') @ self.v + self.g

    def body_jacobian(self, k, pose, rate=False):
        """Jacobian of a frame on body k in the axes of the frame, or its rate."""
        return inverse_adjoint(pose) @ (self.Jdot if rate else self.J)[k]

    def base_jacobian(self, k, pose, rate=False):
        """Jacobian of a frame on body k in the axes of the base, or its rate."""
        J = self.body_jacobian(k, pose)
        R = self.R[k] @ pose[:3, :3]
        both = np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), R]])
        if not rate:
            return both @ J
        omega = skew((J @ self.v)[3:])
        turning = np.block([[omega, np.zeros((3, 3))], [np.zeros((3, 3)), omega]])
        return both @ (self.body_jacobian(k, pose, rate=True) + turning @ J)

    @property
    def _inertias(self):
        return [body_inertia(pi) for pi in self.robot.inertial_parameters]


class Differences:
    """Exact derivatives of what `Recursion` computes, at a state of a robot."""

    def __init__(self, robot, q, v):
        self.robot, self.q, self.v = robot, q, v

    @property
    def here(self):
        """The recursion at the state itself."""
        return Recursion(self.robot, self.q, self.v)

    def along(self, quantity, of_q, of_v):
        """Derivative of quantity(recursion) where q and v change at these velocities."""
        moved = Recursion(self.robot, self.q, self.v + 1j * STEP * np.asarray(of_v), of_q)
        return np.imag(quantity(moved)) / STEP

    def by_q(self, quantity):
        """Derivatives along each velocity; the index of the velocity comes first."""
        unit, still = np.eye(len(self.v)), np.zeros(len(self.v))
        return np.array([self.along(quantity, unit[h], still) for h in range(len(self.v))])

    def by_v(self, quantity):
        """Derivatives with respect to each velocity, whose index comes first."""
        unit, still = np.eye(len(self.v)), np.zeros(len(self.v))
        return np.array([self.along(quantity, still, unit[h]) for h in range(len(self.v))])

    def by_time(self, quantity, a):
        """Time derivative where the velocities change at a."""
        return self.along(quantity, self.v, a)


ALL_TYPES = (JointType.REVOLUTE, JointType.PRISMATIC, JointType.FLOATING, JointType.PLANAR,
             JointType.SPHERICAL)


def with_joint_types(robot, types):
    """The same bodies with joints of these types, in base-to-tip order."""
    coupled = [JointType(kind) for kind in types]
    n = sum(max(1, len(kind.velocity_names)) for kind in coupled)
    single = np.array([kind.has_one_coordinate for kind in coupled])
    return Robot(
        name='mixed', base_name=robot.base_name, body_names=robot.body_names,
        body_joint_names=robot.body_joint_names, parents=robot.parents,
        joint_types=np.array(types), placements=robot.placements, axes=robot.axes,
        link_offsets=robot.link_offsets * single[:, None],
        inertial_parameters=robot.inertial_parameters, gravity=robot.gravity,
        joint_names=robot.body_joint_names, coupling=np.eye(n), coupling_offset=np.zeros(n),
        limits=JointLimits(np.full(n, -np.inf), np.full(n, np.inf), np.full(n, np.nan),
                           np.full(n, np.nan)),
        damping=np.zeros(n), friction=np.zeros(n), armature=np.zeros(n))


def mixed_tree(tree, seed, bodies=4):
    """A random tree with joints of all types, at least one of several coordinates."""
    rng = np.random.default_rng(1000 + seed)
    types = rng.choice(ALL_TYPES, bodies)
    types[rng.integers(bodies)] = rng.choice(ALL_TYPES[2:])
    return with_joint_types(tree(seed, bodies), types)


def random_state(robot, rng):
    """Positions, velocities and accelerations."""
    v, a, step = rng.uniform(-1.5, 1.5, (3, robot.n))
    return robot.integrate(robot.neutral(), step), v, a


@pytest.fixture(scope='session')
def differences():
    """`Differences`."""
    return Differences


@pytest.fixture(scope='session')
def recursion():
    """`Recursion`."""
    return Recursion


@pytest.fixture(scope='session')
def mixed(tree):
    """`mixed_tree` by its seed."""
    return lambda seed, bodies=4: mixed_tree(tree, seed, bodies)


@pytest.fixture(scope='session')
def state():
    """`random_state`."""
    return random_state


@pytest.fixture(scope='session')
def lie():
    """Functions adj and inverse_adjoint."""
    return adj, inverse_adjoint


@pytest.fixture(scope='session')
def near():
    """Compare with an expected array, relative to its largest entry."""
    def compare(value, expected, tolerance=1e-11):
        expected = np.asarray(expected)
        assert value.shape == expected.shape
        error = np.max(np.abs(value - expected), initial=0.0)
        assert error <= tolerance * max(np.max(np.abs(expected), initial=0.0), 1.0)
    return compare


@pytest.fixture(scope='session')
def random_case(tree):
    """A robot with joints of these types, as a chain or branched, and a state."""
    def make(seed, kinds, branch):
        robot = with_joint_types(tree(seed, len(kinds), branch=branch), kinds)
        return robot, *random_state(robot, np.random.default_rng(seed))
    return make


SEEDS = range(8)


@pytest.fixture(params=[*[f'single-{seed}' for seed in SEEDS],
                        *[f'mixed-{seed}' for seed in SEEDS]])
def case(request, tree):
    """A robot of random shape, with joints of one coordinate or of any, and a state."""
    kind, _, seed = request.param.partition('-')
    seed = int(seed)
    rng = np.random.default_rng(seed)
    robot = (tree(seed, int(rng.integers(1, 8)), prismatic=0.4) if kind == 'single'
             else mixed_tree(tree, seed, int(rng.integers(1, 5))))
    return robot, *random_state(robot, rng)
