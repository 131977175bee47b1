# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot, shipped_robots
from robot_dynamics.report.run_charts import Skeleton


def test_a_planar_elbow_lies_where_trigonometry_says():
    robot = Robot.from_urdf("""<robot name="elbow">
      <link name="base"/>
      <link name="upper"><inertial><mass value="1"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <link name="lower"><inertial><mass value="1"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <link name="hand"/>
      <joint name="a" type="continuous"><parent link="base"/><child link="upper"/>
        <axis xyz="0 0 1"/></joint>
      <joint name="b" type="continuous"><parent link="upper"/><child link="lower"/>
        <origin xyz="0.5 0 0"/><axis xyz="0 0 1"/></joint>
      <joint name="c" type="fixed"><parent link="lower"/><child link="hand"/>
        <origin xyz="0.3 0 0"/></joint>
    </robot>""")
    skeleton = Skeleton(robot)
    assert skeleton.lines == [(0, 1), (1, 2), (2, 3)]
    a, b = 0.4, 0.9
    elbow = 0.5 * np.array([np.cos(a), np.sin(a), 0])
    hand = elbow + 0.3 * np.array([np.cos(a + b), np.sin(a + b), 0])
    points = skeleton.points([[a, b], [0.0, 0.0]])
    assert points.shape == (2, 4, 3)
    np.testing.assert_allclose(points[0], [[0, 0, 0], [0, 0, 0], elbow, hand], atol=1e-12)
    np.testing.assert_allclose(points[1][3], [0.8, 0, 0], atol=1e-12)


@pytest.mark.parametrize('name', [name for name in shipped_robots() if not name.endswith('.yaml')])
def test_every_shipped_robot_can_be_drawn(name):
    robot = Robot.from_urdf(resolve_robot(name))
    skeleton = Skeleton(robot)
    points = skeleton.points(np.zeros((3, robot.n)))
    assert np.isfinite(points).all()
    used = {index for line in skeleton.lines for index in line}
    assert used == set(range(points.shape[1]))
