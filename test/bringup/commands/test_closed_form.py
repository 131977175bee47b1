# SPDX-License-Identifier: Apache-2.0
import pytest

from robot_dynamics.bringup.cli import main

ELBOW = """\
name: planar_elbow
convention: standard
gravity: [0, -g, 0]
links:
  - {a: a1, alpha: 0, d: 0}
  - {a: a2, alpha: 0, d: 0}
"""


@pytest.fixture
def elbow(tmp_path):
    path = tmp_path / 'elbow.yaml'
    path.write_text(ELBOW)
    return str(path)


def test_a_regressor_of_a_table_with_symbols(elbow, capsys):
    assert main(['closed-form', elbow, '--reduced']) == 0
    text = capsys.readouterr().out
    assert 'columns: m1, mx1, my1, Jzz1, m2, mx2, my2, Jzz2\n' in text
    assert '12 of 20 parameters have no effect: mz1, ' in text
    assert '6 combinations of parameters' in text
    assert 'Yr[1, 4] = ar1\n' in text


def test_written_out_with_combinations(elbow, capsys):
    pytest.importorskip('sympy')
    assert main(['closed-form', elbow, '--explicit', '--combinations', '--method', 'blocks']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 'Yr[1, 2] = 2*a1*ar1 + g*cos(q1)' in lines
    assert '  a1*m1 + a1*m2 + mx1' in lines


@pytest.mark.parametrize('language', ['text', 'latex', 'python', 'c', 'wolfram'])
@pytest.mark.parametrize('what', ['tau', 'slotine-li'])
def test_a_file_in_each_language(tmp_path, capsys, language, what):
    path = tmp_path / 'formulas'
    assert main(['closed-form', 'rpr', '--what', what, '--format', language, '--symbols',
                 '--output', str(path)]) == 0
    assert capsys.readouterr().out == ''
    assert path.read_text().count('\n') > 10


def test_own_parameters_as_numbers(capsys):
    assert main(['closed-form', 'planar_2r', '--what', 'M', '--numbers', '--format', 'c']) == 0
    assert 'pi[' not in capsys.readouterr().out


def test_lengths_are_read_as_they_were_written(capsys):
    pytest.importorskip('sympy')
    assert main(['closed-form', 'planar_2r', '--what', 'M', '--explicit']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 'M[1, 1] = Jzz1 + Jzz2 + 0.2025*m2 + 0.9*mx2*cos(q2) - 0.9*my2*sin(q2)' in lines
    assert main(['closed-form', 'planar_2r', '--combinations']) == 0
    assert '  0.45*m2 + mx1' in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(('what', 'option', 'other'), [
    ('M', '--reduced', 'slotine-li'), ('tau', '--combinations', 'slotine-li'),
    ('regressor', '--numbers', 'tau'),
])
def test_an_option_without_effect_is_refused(capsys, what, option, other):
    assert main(['closed-form', 'planar_2r', '--what', what, option]) == 1
    complaint = capsys.readouterr().err
    assert f'{option} has no effect on {what}; leave it out' in complaint
    assert other in complaint


def test_a_file_that_cannot_be_written(elbow, tmp_path, capsys):
    assert main(['closed-form', elbow, '--output', str(tmp_path / 'no' / 'file')]) == 1
    assert 'cannot be written (No such file or directory)' in capsys.readouterr().err


def test_a_robot_that_cannot_be_read(tmp_path, capsys):
    path = tmp_path / 'bad.yaml'
    path.write_text('convention: standard\nlinks: [{a: 2*l, alpha: 0, d: 0}]\n')
    assert main(['closed-form', str(path)]) == 1
    assert "must be a number, got '2*l'" in capsys.readouterr().err
