# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import pytest

from robot_dynamics.nodes import adaptive_controller, recorder
from robot_dynamics.nodes.documents.parameters import markdown_table
from robot_dynamics.nodes.ros import runtime
from robot_dynamics.nodes.ros.parameters import Parameter, default_text, help_text

SPEED = Parameter('speed', 0.9, 'How fast.', 'rad/s', 0.001, 100.0)
KIND = Parameter('kind', 'a', 'Which.', choices=('a', 'b'), read_only=True)


def test_a_row_tells_choices_bounds_units_and_whether_it_can_change():
    lines = markdown_table([SPEED, KIND]).splitlines()
    assert lines[2:] == [
        '| `speed` | `0.9` | How fast. 0.001 to 100 rad/s. Can be changed while the node runs. |',
        "| `kind` | `'a'` | Which. One of a, b. |"]


@pytest.mark.parametrize(('default', 'text'), [
    (True, 'true'), (3, '3'), ('', "''"), ((), '[]'), ((1.0,), '[1.0]'),
    (('a', 'b', 'c', 'd', 'e'), '[a, b, c, d, ...]')])
def test_defaults_are_written_as_yaml_has_them(default, text):
    assert default_text(Parameter('x', default, 'X.', element=str)) == text


def test_help_names_every_parameter_and_how_to_give_it():
    text = help_text('A node.', [SPEED, KIND])
    assert text.startswith('A node.\n')
    assert '--params-file FILE' in text
    assert '\n  speed (default 0.9)\n      How fast.' in text
    assert max(map(len, text.splitlines())) <= 90


def test_a_node_asked_for_help_does_not_start(capsys, monkeypatch):
    monkeypatch.setattr(runtime.rclpy, 'init', lambda **_: pytest.fail('started'))
    for main, name in ((adaptive_controller.main, 'effort_limit'), (recorder.main, 'output')):
        assert main(['--help']) == 0
        text = capsys.readouterr().out
        assert f'\n  {name} (default ' in text and '\n  spin (default ' in text


@pytest.mark.parametrize(('args', 'asked'), [
    (['-h'], True), (['--help', '--ros-args', '-p', 'a:=1'], True), ([], False),
    (['--ros-args', '-p', 'frame:=--help'], False), (['--ros-args', '--help'], False)])
def test_who_asks_for_help(args, asked):
    assert runtime.asks_for_help(args) is asked


def test_who_reads_the_help_may_have_seen_enough():
    process = subprocess.Popen([sys.executable, '-m', 'robot_dynamics.nodes.adaptive_controller',
                                '--help'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    process.stdout.close()
    assert process.stderr.read() == '' and process.wait(60.0) == 0
