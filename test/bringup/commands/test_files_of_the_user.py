# SPDX-License-Identifier: Apache-2.0
"""No command replaces or removes a file that it did not write."""

import pytest

from robot_dynamics.bringup.cli import main

IDENTIFIED = ('identified.urdf', 'parameters.yaml', 'covariance.npz', 'result.json',
              'payload.yaml', 'elastic_joints.yaml', 'report.html')
#: For each command the names of its files, with arguments; {} is its folder.
COMMANDS = [
    (('report', 'run', '--output', '{}'), ('report.html', 'report.png')),
    (('demo', '--output', '{}'), ('report.html', 'report.png', 'recording/run1.mcap')),
    (('identify', 'run', '--robot', 'rpr', '--output', '{}'), IDENTIFIED),
    (('identify', '--live', '1', '--robot', 'rpr', '--output', '{}'),
     (*IDENTIFIED, 'recording.npz')),
    (('stiffness', 'log.csv', '--output', '{}'),
     ('stiffness.json', 'stiffness.html', 'stiffness.png')),
    (('closed-form', 'rpr', '--format', 'c', '--output', '{}/arm.c'), ('arm.c',)),
    (('excite', 'rpr', '--output', '{}/plan.yaml'), ('plan.yaml',)),
    (('up', '--record', '{}'), ('run1.mcap', 'thesis.db3', 'metadata.yaml', 'notes/today.txt')),
    (('up', '--excitation', 'plan.yaml', '--record', '{}'), ('run1.mcap', 'thesis.db3'))]


@pytest.mark.parametrize(('arguments', 'name'), [
    (arguments, name) for arguments, names in COMMANDS for name in names])
def test_a_file_of_the_user_is_in_the_way(tmp_path, capsys, arguments, name):
    own = tmp_path / name
    own.parent.mkdir(exist_ok=True)
    own.write_text('mine')
    assert main([argument.format(tmp_path) for argument in arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    inside = own if own.parent == tmp_path or 'demo' in arguments else own.parent
    assert line == f'robot-dynamics {arguments[0]}: {inside} was not written by robot_dynamics ' \
        'and would be replaced or removed; move it away, or name another place'
    assert own.read_text() == 'mine'
    assert [path for path in tmp_path.rglob('*') if path.is_file()] == [own]


@pytest.mark.slow
@pytest.mark.parametrize('arguments', [
    ('closed-form', 'rpr', '--what', 'M', '--output', '{}'),
    ('excite', 'rpr', '--output', '{}', '--seconds', '4', '--restarts', '1', '--iterations', '2',
     '--workers', '1')], ids=lambda arguments: arguments[0])
def test_a_result_is_replaced_until_it_is_edited(tmp_path, capsys, arguments):
    path = tmp_path / 'result'
    command = [argument.format(path) for argument in arguments]
    assert main(command) == 0
    assert main(command) == 0
    with path.open('a') as stream:
        stream.write('# mine\n')
    text = path.read_text()
    capsys.readouterr()
    assert main(command) == 1
    assert 'result was changed after robot_dynamics wrote it; move it' in capsys.readouterr().err
    assert path.read_text() == text
