# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.errors import DimensionError, ModelError, SimulationError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.simulation.clearance import SIGHT, ShapeClearance

pytest.importorskip('mujoco')

#: Three sliding spheres of radius 0.1 on the x axis; b rides on a, c stands alone.
SLIDES = """<robot name="slides"><link name="base"/>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial>{shape}</link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial>{shape}</link>
<link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial>{shape}</link>
<joint name="ja" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/>
<limit lower="-3" upper="3" velocity="1" effort="9"/></joint>
<joint name="jb" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>
<limit lower="-3" upper="3" velocity="1" effort="9"/></joint>
<joint name="jc" type="prismatic"><parent link="base"/><child link="c"/><axis xyz="1 0 0"/>
<limit lower="-3" upper="3" velocity="1" effort="9"/></joint></robot>"""
SPHERE = ('<collision><origin xyz="0 0 0.5"/><geometry><sphere radius="0.1"/></geometry>'
          '</collision>')


def slides(shape=SPHERE, **settings):
    text = SLIDES.format(shape=shape)
    return ShapeClearance(Robot.from_urdf(text), text.encode(), **settings)


def test_distances_of_spheres_but_not_of_neighbours():
    away, name = slides(clearance=0.01)([[0.0, 0.0, 0.23], [0.0, 0.0, 1.0], [0.0, 0.0, 0.1],
                                         [0.0, 0.23, 2.0]])
    # a and c come within 0.03; far away is as far as it sees; b may touch a, on which it rides.
    np.testing.assert_allclose(away[0], 0.02, atol=1e-9)
    np.testing.assert_allclose(away[2], -0.11, atol=1e-9)
    assert away[1] == away[3] == SIGHT
    assert name in ('b and c', 'a and c', 'c and a', 'c and b')


def test_a_box_that_links_stay_in():
    box = [-1.0, -1.0, 0.0, 1.0, 1.0, 1.0]
    away, name = slides(workspace=box)([[0.5, 0.0, -0.5], [0.5, 0.42, -0.5]])
    assert away[0] == SIGHT
    np.testing.assert_allclose(away[1], 1.0 - 0.92 - 0.1, atol=1e-9)
    assert name in ('the workspace and b', 'b and the workspace')
    np.testing.assert_array_equal(slides(workspace=[*box[3:], *box[:3]])([[0.5, 0.0, -0.5]])[0],
                                  slides(workspace=box)([[0.5, 0.0, -0.5]])[0])


def test_an_arm_stretched_out_and_folded_into_itself():
    path = resolve_robot('arm7')
    robot = Robot.from_urdf(path)
    check = ShapeClearance(robot, path, clearance=0.01)
    stretched, folded = np.array([0.0, 0.0, 0.0, -1.57, 0.0, 1.87, 0.0]), np.zeros(7)
    folded[[1, 3, 5]] = 1.7, -3.0, 3.7
    away, name = check([stretched, folded])
    assert away[0] > 0.0 > away[1]
    assert ' and ' in name
    floor = ShapeClearance(robot, path, workspace=[-2, -2, 0.3, 2, 2, 2])
    down = np.array([0.0, 1.7, 0.0, -0.3, 0.0, 1.0, 0.0])
    assert floor([down])[0][0] < 0.0


@pytest.mark.parametrize(('shape', 'wanted'), [
    ('', 'no collision or visual shapes'),
    ('<collision><geometry><sphere radius="x"/></geometry></collision>', 'numbers, got'),
    ('<collision><geometry><box size="1 1"/></geometry></collision>', 'numbers, got'),
    ('<collision><geometry><cone/></geometry></collision>', 'got cone'),
    ('<collision/>', 'got nothing'),
    ('<collision><geometry><mesh filename="package://none/x.stl"/></geometry></collision>',
     'has the mesh'),
    ('<collision><geometry><sphere radius="-1"/></geometry></collision>', 'MuJoCo')])
def test_shapes_that_cannot_be_used_are_named(shape, wanted):
    with pytest.raises((SimulationError, ModelError), match=wanted):
        slides(shape)


@pytest.mark.parametrize('settings', [
    {'clearance': -1.0}, {'clearance': np.nan}, {'workspace': [0.0] * 6},
    {'workspace': [0.0, 1.0]}, {'workspace': [0, 0, 0, 1, 1, np.inf]}])
def test_wrong_settings_are_refused(settings):
    with pytest.raises(SimulationError):
        slides(**settings)


def test_poses_of_another_arm_are_refused():
    with pytest.raises(DimensionError, match='poses'):
        slides()(np.zeros((2, 7)))
