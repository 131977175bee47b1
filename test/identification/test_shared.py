# SPDX-License-Identifier: Apache-2.0
"""Normal equations of recordings add up, also those of other processes."""

import pickle

import numpy as np
import pytest

from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.dataset.dataset import joined
from robot_dynamics.identification.normal_equations import NormalEquations
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.shared import identify_shared, recording_equations
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.model.modify import with_scaled_masses

SIGNALS = SignalSettings(8.0)


@pytest.fixture(scope='module')
def logs(three):
    described = with_scaled_masses(three.robot, {'l2': 1.2, 'l3': 0.8})
    return described, [three.log(seconds=12, seed=seed, noise=(1e-5, 0.02), noise_seed=seed,
                                 described=described) for seed in (0, 1, 2)]


def test_recordings_add_up_to_those_of_one_recording(logs):
    robot, datasets = logs
    parts = [pickle.loads(pickle.dumps(recording_equations(one, robot, SIGNALS, 'coulomb')))
             for one in datasets]
    stack = Stack(robot, joined(datasets), SIGNALS, parts[0].stack.terms, coulomb_width=0.02)
    whole = NormalEquations(stack, 1)
    every = range(len(stack.features))
    found = NormalEquations.joined(parts)
    assert found.counts.sum() == whole.counts.sum() == 3 * len(stack.time)
    ours, theirs = (one.of_model(every, robot.gravity, np.arange(one.blocks))
                    for one in (found, whole))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.max(np.abs(theirs)))
    # A recording needs less memory than its rows.
    assert len(pickle.dumps(parts[0])) < 2**20


def test_an_arm_from_its_recordings(three, logs):
    robot, datasets = logs
    found = identify_shared([recording_equations(one, robot, SIGNALS, 'coulomb')
                             for one in datasets])
    assert found.validation.total < 0.03 and found.in_sample.total < 0.03
    friction = dict(zip(found.model.names, zip(found.model.parameters, found.deviations,
                                               strict=True), strict=True))
    for joint in three.robot.joint_names:
        for term, true in (('coulomb', 1.0), ('viscous', 2.0)):
            value, deviation = friction[f'{joint}/{term}']
            assert abs(value - true) < 0.03 and deviation < 0.03


def test_the_deviations_hold_where_the_description_is_wrong(three, logs):
    robot, datasets = logs
    found = identify_shared([recording_equations(one, robot, SIGNALS, 'coulomb')
                             for one in datasets])
    rigid = 10 * robot.n_bodies
    errors = np.abs(found.model.inertial - three.robot.parameters) / found.deviations[:rigid]
    assert found.description_deviation >= 0.3
    # Only the description gives the mass of the first link, 4 kg.
    assert 0.8 < found.deviations[0] < 1.3 and np.mean(errors <= 3.0) >= 0.98


def test_what_does_not_add_up_is_rejected(logs):
    robot, datasets = logs
    with pytest.raises(ParameterError, match='load depends on the load'):
        recording_equations(datasets[0], robot, SIGNALS, ('viscous', 'load'))
    parts = [recording_equations(datasets[0], robot, SIGNALS, 'coulomb', width)
             for width in (0.02, 0.03)]
    with pytest.raises(ParameterError, match='must be the same for all recordings'):
        identify_shared(parts)
    with pytest.raises(RecordingError, match='are missing'):
        identify_shared([])
