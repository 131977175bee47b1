# SPDX-License-Identifier: Apache-2.0
"""Recordings that contradict their description leave no model, unless it is asked for."""

import json
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.bringup.cli import main
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot

CASES = Path(__file__).parents[4] / 'shared' / 'cases'


@pytest.fixture(autouse=True)
def cases_are_there():
    if not CASES.is_dir():
        pytest.skip('needs ../shared/cases')


def identified(case, log, urdf, output, *more):
    """Return the exit status, and the result."""
    status = main(['identify', str(CASES / case / log), '--robot', str(CASES / case / urdf),
                   '--output', str(output), *more])
    return status, json.loads((output / 'result.json').read_text())


@pytest.mark.parametrize(('case', 'log', 'urdf', 'words'), [
    ('ident_gravity_compensated_moving', 'moving.csv', 'pendulum.urdf', 'gravity-compensated'),
    ('ident_degrees_good', 'log.csv', 'arm.urdf', 'look like degrees'),
    ('ident_swapped_joints', 'swapped.csv', 'arm.urdf', 'have their columns exchanged')])
def test_a_certain_mistake_leaves_no_model(case, log, urdf, words, tmp_path, capsys):
    status, result = identified(case, log, urdf, tmp_path)
    assert status == 1 and result['verdict'] == 'poor'
    assert any(words in reason for reason in result['verdict_reasons'])
    assert not (tmp_path / 'identified.urdf').exists()
    assert not (tmp_path / 'parameters.yaml').exists()
    printed = capsys.readouterr()
    assert printed.out.startswith('Not to be used') and '--allow-inconsistent' in printed.err


def test_a_model_that_is_asked_for(tmp_path):
    status, result = identified('ident_gravity_compensated_moving', 'moving.csv', 'pendulum.urdf',
                                tmp_path, '--allow-inconsistent')
    assert status == 0 and result['verdict'] == 'poor'
    assert (tmp_path / 'identified.urdf').exists()


def test_degrees_with_their_scale_give_a_good_model(tmp_path):
    (tmp_path / 'log.yaml').write_text('position: {scale: 0.017453292519943295}\n')
    status, result = identified('ident_degrees_good', 'log.csv', 'arm.urdf', tmp_path / 'out',
                                '--config', str(tmp_path / 'log.yaml'))
    assert status == 0 and result['verdict'] == 'good'
    q = np.random.default_rng(0).uniform(-2.0, 2.0, (100, 2))
    found, true = (Dynamics(Robot.from_urdf(path)).gravity_torque(q) for path in (
        tmp_path / 'out' / 'identified.urdf', CASES / 'ident_degrees_good' / 'true.urdf'))
    assert np.linalg.norm(found - true) < 0.01 * np.linalg.norm(true)
