# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays, load_dataset
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.observation_matrix import Feature
from robot_dynamics.identification.outputs import payload_facts, with_deviation
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


def carrying(three, sign=1.0, seconds=20.0, noise=0.02, inertia=None, gains=1.0):
    t, q, v, a = three.motion(seconds=seconds)
    loaded = with_payload(three.robot, 1.2, COM, inertia)
    tau = three.efforts(q, v, a) + sign * (Dynamics(loaded).inverse_dynamics(q, v, a)
                                           - Dynamics(three.robot).inverse_dynamics(q, v, a))
    tau = gains * tau + noise * np.random.default_rng(0).normal(size=tau.shape)
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


def test_inertia_about_the_centre_within_its_deviations(three, known):
    """The recording determines the inertia about the axes of the joints; a ball has the rest."""
    inertia = np.diag([0.03, 0.05, 0.04])
    payload = identify_payload(carrying(three, inertia=inertia), known, SignalSettings(8.0))
    assert np.all(np.linalg.eigvalsh(payload.inertia) > 0.0)
    assert payload.inertia_deviations[1, 1] < 0.02
    np.testing.assert_array_less(np.abs(payload.inertia - inertia),
                                 4.0 * payload.inertia_deviations + 1e-3)


def test_drive_gains_from_a_weighed_payload(three, known):
    """The arm was identified with the same gains, and its efforts are as wrong as they are."""
    gains = np.array([1.05, 1.095, 0.93])
    class Reported:
        """Efforts of the arm as its drives report them."""

        robot, gravity = known.robot, known.gravity

        def efforts(self, motion):
            return gains * known.efforts(motion)
    dataset = carrying(three, gains=gains)
    weighed = identify_payload(dataset, Reported(), SignalSettings(8.0), known_mass=1.2)
    assert weighed.mass == 1.2
    np.testing.assert_array_less(np.abs(weighed.gains - gains), 4.0 * weighed.gain_deviations)
    # Joint 1 turns about the vertical: only the inertia of the payload loads it.
    assert np.all(weighed.gain_deviations[1:] < 0.01)
    np.testing.assert_allclose(weighed.com[1:], COM[1:], atol=0.01)
    # Without the mass, the gains are in the mass.
    plain = identify_payload(dataset, Reported(), SignalSettings(8.0))
    assert plain.gains is None and abs(plain.mass - 1.2) > 0.01
    texts = [dict(payload_facts(one, ('j1', 'j2', 'j3'))) for one in (plain, weighed)]
    assert 'Weigh the payload' in texts[0]['drive gains']
    assert texts[1]['reported over true effort, j2'].startswith('1.09')


def test_deviations_have_two_digits():
    for value, deviation, text in ((2.80512, 0.00042, '2.80512 +- 0.00042'),
                                   (2.8, 0.13, '2.80 +- 0.13'), (12.3, 4.0, '12.3 +- 4.0'),
                                   (0.5, np.inf, '0.5 (not determined)')):
        assert with_deviation(value, deviation) == text
