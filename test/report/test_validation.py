# SPDX-License-Identifier: Apache-2.0
import json
import re

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.validation import Candidate, described_model, validate
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.report.validation import validation_page, validation_text


@pytest.fixture(scope='module')
def result():
    """Three models of an arm on a recording of the first one."""
    robot = Robot.from_urdf(resolve_robot('planar_2r'))
    t, w = np.arange(0.0, 20.0, 0.01)[:, None], np.array([1.0, 1.7])
    q, v, a = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    dataset = dataset_from_arrays(robot, t[:, 0], q, Dynamics(robot).inverse_dynamics(q, v, a))
    candidates = [Candidate(f'model <{factor}>', described_model(
        with_scaled_masses(robot, factor))) for factor in (1.0, 1.1, 1.5)]
    return validate(dataset, candidates), dataset


def test_the_page_has_every_model(outline_of, result):
    found, dataset = result
    page = validation_page(found, dataset)
    outline = outline_of(page)
    assert outline.open == [] and outline.loads == [] and '{{' not in page
    assert {'effort', 'residual', 'spectrum', 'overview', 'tabs'} <= set(outline.ids)
    text = ' '.join(outline.text)
    for one in found.candidates:
        assert one.name in text
    for body in found.candidates[0].model.robot.body_names:
        assert body in text
    data = json.loads(re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    measured = np.array(data['efforts']['measured'])
    assert [one['name'] for one in data['efforts']['models']] == [
        one.name for one in found.candidates]
    for one, factor in zip(data['efforts']['models'], (1.0, 1.1, 1.5), strict=True):
        np.testing.assert_allclose(one['predicted'], factor * measured,
                                   atol=0.02 * np.max(np.abs(measured)))


def test_the_words_for_a_terminal(result):
    lines = validation_text(result[0]).splitlines()
    assert lines[0].startswith('Good: model <1.0> predicts this recording with ')
    assert 'model <1.1>: 10.0' in lines[0] and 'model <1.5>: 50' in lines[0]
    assert any(line.split() == ['verdict', 'good', 'fair', 'poor'] for line in lines)
