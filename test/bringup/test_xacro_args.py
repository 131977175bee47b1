# SPDX-License-Identifier: Apache-2.0
import pytest

from robot_dynamics.bringup.arguments import system_from_texts
from robot_dynamics.bringup.cli import main
from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.xacro_args import parse_xacro_args
from robot_dynamics.errors import ModelError


@pytest.fixture
def arm(cases):
    pytest.importorskip('xacro')
    return str(cases / 'xacro_required_arg' / 'arm.urdf.xacro')


@pytest.mark.parametrize(('text', 'values'), [
    ('', {}), ('  ', {}), ('name:=ur ur_type:=ur5e', {'name': 'ur', 'ur_type': 'ur5e'}),
    ('a:="b c" d:=', {'a': 'b c', 'd': ''}), ('a:=b:=c', {'a': 'b:=c'})])
def test_arguments_are_read_as_those_of_xacro(text, values):
    assert parse_xacro_args(text) == values


@pytest.mark.parametrize('text', ['name', 'name=ur', ':=ur', 'a:=b name', 'a:="b'])
def test_other_texts_are_refused(text):
    with pytest.raises(ModelError, match=r'of the form NAME:=VALUE, got .*; separate several'):
        parse_xacro_args(text)


def test_commands_and_launch_files_pass_arguments_on(arm, capsys):
    assert main(['check', arm, '--xacro-args', 'name:=ur reach:=0.5']) == 0
    assert 'ur: 1 joint' in capsys.readouterr().out
    system = system_from_texts({'robot': arm, 'robot_args': 'name:=ur', 'reference': 'none'})
    arm_process, *_ = system.processes()
    assert 'name="ur"' in arm_process.parameters['robot_description']


def test_a_missing_argument_is_named_by_commands(arm, capsys):
    assert main(['doctor', arm]) == 1
    out = capsys.readouterr().out
    assert 'needs a value for its argument name' in out
    assert "give --xacro-args 'name:=VALUE' to a command, robot_args:='name:=VALUE'" in out


def test_a_dh_table_has_no_arguments():
    with pytest.raises(ModelError, match='takes no arguments of xacro'):
        load_description('puma560.yaml', 'name:=ur')
