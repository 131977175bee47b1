# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays, load_dataset
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import Feature
from robot_dynamics.identification.payload import identify_payload, identify_payload_from
from robot_dynamics.identification.signals import SignalSettings
from robot_dynamics.model.inertia import transform_parameters
from robot_dynamics.model.modify import with_payload, with_scaled_masses

COM = np.array([0.02, -0.03, 0.1])


@pytest.fixture
def known(three):
    features = tuple(Feature(axis, term, 0.02) for axis in range(3)
                     for term in ('coulomb', 'viscous'))
    return Model(three.robot, np.eye(3), three.robot.joint_names, features,
                 three.robot.gravity, three.robot.parameters, np.tile([1.0, 2.0], 3),
                 three.robot.parameters)


def carrying(three, sign=1.0, seconds=20.0, noise=0.02):
    t, q, v, a = three.motion(seconds=seconds)
    loaded = with_payload(three.robot, 1.2, COM)
    tau = three.efforts(q, v, a) + sign * (Dynamics(loaded).inverse_dynamics(q, v, a)
                                           - Dynamics(three.robot).inverse_dynamics(q, v, a))
    tau += noise * np.random.default_rng(0).normal(size=tau.shape)
    return dataset_from_arrays(three.robot, t, q, tau)


def test_mass_and_centre_of_a_payload(three, known):
    payload = identify_payload(carrying(three), known, SignalSettings(8.0))
    assert payload.body == 'l3'
    assert payload.mass == pytest.approx(1.2, abs=max(0.01, 3 * payload.deviations[0]))
    assert payload.deviations[0] < 0.05
    added = with_payload(three.robot, 1.2, COM).parameters - three.robot.parameters
    told = np.isfinite(payload.deviations)
    np.testing.assert_array_less(np.abs(payload.parameters - added[20:])[told],
                                 4 * payload.deviations[told] + 5e-3)
    moved = transform_parameters(payload.parameters, np.eye(3), np.array([1.0, 0.0, 0.0]))
    assert moved[1] == pytest.approx(payload.parameters[1] + payload.mass)


@pytest.mark.parametrize('cutoff', [3.0, 8.0])
def test_exact_data_give_the_payload_within_its_deviations(three, known, cutoff):
    """Regressor and efforts are filtered alike."""
    payload = identify_payload(carrying(three, noise=0.0), known, SignalSettings(cutoff))
    added = with_payload(three.robot, 1.2, COM).parameters - three.robot.parameters
    told = np.isfinite(payload.deviations)
    assert np.count_nonzero(told) == 10
    np.testing.assert_array_less(np.abs(payload.parameters - added[20:]),
                                 3 * payload.deviations)


def test_no_payload_is_said(three, known):
    with pytest.raises(RecordingError, match='check sign'):
        identify_payload(carrying(three, -1.0), known, SignalSettings(8.0))
    with pytest.raises(ParameterError, match='name one of'):
        identify_payload(carrying(three), known, SignalSettings(8.0), 'hand')
    with pytest.raises(RecordingError, match='too short'):
        identify_payload(carrying(three, seconds=1.0), known, SignalSettings(0.5))


def test_the_difference_of_two_recordings(three, tmp_path):
    """A YAML that names the recording without the payload; the description is a wrong one."""
    for name, dataset in (('empty', three.log(seconds=30, noise=(0.0, 0.02))),
                          ('loaded', carrying(three, seconds=30))):
        one, = dataset.segments
        np.savez(tmp_path / f'{name}.npz', time=one.time, position=one.position,
                 effort=one.effort)
    wrong = with_scaled_masses(three.robot, {'l2': 1.2, 'l3': 0.8})
    content = {'payload': {'without': 'empty.npz', 'body': 'l3'},
               'estimate': {'friction': 'coulomb', 'armature': False, 'gravity': 'known',
                            'cutoff': 8.0, 'lag': 0.0, 'coulomb_width': 0.02}}
    loaded = load_dataset(tmp_path / 'loaded.npz', wrong)
    payload, arm, empty = identify_payload_from(content, tmp_path, wrong, loaded)
    assert payload.mass == pytest.approx(1.2, abs=0.05)
    np.testing.assert_allclose(payload.com[1:], COM[1:], atol=0.02)
    assert arm.verdict == 'good'
    assert empty.source.endswith('empty.npz')
    for part in (None, {}, {'without': 3}, {'without': 'empty.npz', 'colour': 1}):
        with pytest.raises(ParameterError, match='payload'):
            identify_payload_from({**content, 'payload': part}, tmp_path, wrong, loaded)
