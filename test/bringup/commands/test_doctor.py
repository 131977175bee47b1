# SPDX-License-Identifier: Apache-2.0
import json
import sys

import pytest

from robot_dynamics.bringup.cli import main


class Terminal:
    """A terminal instead of a pipe."""

    def __init__(self, stream):
        self._stream = stream

    def isatty(self):
        return True

    def __getattr__(self, name):
        return getattr(self._stream, name)


@pytest.mark.slow
def test_a_robot_through_a_pipe(capsys):
    assert main(['doctor', 'arm7']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == 'arm7: 7 joints, 15.3 kg moving'
    assert 'ok: masses: 15.3 kg move within a reach of 0.986 m' in lines
    assert lines[-1] == 'nothing wrong'
    # The terse form begins with the same.
    assert main(['check', 'arm7']) == 0
    assert capsys.readouterr().out.splitlines() == lines[:8]


@pytest.mark.parametrize('coloured', [True, False])
def test_a_robot_on_a_terminal(capsys, monkeypatch, coloured):
    monkeypatch.setenv('COLUMNS', '80')
    monkeypatch.delenv('NO_COLOR', raising=False)
    if not coloured:
        monkeypatch.setenv('NO_COLOR', '1')
    monkeypatch.setattr(sys, 'stdout', Terminal(sys.stdout))
    assert main(['doctor', 'arm7']) == 0
    out = capsys.readouterr().out
    assert ('\x1b[' in out) == coloured
    if not coloured:
        assert max(map(len, out.splitlines())) <= 80
        assert '\nmasses\n  ok       masses: 15.3 kg' in out


def test_json_and_the_exit_status(capsys):
    assert main(['doctor', 'puma560.yaml', '--json']) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document['errors'], document['warnings']) == (1, 2)
    assert main(['doctor', 'no_such.urdf', '--json']) == 1
    document = json.loads(capsys.readouterr().out)
    assert document['subject'] == 'no_such.urdf cannot be used'
    assert document['errors'] == 1


@pytest.mark.parametrize('arguments', [['--seconds', 'x'], ['--seconds', '0'], ['--domain', '-1'],
                                       ['--domain', '233'], ['--seconds', 'nan']])
def test_arguments_that_make_no_sense(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(['doctor', *arguments])
    assert caught.value.code == 2
    assert arguments[0] in capsys.readouterr().err
