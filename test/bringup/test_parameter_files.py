# SPDX-License-Identifier: Apache-2.0
import pytest

from robot_dynamics.bringup.hardware import load_hardware, shipped_hardware
from robot_dynamics.bringup.parameter_files import read_parameter_file
from robot_dynamics.bringup.system import read_plant, shipped_plants
from robot_dynamics.errors import BringupError


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / 'file.yaml'
        path.write_text(text, encoding='utf-8')
        return path
    return write


def test_reads_nodes_and_groups(write):
    path = write('a:\n  ros__parameters:\n    x: 1\n    g: {y: [1.0], h: {z: t}}\n'
                 '/**/b: {ros__parameters: {}}\n')
    assert read_parameter_file(path) == {'a': {'x': 1, 'g.y': [1.0], 'g.h.z': 't'}, '/**/b': {}}


@pytest.mark.parametrize(('text', 'reason'), [
    ('', 'holds no nodes'), ('{}', 'holds no nodes'), ('text', 'holds no nodes'),
    ('[1]', 'holds no nodes'), ('a: 1', 'a has no ros__parameters'),
    ('a: {b: 1}', 'a has no ros__parameters'), ('a: {ros__parameters: [1, 2, 3]}', 'a has no'),
    ('1: {ros__parameters: {x: 1}}', '1 has no'), ('a: [1', 'cannot be read'),
    ('a: 2001-99-99', 'cannot be read: month'), ('&a {b: *a}', 'cannot be read: .* itself'),
    ('"\\e[31m": 1', r'\\x1b\[31m has no')])
@pytest.mark.parametrize('read', [read_parameter_file, read_plant, lambda path: load_hardware(
    str(path))], ids=('file', 'plant', 'hardware'))
def test_says_what_is_wrong_with_a_file(write, read, text, reason):
    with pytest.raises(BringupError, match=reason) as caught:
        read(write(text))
    assert caught.value.subject
    assert caught.value.remedy


def test_a_plant_is_what_all_its_nodes_say(write):
    path = write('/**: {ros__parameters: {payload_mass: 1.0, seed: 1}}\n'
                 'simulated_arm: {ros__parameters: {seed: 2}}\n')
    assert read_plant(path) == {'payload_mass': 1.0, 'seed': 2}


def test_every_file_of_this_package_is_read():
    for path in (*shipped_hardware().values(), *shipped_plants().values()):
        assert read_parameter_file(path)
