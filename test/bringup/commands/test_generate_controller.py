# SPDX-License-Identifier: Apache-2.0
"""The command that writes a controller of ros2_control."""

import re

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

from robot_dynamics import Robot
from robot_dynamics.bringup.cli import main
from robot_dynamics.control import FeedbackGains

ROBOT = Robot.from_urdf('planar_2r')


def generate(folder, *arguments):
    return main(['generate-controller', *map(str, arguments), '--name', 'two_joints', '--output',
                 str(folder)])


def macro(folder, name):
    text = (folder / 'include/two_joints/constants.h').read_text()
    return float(re.search(rf'#define RD_{name} (\S+)', text)[1])


def array(folder, name):
    text = (folder / 'src/constants.c').read_text()
    return np.array(re.search(rf'rd_{name}\[\d+\] = {{(.*?)}}', text, re.DOTALL)[1].split(','),
                    float)


def test_parameters_are_those_of_the_node(tmp_path, capsys):
    assert generate(tmp_path, 'planar_2r', '--law', 'pd_gravity') == 0
    assert 'pd_gravity for planar_2r, 2 joints at 500 Hz' in capsys.readouterr().out
    assert macro(tmp_path, 'PERIOD') == 0.002
    assert macro(tmp_path, 'BANDWIDTH') == FeedbackGains().bandwidth
    assert macro(tmp_path, 'MAX_POINTS') == 1000
    np.testing.assert_array_equal(array(tmp_path, 'effort_limit'), ROBOT.limits.effort)


def test_single_parameters_come_after_those_of_a_file(tmp_path):
    file = tmp_path / 'parameters.yaml'
    file.write_text(yaml.safe_dump({'/**': {'ros__parameters': {
        'rate': 1000.0, 'payload': {'mass': 1.5, 'carried': True},
        'feedback': {'bandwidth': 30.0}}}}))
    folder = tmp_path / 'package'
    assert generate(folder, 'planar_2r', '--law', 'pd_gravity', '--parameters', file, '-p',
                    'feedback.bandwidth:=35.0', '-p', 'effort_limit:=[80.0, 40.0]') == 0
    assert macro(folder, 'PERIOD') == 0.001
    assert macro(folder, 'BANDWIDTH') == 35.0
    np.testing.assert_array_equal(array(folder, 'effort_limit'), [80.0, 40.0])
    loaded, empty = (array(folder, name).reshape(-1, 10) for name in ('model', 'parameters'))
    np.testing.assert_allclose(loaded[:, 0] - empty[:, 0], [0.0, 1.5])


def test_the_model_of_an_identification_is_used(tmp_path):
    heavier = ROBOT.with_parameters(1.2 * ROBOT.inertial_parameters)
    (tmp_path / 'identified.urdf').write_text(heavier.to_urdf())
    (tmp_path / 'parameters.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': {
        'robot': str(tmp_path / 'identified.urdf'), 'unknown_to_this_node': 1.0}}}))
    folder = tmp_path / 'package'
    assert generate(folder, '--law', 'pd_gravity', '--identified', tmp_path) == 0
    np.testing.assert_allclose(array(folder, 'parameters'),
                               1.2 * ROBOT.inertial_parameters.ravel(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(('arguments', 'message'), [
    (['planar_2r', '-p', 'feedback.bandwith:=35.0'],
     'feedback.bandwith (did you mean feedback.bandwidth?) is unknown'),
    (['planar_2r', '-p', 'feedback.bandwidth:=fast'], 'feedback.bandwidth must be a number'),
    (['planar_2r', '-p', 'rate'], "must be of the form NAME:=VALUE, got 'rate'"),
    (['planar_2r', '-p', 'feedback.bandwidth:=900.0'], 'bandwidth is 900 1/s'),
    ([], 'ROBOT is missing')])
def test_wrong_parameters_are_refused(tmp_path, capsys, arguments, message):
    assert generate(tmp_path / 'package', '--law', 'pd_gravity', *arguments) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / 'package').exists()


def test_the_name_must_be_that_of_a_package(tmp_path, capsys):
    assert main(['generate-controller', 'planar_2r', '--name', 'My-Arm', '--output',
                 str(tmp_path)]) == 1
    assert 'My-Arm is not the name of a package' in capsys.readouterr().err
