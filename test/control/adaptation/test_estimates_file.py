# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.adaptation.estimates_file import load_estimates, save_estimates
from robot_dynamics.control.adaptation.partial_knowledge import PartialKnowledge
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.errors import FileError, ParameterError
from robot_dynamics.files import MARKS
from robot_dynamics.model.modify import with_scaled_masses


def learnt(robot, **keywords):
    """A law that has learnt something."""
    law = AdaptiveController(robot, **keywords)
    q, v, a_d = 0.5 * np.random.default_rng(0).normal(size=(3, robot.n))
    for _ in range(30):
        law.update(q, v, q + 0.05, v, a_d, 0.002, adapt=True)
    assert not law.frozen
    return law


@pytest.mark.slow
@pytest.mark.parametrize('law', ['gradient', 'memory', 'natural'])
def test_what_was_learnt_comes_back(arm3, tmp_path, law):
    gains = AdaptationGains(law=law)
    before, after = learnt(arm3, adaptation=gains), AdaptiveController(arm3, adaptation=gains)
    before.save(tmp_path / 'learnt.yaml')
    assert {path.name for path in tmp_path.iterdir()} == {'learnt.yaml', MARKS}
    assert np.any(before.estimate != after.estimate)
    after.restore(tmp_path / 'learnt.yaml')
    np.testing.assert_allclose(after.estimate, before.estimate, rtol=1e-12, atol=1e-12)


def test_odd_names_survive(arm3, tmp_path):
    names = ('a "b"/m', 'x: {\\}/mx', 'é\n#/my')
    robot = replace(arm3, name='- [odd] "name"')
    values = np.array([1.0, -2.5e-17, 3e12])
    save_estimates(tmp_path / 'f.yaml', robot, names, values, 2.0 * values)
    np.testing.assert_array_equal(
        load_estimates(tmp_path / 'f.yaml', robot, names, values), 2.0 * values)


@pytest.mark.slow
def test_a_file_of_something_else_is_refused_and_nothing_changes(arm3, tmp_path):
    path = tmp_path / 'learnt.yaml'
    learnt(arm3).save(path)
    for robot, gains, reason in (
            (replace(arm3, name='other'), AdaptationGains(), 'must be of the robot'),
            (with_scaled_masses(arm3, 1.1), AdaptationGains(), 'another model'),
            (arm3, AdaptationGains(terms=('viscous',)), 'too many'),
            (arm3, AdaptationGains(terms=('viscous', 'coulomb', 'offset')), 'no '),
            (arm3, AdaptationGains(largest_payload=1e-9), 'beyond')):
        law = AdaptiveController(robot, adaptation=gains)
        before = law.estimate.copy()
        with pytest.raises(ParameterError, match=reason):
            law.restore(path)
        np.testing.assert_array_equal(law.estimate, before)
    law = AdaptiveController(arm3, known=PartialKnowledge(links=('fore',)))
    with pytest.raises(ParameterError, match='known'):
        law.restore(path)


@pytest.mark.parametrize('scale', [1e-6, 1.0, 1e4])
@pytest.mark.parametrize('name', ['upper/m', 'hand/Jyy'])
def test_an_arm_of_any_size_with_another_parameter_is_another_model(arm3, tmp_path, scale, name):
    arm = with_scaled_masses(arm3, scale)
    learnt(arm).save(tmp_path / 'f.yaml')
    AdaptiveController(arm).restore(tmp_path / 'f.yaml')
    parameters = arm.inertial_parameters.copy()
    parameters[divmod(AdaptiveController(arm).estimate_names.index(name), 10)] *= 1.01
    with pytest.raises(ParameterError, match=f"another model: '{name}'"):
        AdaptiveController(arm.with_parameters(parameters)).restore(tmp_path / 'f.yaml')


@pytest.mark.parametrize('text', ['', '[]', 'format: 2', 'format: 1', 'format: 1\nrobot: arm3',
                                  'format: 1\nrobot: arm3\nparameters: []', '{', '\x00'])
def test_what_is_no_file_of_estimates_is_refused(arm3, tmp_path, text):
    path = tmp_path / 'f.yaml'
    path.write_text(text)
    with pytest.raises(ParameterError, match=r'f\.yaml'):
        AdaptiveController(arm3).restore(path)


@pytest.mark.parametrize('value', ['.nan', '.inf', '1e400', 'true', 'text', '[1]', '-5.0'])
def test_a_value_that_no_body_has_is_refused(arm3, tmp_path, value):
    path = tmp_path / 'f.yaml'
    law = learnt(arm3)
    law.save(path)
    lines = path.read_text().splitlines()
    row = next(k for k, line in enumerate(lines) if '"fore/m"' in line)
    lines[row] = lines[row][:lines[row].index('estimate:')] + f'estimate: {value}}}'
    path.write_text('\n'.join(lines))
    before = law.estimate.copy()
    with pytest.raises(ParameterError, match='fore'):
        law.restore(path)
    np.testing.assert_array_equal(law.estimate, before)


def test_files_that_cannot_be_are_refused(arm3, tmp_path):
    law = AdaptiveController(arm3)
    for path in (tmp_path / 'none' / 'f.yaml', tmp_path, 'a\0b'):
        with pytest.raises(ParameterError):
            law.restore(path)
    with pytest.raises(FileError, match='folder'):
        law.save(tmp_path / 'none' / 'f.yaml')
    law.estimate[3] = np.nan
    with pytest.raises(ParameterError, match='upper/mz must be finite'):
        law.save(tmp_path / 'f.yaml')
    assert not list(tmp_path.iterdir())


def test_only_a_file_of_estimates_of_ours_is_replaced(arm3, tmp_path):
    law, path = learnt(arm3), tmp_path / 'f.yaml'
    law.save(path)
    law.save(path)
    path.write_text(path.read_text() + '# weighed on a scale\n')
    text = path.read_text()
    with pytest.raises(FileError, match=r'f\.yaml was changed after robot_dynamics wrote it'):
        law.save(path)
    assert path.read_text() == text
