# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.identification.checks.described_bodies import (
    description_findings,
    placeholders,
)
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.rigid import EstimateSettings, identify
from robot_dynamics.model.inertia import parameters_from_com


def body(mass=2.0, centre=(0.0, 0.0, 0.1), inertia=(0.02, 0.03, 0.01)):
    return parameters_from_com(mass, centre, np.diag(inertia))


@pytest.fixture
def model(three):
    robot = three.robot.with_parameters(np.concatenate([body(), body(3.0), body(1.2)]))
    return Model(robot, np.eye(3), robot.joint_names, (), robot.gravity, robot.parameters,
                 np.zeros(0), robot.parameters)


@pytest.mark.parametrize(('last', 'words'), [
    (body(1.2), ''), (body(2.4), ''), (body(1.2, (0.0, 0.05, 0.1)), ''),
    (body(0.05, inertia=(8e-4, 1.2e-3, 4e-4)), 'mass 0.05 kg where 1.2 kg is described'),
    (body(6.0, inertia=(0.1, 0.15, 0.05)), 'mass 6 kg where 1.2 kg is described'),
    (body(1.2, (0.4, 0.0, 0.1)), 'centre of mass 400 mm away'),
    (body(1.2, inertia=(0.6, 0.9, 0.3)), 'radius of gyration 866 mm'),
    (body(-0.1), 'mass -0.1 kg where 1.2 kg is described')])
def test_bodies_that_are_far_are_named(model, last, words):
    found = description_findings(replace(model, inertial=np.concatenate(
        [model.inertial[:20], last])))
    assert [one.subject for one in found] == (['l3'] if words else [])
    assert not words or words in found[0].message


def test_placeholders():
    round_body = body(1.0, inertia=(1.0, 1.0, 1.0))
    bodies = np.stack([np.zeros(10), round_body, body(1.0), body(2.0)])
    np.testing.assert_array_equal(placeholders(bodies), [True, True, False, False])
    # Three equal bodies are copies of one another.
    np.testing.assert_array_equal(placeholders(np.stack([body()] * 3 + [body(3.0)])),
                                  [True, True, True, False])
    np.testing.assert_array_equal(placeholders(np.stack([body()] * 2 + [body(3.0)])), False)


def test_a_description_that_is_far_makes_the_model_fair(three):
    """The fit is exact; the centre of the last link is described 0.7 m away."""
    described = three.robot.with_parameters(np.concatenate([
        three.robot.parameters[:20], body(1.5, (-0.4, 0.1, -0.4))]))
    settings = EstimateSettings(friction='coulomb', armature=False, gravity='known', cutoff=8.0,
                                lag=0.0, coulomb_width=0.02, strength=1.0)
    found = identify(three.log(described=described, noise=(0.0, 0.01)), described, settings)
    assert found.validation.total < 0.01 and found.verdict == 'fair'
    assert any(reason.startswith('l3 is far from its description')
               for reason in found.verdict_reasons)
