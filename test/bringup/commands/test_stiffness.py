# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest

from robot_dynamics.bringup.cli import main


@pytest.fixture
def log(tmp_path):
    """A joint with a ratio of 50, a spring of 1000 N m/rad and a play of 4 mrad."""
    t = np.arange(4000) / 200.0
    link = np.sin(t) + 0.3 * np.sin(2.3 * t)
    torque = 10.0 * np.cos(link)  + 12.0 * np.sin(1.7 * t)
    motor = 50.0 * (link + torque / 1000.0 + 0.002 * np.sign(torque))
    path = tmp_path / 'log.csv'
    np.savetxt(path, np.column_stack([t, motor, link, torque]), delimiter=',', comments='',
               header='time,motor_<b>_position,<b>_position,<b>_effort')
    return path


def test_report_of_a_log(log, tmp_path, capsys):
    pytest.importorskip('matplotlib')
    assert main(['stiffness', str(log), '--output', str(tmp_path / 'out')]) == 0
    text = capsys.readouterr().out
    assert 'backlash' in text and 'stiffness' in text
    (joint,) = json.loads((tmp_path / 'out' / 'stiffness.json').read_text())
    assert joint['spring']['stiffness'] == pytest.approx(1000.0, rel=0.01)
    assert joint['spring']['lost_motion'] == pytest.approx(0.004, rel=0.05)
    page = (tmp_path / 'out' / 'stiffness.html').read_text()
    assert '&lt;b&gt;' in page and '<b>' not in page and 'backlash' in page
    assert (tmp_path / 'out' / 'stiffness.png').read_bytes().startswith(b'\x89PNG')


@pytest.mark.slow
def test_errors_are_one_line(log, tmp_path, capsys):
    settings = tmp_path / 'settings.yaml'
    settings.write_text('joints: {elbow: {motor: shaft, link: 2}}')
    assert main(['stiffness', str(log), '--settings', str(settings)]) == 1
    assert "no column 'shaft'" in capsys.readouterr().err
    assert main(['stiffness', str(tmp_path / 'nothing.csv')]) == 1
    assert 'nothing.csv' in capsys.readouterr().err
    (tmp_path / 'file').write_text('')
    assert main(['stiffness', str(log), '--output', str(tmp_path / 'file')]) == 1
    assert 'must be a folder, got a file' in capsys.readouterr().err
