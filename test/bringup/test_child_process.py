# SPDX-License-Identifier: Apache-2.0
import os
import sys
from pathlib import Path

import pytest
import yaml

from robot_dynamics.bringup.child_process import child_environment, command_line, parameter_yaml
from robot_dynamics.bringup.processes import NodeProcess
from robot_dynamics.errors import BringupError


def test_parameters_survive_the_file():
    urdf = '<?xml version="1.0"?>\n<robot name="a: b">\n\t<!-- # no: comment -->\n</robot>\n'
    values = {'robot_description': urdf, 'rate': 500.0, 'small': 1e-7, 'seed': 3, 'adapt': True,
              'gains': (1.0, 2.0), 'joints': ('a', 'b'), 'looks_like_a_number': '1.0',
              'looks_like_a_bool': 'yes', 'umlaut': 'Gelenk für Öl'}
    text = parameter_yaml(NodeProcess('arm', namespace='left', parameters=values))
    read = yaml.safe_load(text)['/left/arm']['ros__parameters']
    assert read == {**values, 'gains': [1.0, 2.0], 'joints': ['a', 'b']}
    assert {name: type(value) for name, value in read.items() if not isinstance(value, list)} \
        == {name: type(value) for name, value in values.items() if not isinstance(value, tuple)}


def test_command_line_names_node_namespace_and_files():
    process = NodeProcess('arm', namespace='/left/', remappings=(('joint_states', 'js'),),
                          parameter_files=(Path('plant.yaml'),))
    assert command_line(process, Path('own.yaml')) == [
        sys.executable, '-m', 'robot_dynamics.nodes.arm', '--ros-args',
        '-r', '__node:=arm', '-r', '__ns:=/left', '-r', 'joint_states:=js',
        '--params-file', 'plant.yaml', '--params-file', 'own.yaml']


def test_the_root_namespace_is_not_spelled_out():
    assert not any('__ns' in word for word in command_line(NodeProcess('arm'), Path('p.yaml')))


def test_the_checkout_is_found_first_and_once():
    root = str(Path(__file__).resolve().parents[2])
    first = child_environment({'PYTHONPATH': os.pathsep.join(['/other', root])})
    assert first['PYTHONPATH'].split(os.pathsep) == [root, '/other']
    assert child_environment({})['PYTHONPATH'] == root


@pytest.mark.parametrize('wrong', [{'node': 'a-b'}, {'node': ''}, {'node': '1a'},
                                   {'node': 'a', 'namespace': 'left arm'}])
def test_wrong_names_are_refused(wrong):
    with pytest.raises(BringupError, match='use'):
        NodeProcess(**wrong)
