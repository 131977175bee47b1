# SPDX-License-Identifier: Apache-2.0
import shutil
import subprocess

import pytest

from robot_dynamics.closed_form.geometry import numeric_geometry
from robot_dynamics.dynamics.native.robot import carried_bodies, library_source
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

STRICT = ['-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-O1', '-fsyntax-only']


@pytest.mark.skipif(shutil.which('cc') is None, reason='there is no C compiler')
@pytest.mark.parametrize('name', ['planar_2r', 'rpr', 'puma560', 'mimic'])
def test_there_is_no_warning(tmp_path, cases, name):
    urdf = cases / 'urdf_mimic' / 'mimic.urdf' if name == 'mimic' else resolve_robot(name)
    path = tmp_path / 'x.c'
    path.write_text(library_source(Robot.from_urdf(urdf)))
    subprocess.run(['cc', *STRICT, str(path)], check=True)


def test_inertial_parameters_and_gravity_do_not_matter():
    robot = Robot.from_urdf(resolve_robot('rpr'))
    text = library_source(robot)
    assert library_source(robot.with_parameters(2.0 * robot.parameters)) == text
    assert library_source(robot.with_gravity((0.0, 1.0, 2.0))) == text


def test_bodies_that_a_joint_carries(tree, cases):
    robot = tree(2, bodies=6)
    expected = [set() for _ in range(6)]
    for i in range(6):
        j = i
        while j >= 0:
            expected[j].add(i)
            j = robot.parents[j]
    assert carried_bodies(numeric_geometry(robot)) == expected
    mimic = Robot.from_urdf(cases / 'urdf_mimic' / 'mimic.urdf')
    carried = carried_bodies(numeric_geometry(mimic))
    assert len(carried) == mimic.n < mimic.n_bodies
    assert set.union(*carried) == set(range(mimic.n_bodies))
