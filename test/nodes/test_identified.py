# SPDX-License-Identifier: Apache-2.0
"""Nodes on a model that was identified, from the one file that tells of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from std_msgs.msg import String

from robot_dynamics.identification.outputs import parameter_file
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.documents.parameters import TABLES
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.description import ROBOT_PARAMETERS, load_robot
from robot_dynamics.nodes.ros.node import NodeParameters
from robot_dynamics.nodes.ros.stopping import StopRequest

TILTED = (0.3, -0.2, -9.8)


@pytest.fixture
def identified(tmp_path):
    """A parameter file, and the robot that it tells of."""
    robot = with_scaled_masses(Robot.from_urdf(resolve_robot('rpr')), 1.25).with_gravity(TILTED)
    path = tmp_path / 'parameters.yaml'
    path.write_text(parameter_file(robot.to_urdf(), robot))
    return path, robot


def test_a_node_reads_the_whole_robot_from_it(make_node, identified):
    path, robot = identified
    node = make_node('reader', '--params-file', str(path))
    read = load_robot(node, NodeParameters(node, ROBOT_PARAMETERS).values, StopRequest())
    np.testing.assert_allclose(read.parameters, robot.parameters, atol=1e-12)
    np.testing.assert_array_equal(read.gravity, TILTED)
    assert read.joint_names == robot.joint_names


def test_every_node_with_a_model_knows_all_that_it_says():
    rows = {row.name for row in ROBOT_PARAMETERS}
    for name, table in TABLES.items():
        known = {row.name for row in table}
        assert name in ('recorder', 'command_guard') or known >= rows, name


@pytest.mark.parametrize('name', ['adaptive_controller', 'feedforward_lq_controller',
                                  'inverse_dynamics'])
def test_nodes_start_from_it(start, observer, identified, name):
    path, robot = identified
    topic = 'parameter_names' if name != 'feedforward_lq_controller' else 'mode'
    heard = observer.collect(String, f'{name}/{topic}', qos.latched())
    node = start(name, '--params-file', str(path))
    assert observer.spin(90.0, lambda: heard or node.process.poll() is not None)
    assert heard, node.wait()
    if topic == 'parameter_names':
        assert json.loads(heard[0].data)[:10] == list(robot.parameter_names[:10])
    status, _, errors = node.stop()
    assert status == 0
    # Nothing in it is left unread.
    assert 'does not read it' not in errors
