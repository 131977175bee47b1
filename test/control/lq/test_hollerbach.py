# SPDX-License-Identifier: Apache-2.0
"""The report's own derivation, corrected, against the equations that the package uses."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark.hollerbach import recursion_3x3, recursion_4x4
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.linearisation import LinearModel
from robot_dynamics.errors import ModelError
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import shipped_robots

FORMS = (recursion_4x4, recursion_3x3)


def read(name):
    path = shipped_robots()[name]
    return Robot.from_dh(path) if path.suffix == '.yaml' else Robot.from_urdf(path)


def crooked(robot, seed):
    """The same chain with frames off their joints, axes and gravity askew."""
    random = np.random.default_rng(seed)
    axes = random.normal(size=(robot.n, 3))
    return replace(robot, link_offsets=random.uniform(-0.3, 0.3, (robot.n, 3)),
                   axes=axes / np.linalg.norm(axes, axis=1, keepdims=True),
                   gravity=random.normal(size=3) * 9.0)


CHAINS = {name: (lambda name=name: read(name)) for name in sorted(shipped_robots())}
CHAINS |= {f'crooked {name}': (lambda name=name: crooked(read(name), 4))
           for name in ('arm7', 'rpr', 'planar_2r')}


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('name', CHAINS)
def test_efforts_and_derivatives(name, form):
    robot = CHAINS[name]()
    if form is recursion_3x3 and np.any(robot.joint_types == JointType.PRISMATIC):
        with pytest.raises(ModelError, match='prismatic'):
            form(robot, *np.zeros((3, robot.n)))
        return
    dynamics, random = Dynamics(robot, armature=False), np.random.default_rng(8)
    for _ in range(3):
        q, v, a = random.normal(size=(3, robot.n)) * [[2.0], [1.0], [3.0]]
        found = form(robot, q, v, a)
        scale = np.abs(found.tau).max()
        np.testing.assert_allclose(found.tau, dynamics.inverse_dynamics(q, v, a), rtol=1e-11,
                                   atol=1e-12 * scale)
        for derivative, wanted in zip((found.dtau_dq, found.dtau_dv, found.M),
                                      dynamics.inverse_dynamics_derivatives(q, v, a), strict=True):
            np.testing.assert_allclose(derivative, wanted, rtol=1e-10,
                                       atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize('form', FORMS)
def test_a_and_b_of_the_two_link_arm(two_link, two_link_reference, form):
    for point in two_link_reference['operating_points']:
        found = form(two_link, *(np.array(point[name]) for name in
                                 ('theta', 'theta_dot', 'theta_ddot')))
        inverse = np.linalg.inv(found.M)
        model = LinearModel.of(np.zeros((2, 2)), -inverse @ found.dtau_dq,
                               -inverse @ found.dtau_dv, inverse)
        np.testing.assert_allclose(model.A, point['A'], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.B, point['B'], rtol=1e-9, atol=1e-9)


def chain_of(n):
    """The first joints of arm7, none of whose frames sits on another or on its joint."""
    arm = read('arm7')
    chain = crooked(Robot.from_urdf(shipped_robots()['arm7'],
                                    locked=dict.fromkeys(arm.joint_names[n:], 0.0)), 1)
    placements = np.array(chain.placements)
    placements[:, :3, 3] += 0.1
    return replace(chain, placements=placements)


@pytest.mark.parametrize('form', FORMS)
def test_work_grows_with_the_square_of_the_joints(form):
    counts = [form(chain_of(n), *np.ones((3, n))).arithmetic for n in range(2, 8)]
    for work in ([c.multiplications for c in counts], [c.additions for c in counts]):
        assert np.all(np.diff(work, 3) == 0) and np.all(np.diff(work, 2) > 0)


def test_rotations_alone_take_a_third_less():
    with_translation, alone = (form(chain_of(6), *np.ones((3, 6))).arithmetic for form in FORMS)
    assert 0.5 < alone.multiplications / with_translation.multiplications < 0.67
    assert 0.5 < alone.additions / with_translation.additions < 0.67


def test_what_is_no_chain_is_refused():
    tree = read('arm7')
    branched = replace(tree, parents=[-1, 0, 1, 2, 3, 4, 4])
    for form in FORMS:
        with pytest.raises(ModelError) as caught:
            form(branched, *np.zeros((3, 7)))
        assert caught.value.subject == 'arm7' and caught.value.remedy
