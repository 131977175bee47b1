# SPDX-License-Identifier: Apache-2.0
"""A small arm and a simple controller that tests of the guards share."""

import json
import math

import numpy as np
import pytest

from robot_dynamics.model.robot import Robot

_LINK = """
  <link name="{name}"><inertial><origin xyz="{com} 0 0"/><mass value="{mass}"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
_JOINT = """
  <joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="{x} 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="3" effort="{effort}"/></joint>"""


def three_joint_urdf(wrist: str = 'revolute') -> str:
    """Text of an arm of three joints in a vertical plane: shoulder, elbow, wrist."""
    return ('<robot name="arm3"><link name="base"/>'
            + _LINK.format(name='upper', com=0.2, mass=3.0)
            + _LINK.format(name='fore', com=0.15, mass=2.0)
            + _LINK.format(name='hand', com=0.05, mass=0.5)
            + _JOINT.format(name='shoulder', kind='revolute', parent='base', child='upper', x=0.0,
                            effort=60)
            + _JOINT.format(name='elbow', kind='revolute', parent='upper', child='fore', x=0.4,
                            effort=30)
            + _JOINT.format(name='wrist', kind=wrist, parent='fore', child='hand', x=0.3,
                            effort=8)
            + '</robot>')


@pytest.fixture(scope='session')
def arm3() -> Robot:
    """Three revolute joints with finite limits of everything."""
    return Robot.from_urdf(three_joint_urdf())


@pytest.fixture(scope='session')
def turning_arm3() -> Robot:
    """The same with a wrist that turns without end."""
    return Robot.from_urdf(three_joint_urdf('continuous'))


class PdController:
    """A law whose every answer is easy to predict; it records how it was called."""

    #: No state is late, and damping is never reduced.
    damping_rate, longest_delay = 20.0, math.inf

    def __init__(self, gravity=(5.0, 2.0, 0.1), kp=100.0, kd=10.0):
        self.gravity = np.array(gravity)
        self.kp, self.kd = kp, kd
        self.steps, self.adapted, self.resets = [], [], []
        self.applied = None
        self.forgotten = 0
        #: What `update` and `safe_effort` answer instead, or raise.
        self.answer, self.safe_answer = None, None

    def reset(self, q, v):
        self.resets.append((q.copy(), v.copy()))

    def update(self, q, v, q_d, v_d, a_d, dt, *, adapt):
        self.steps.append(dt)
        self.adapted.append(adapt)
        return self._or(self.answer, self.gravity + self.kp * (q_d - q) + self.kd * (v_d - v))

    def holding_effort(self, q, v, q_hold):
        return self.gravity + self.kp * (q_hold - q) - self.kd * v

    def safe_effort(self, q, v):
        return self._or(self.safe_answer, self.gravity - self.kd * v)

    def note_applied(self, tau):
        self.applied = tau.copy()

    def forget_recent(self):
        self.forgotten += 1

    @staticmethod
    def _or(answer, otherwise):
        if isinstance(answer, Exception):
            raise answer
        return otherwise if answer is None else np.array(answer, dtype=float)


@pytest.fixture(scope='session')
def pd_controller_type() -> type[PdController]:
    """Class of `pd_controller`, for tests that need a new one each time."""
    return PdController


@pytest.fixture
def pd_controller() -> PdController:
    """A controller for `arm3`."""
    return PdController()


@pytest.fixture(scope='session')
def read_case(cases):
    """Function that returns a case: its expectations and its messages, null as nan."""
    def numbers(values):
        return [math.nan if value is None else value for value in values]

    def read(name):
        expected = json.loads((cases / name / 'expected.json').read_text())
        messages = []
        for line in (cases / name / 'joint_states.jsonl').read_text().splitlines():
            message = json.loads(line)
            seconds, nanoseconds = message['stamp']
            messages.append((message['t_recv'], seconds + 1e-9 * nanoseconds, message['name'],
                             numbers(message['position']), numbers(message['velocity']),
                             numbers(message['effort'])))
        return expected, messages

    return read
