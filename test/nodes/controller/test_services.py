# SPDX-License-Identifier: Apache-2.0
"""What a payload may be changed to while it is carried, without any process."""

import pytest

from robot_dynamics.control.laws.model_based import PDGravityController
from robot_dynamics.control.session.session import ControlSession, SessionSettings
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.controller.services import PAYLOAD_PARAMETERS, PayloadServices

BALL = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
GRAIN = (1e-4, 0.0, 0.0, 1e-4, 0.0, 1e-4)


def test_a_payload_that_its_link_cannot_carry_is_refused_before_it_is_set():
    """A hand that no body is may make one with a large ball, and none with a grain."""
    arm = Robot.from_urdf(resolve_robot('arm7'))
    parameters = arm.inertial_parameters.copy()
    # Principal moments that break the triangle inequality.
    parameters[-1, 4:] = (1.0, 0.0, 0.0, 0.01, 0.0, 0.01)
    robot = arm.with_parameters(parameters)
    law = PDGravityController(robot)
    session = ControlSession(robot, law, SessionSettings(0.002))
    values = {row.name: row.convert(row.default) for row in PAYLOAD_PARAMETERS}
    values.update({'payload.mass': 0.5, 'payload.com': (0.0, 0.0, 0.05),
                   'payload.inertia': BALL})
    desk = PayloadServices(robot, law, session, values)
    desk.carry(True)
    with pytest.raises(ParameterError, match='link7 ') as caught:
        desk.check({**values, 'payload.inertia': GRAIN})
    assert 'inertia of the load' in caught.value.remedy
    heavier = {**values, 'payload.mass': 0.6}
    desk.check(heavier)
    desk.on_parameters(heavier)
