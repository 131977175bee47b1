# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from robot_dynamics.nodes.ros import runtime as ros_arguments
from robot_dynamics.nodes.ros.runtime import readable_arguments, with_uniform_lists

FILE = """# é
node:
  ros__parameters:
    flow: [ 1 , 2.5, -3 ]   # one
    block:
      - 0   # zero
      - .5
      - 1e3
    nested: {a: [1, .inf], b: [+4, 5.]}
"""
UNIFORM = FILE.replace('[ 1 ,', '[ 1.0 ,').replace('-3 ]', '-3.0 ]').replace('- 0 ', '- 0.0 ') \
    .replace('a: [1,', 'a: [1.0,').replace('+4', '+4.0')


@pytest.fixture(params=['libyaml', 'python'])
def loader(request, monkeypatch):
    """Both loaders of PyYAML, whose marks have to be the same."""
    if request.param == 'python':
        monkeypatch.setattr(ros_arguments, '_LOADER', yaml.SafeLoader)


def test_integers_of_mixed_lists_become_doubles(loader):
    assert with_uniform_lists(FILE) == UNIFORM
    assert with_uniform_lists(UNIFORM) == UNIFORM


@pytest.mark.parametrize('text', [
    '[1, 2]', '[1.0, 2.0]', '[1, true, 2.0]', "[1, '2.0']", '[1, 2.0, yes]', '[a, 1, 2.0]', '[]',
    '', '<robot name="r"/>', 'a: 1', '[[[', '[' * 5000, '\t- 1', '[1, 2.0', '[0x10, 2.0]'])
def test_everything_else_is_left_to_rcl(loader, text):
    assert with_uniform_lists(text) == text


def test_only_values_of_options_of_ros_are_looked_at(tmp_path):
    mixed, uniform = tmp_path / 'mixed.yaml', tmp_path / 'uniform.yaml'
    mixed.write_text(FILE, encoding='utf-8')
    uniform.write_text(UNIFORM, encoding='utf-8')
    given = ['-p', 'a:=[0, 0.5]', '--ros-args', '-p', 'a:=[0, 0.5]', '-r', 'b:=[0, 0.5]',
             '--param', 'node:c:=[1, 2.]', '--params-file', str(uniform), '--params-file',
             '/no/such.yaml', '--params-file', str(mixed), '-p', '-p', '--', '-p', 'a:=[0, 0.5]']
    with readable_arguments(given) as readable:
        copy = Path(readable[14])
        assert copy != mixed and copy.read_text(encoding='utf-8') == UNIFORM
        assert readable == [*given[:4], 'a:=[0.0, 0.5]', *given[5:8], 'node:c:=[1.0, 2.]',
                            *given[9:14], str(copy), *given[15:]]
    assert not copy.exists()
    assert mixed.read_text(encoding='utf-8') == FILE
