# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

import pytest

from robot_dynamics.bringup.commands.identify import (
    find_path,
    load_robot,
    read_inputs,
    without_second_origin,
)
from robot_dynamics.errors import ModelError, RobotDynamicsError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

ORIGIN = '<origin xyz="0 0 1"/>'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'data').mkdir()
    (tmp_path / 'arm.urdf').write_text(Robot.from_urdf(resolve_robot('rpr')).to_urdf())
    (tmp_path / 'data' / 'one.npz').write_text('')
    return tmp_path


def config(folder: Path, text: str) -> Path:
    path = folder / 'log.yaml'
    path.write_text(text)
    return path


def test_everything_from_a_yaml(folder):
    path = config(folder, 'robot: {urdf: arm.urdf}\nsource: [one.npz, two.npz]\n')
    inputs = read_inputs([], None, path, folder / 'data')
    assert inputs.robot.n == 3
    # Beside the YAML, or among the data.
    assert inputs.recordings == (folder / 'data' / 'one.npz', folder / 'data' / 'two.npz')
    assert find_path('arm.urdf', inputs.folders) == folder / 'arm.urdf'
    assert read_inputs([], None, config(folder, 'robot: rpr\nsource: x\n')).recordings == (
        folder / 'x',)


def test_the_command_line_wins(folder):
    path = config(folder, 'robot: {urdf: nothing.urdf, joints: [joint1]}\nsource: one.npz\n'
                  .replace('joint1', Robot.from_urdf(resolve_robot('rpr')).joint_names[0]))
    inputs = read_inputs([Path('other.npz')], str(folder / 'arm.urdf'), path)
    assert inputs.recordings == (Path('other.npz'),)
    assert inputs.description.path == folder / 'arm.urdf'
    assert inputs.robot.n == 1
    assert read_inputs([], 'rpr', None).recordings == ()


@pytest.mark.parametrize(('text', 'word'), [
    ('robot: 3\n', 'must be a mapping'), ('robot: {colour: red}\n', r'robot\.colour'),
    ('source: x\n', 'give --robot'), ('robot: {urdf: 7}\n', 'give --robot'),
    ('robot: rpr\nsource: 3\n', 'source'), ('robot: rpr\nsource: [3]\n', 'source'),
    ('robot: {urdf: rpr, joints: 3}\n', 'joints'), ('robot: rpr\nbase_link: 3\n', 'base_link'),
    ('robot: {urdf: nothing.urdf}\n', 'nothing'),
    ('robot: {urdf: arm.urdf, second_origin_of: x}\n', 'second_origin_of'),
    ('robot: {urdf: no.urdf, second_origin_of: x}\n', 'does not exist')])
def test_wrong_yaml(folder, text, word):
    with pytest.raises(RobotDynamicsError, match=word):
        read_inputs([], None, config(folder, text))


def test_a_second_origin_of_a_joint_is_left_out_when_asked(folder):
    name = Robot.from_urdf(resolve_robot('rpr')).joint_names[1]
    text = (folder / 'arm.urdf').read_text()
    at = text.index('>', text.index(f'<joint name="{name}"')) + 1
    double = text[:at] + ORIGIN + text[at:]
    (folder / 'arm.urdf').write_text(double)
    with pytest.raises(ModelError, match='origin'):
        load_robot({'robot': {'urdf': 'arm.urdf'}}, [folder])
    description, robot = load_robot({'robot': {'urdf': 'arm.urdf', 'second_origin_of': name}},
                                   [folder])
    assert robot.joint_names == Robot.from_urdf(resolve_robot('rpr')).joint_names
    assert description.urdf == without_second_origin(double, name)
    # The first one stands.
    assert ORIGIN in description.urdf


def test_paths(tmp_path):
    assert find_path('x', ()) == Path('x')
    assert find_path('x', (tmp_path, tmp_path / 'a')) == tmp_path / 'a' / 'x'
    (tmp_path / 'x').write_text('')
    assert find_path('x', (tmp_path, tmp_path / 'a')) == tmp_path / 'x'
    assert find_path(str(tmp_path / 'x'), (tmp_path / 'a',)) == tmp_path / 'x'


def test_arguments_of_a_xacro_file_are_in_the_yaml(folder):
    pytest.importorskip('xacro')
    text = (folder / 'arm.urdf').read_text()
    head = re.search(r'<robot [^>]*>', text)[0]
    last = Robot.from_urdf('rpr').joint_names[-1]
    (folder / 'arm.urdf.xacro').write_text(text.replace(f'"{last}"', '"$(arg last)"').replace(
        head, '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="arm">'
              '<xacro:arg name="last" default="unnamed"/>'))
    content = {'robot': {'urdf': 'arm.urdf.xacro', 'xacro_args': 'last:=left'}}

    def last_joint(*arguments, **options):
        return load_robot(content, [folder], *arguments, **options)[1].joint_names[-1]

    assert last_joint() == 'left'
    assert last_joint(xacro_args='last:=right') == 'right'
    # Another description has arguments of its own.
    assert last_joint(str(folder / 'arm.urdf.xacro')) == 'unnamed'
