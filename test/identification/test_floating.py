# SPDX-License-Identifier: Apache-2.0
"""Robots with a floating base, identified from joint efforts and the twist of the base."""

import re
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.identification.floating import BASE, identify_floating
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

RATE = 200.0
VISCOUS = np.array([0.5, 0.3, 0.2])


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(resolve_robot('rpr'), floating_base=True)


def motion(robot, seconds, base):
    """Times, q, v and a: joints and, with ``base``, the twist are sums of sines."""
    random = np.random.default_rng(3)
    t = np.arange(int(seconds * RATE)) / RATE
    n = robot.n
    w = 2 * np.pi * random.uniform(0.1, 0.8, (4, n))
    size, phase = random.uniform(0.1, 0.3, (4, n)), random.uniform(0.0, 6.0, (4, n))
    angle = w[:, None] * t[:, None] + phase[:, None]
    place = np.sum(size[:, None] * np.sin(angle), axis=0)
    v = np.sum((size * w)[:, None] * np.cos(angle), axis=0)
    a = -np.sum((size * w ** 2)[:, None] * np.sin(angle), axis=0)
    q = np.zeros((len(t), robot.nq))
    q[:, 7:] = place[:, BASE:]
    q[0, 6] = 1.0
    if not base:
        v[0, :BASE] = 0.0
    for k in range(len(t) - 1):
        if not base:
            # No effort acts on the base: its acceleration follows from that of the joints.
            M, h = Dynamics(robot).mass_matrix(q[k]), Dynamics(robot).inverse_dynamics(
                q[k], v[k], np.zeros(n))
            a[k, :BASE] = -np.linalg.solve(M[:BASE, :BASE],
                                           h[:BASE] + M[:BASE, BASE:] @ a[k, BASE:])
            v[k + 1, :BASE] = v[k, :BASE] + a[k, :BASE] / RATE
        # The mean speed of the step.
        step = robot.integrate(q[k], 0.5 * (v[k] + v[k + 1]), 1.0 / RATE)
        q[k + 1, :7] = step[:7]
    return t, q, v, a


def base_errors(found, robot):
    """Errors of the base parameters in their standard deviations."""
    true = np.concatenate([robot.parameters, [
        VISCOUS[robot.body_joint_names[1:].index(name.partition('/')[0])]
        for name in found.names[len(robot.parameters):]]])
    return (found.linear.x - found.base.matrix @ true) / np.sqrt(
        np.diag(found.linear.covariance))


def test_an_arm_on_a_drone_with_known_thrust(robot):
    t, q, v, a = motion(robot, 30.0, base=True)
    tau = Dynamics(robot).inverse_dynamics(q, v, a)
    external = np.zeros_like(tau)
    external[:, :BASE] = tau[:, :BASE]
    random = np.random.default_rng(0)
    effort = tau[:, BASE:] + VISCOUS * v[:, BASE:]
    external = external + 0.05 * random.normal(size=external.shape) * (np.arange(robot.n) < BASE)
    effort = effort + 0.05 * random.normal(size=effort.shape)
    found = identify_floating(with_scaled_masses(robot, 1.3), t, q, v[:, :BASE], effort,
                              cutoff=4.0, external=external, friction=('viscous',), strength=1.0)
    errors = base_errors(found, robot)
    assert np.mean(np.abs(errors) < 3.0) > 0.9
    # Every body has its mass by the motion of the base, and the whole its weight.
    assert found.values[:10 * robot.n_bodies:10].sum() == pytest.approx(
        robot.parameters[::10].sum(), rel=0.01)
    assert found.values[10 * robot.n_bodies:] == pytest.approx(VISCOUS, abs=0.05)
    assert np.all(found.held_out < 0.2)


def test_free_flight_without_external_wrenches(robot):
    robot = robot.with_gravity((0.0, 0.0, 0.0))
    t, q, v, a = motion(robot, 10.0, base=False)
    tau = Dynamics(robot).inverse_dynamics(q, v, a)
    assert np.max(np.abs(tau[:-1, :BASE])) < 1e-6
    effort = tau[:, BASE:] + VISCOUS * v[:, BASE:]
    found = identify_floating(with_scaled_masses(robot, 1.3), t, q, v[:, :BASE], effort,
                              cutoff=4.0, friction=('viscous',), strength=1e-3)
    # Joint efforts determine the scale that zero efforts of the base leave open.
    assert np.max(found.rmse[BASE:]) < 0.02 * np.max(np.std(tau[:, BASE:], axis=0))
    described = with_scaled_masses(robot, 1.3)
    ours, true, wrong = (Dynamics(one).inverse_dynamics(q[200:1800], v[200:1800], a[200:1800])
                         for one in (found.robot, robot, described))
    assert np.linalg.norm(ours - true) < 0.1 * np.linalg.norm(wrong - true)


def test_a_fixed_base_is_refused():
    with pytest.raises(ModelError, match='must have a floating base'):
        identify_floating(Robot.from_urdf(resolve_robot('rpr')), [0.0], [[0.0]], [[0.0]],
                          [[0.0]], cutoff=1.0)


def test_the_example_of_the_document(robot, tmp_path, monkeypatch):
    text = (Path(__file__).parents[2] / 'docs' / 'identification.md').read_text()
    (code,) = [block for block in re.findall(r'```python\n(.*?)```', text, re.DOTALL)
               if 'identify_floating' in block]
    t, q, v, a = motion(robot, 10.0, base=True)
    tau = Dynamics(robot).inverse_dynamics(q, v, a)
    external = tau * (np.arange(robot.n) < BASE)
    monkeypatch.chdir(tmp_path)
    Path('drone_arm.urdf').write_text(Robot.from_urdf(resolve_robot('rpr')).to_urdf())
    np.savez('flight.npz', time=t, q=q, twist=v[:, :BASE], effort=tau[:, BASE:],
             external=external)
    values = {}
    exec(code, values)
    # The last joint turns at 1 N m or so.
    assert np.max(values['found'].held_out) < 0.05
