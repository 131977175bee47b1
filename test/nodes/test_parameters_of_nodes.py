# SPDX-License-Identifier: Apache-2.0
"""Every node as it runs: its parameters are those of its table, and none moves its limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rcl_interfaces.msg import ParameterDescriptor
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.documents.parameters import TABLES
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.node import MOST_CHANGED
from robot_dynamics.nodes.ros.parameters import Parameter

pytest.importorskip('mujoco', reason='the simulated arm needs MuJoCo')

FOLDER = Path(__file__).resolve().parents[2] / 'config' / 'parameters'
#: What rclpy declares by itself; its overrides of QoS can be given at the start only.
OF_RCLPY = {'use_sim_time', 'start_type_description_service'}
OVERRIDES = 'qos_overrides.'
#: What a node needs beside its file of defaults; a busy machine makes the arm slow, not the
#: answers late.
NEEDS = {
    'simulated_arm': {'robot': 'arm7', 'hold_time': 0.5, 'wait_for_commands': 1.5},
    'adaptive_controller': {'robot': 'arm7', 'state_timeout': 2.0},
    'inverse_dynamics': {'robot': 'arm7', 'gravity': [0, 0, -9.81]},
    'reference': {'robot': 'arm7'}, 'recorder': {}, 'command_guard': {},
    # The reference leads already: it waits.
    'excitation': {'robot': 'arm7', 'patience': 600.0},
    # The others wait unconfigured: one controller commands the arm.
    **{node: {'robot': 'arm7', 'autostart': False} for node in TABLES
       if node.endswith('_controller') and node != 'adaptive_controller'},
}
#: A file as people write it: integers for numbers, alone and among others. What it tells is borne
#: by an arm that learns nothing, as one of the changes has it.
TYPED = """
simulated_arm:
  ros__parameters:
    rate: 400
    payload_com: [0, 0, 0.1]
    viscous_friction: [1, 1, 1, 1, 0, 0, 0]
"""
AS_TYPED = {
    'inverse_dynamics': {'gravity': [0.0, 0.0, -9.81]},
    'simulated_arm': {'rate': 400.0, 'payload_com': [0.0, 0.0, 0.1],
                      'viscous_friction': [1.0] * 4 + [0.0] * 3},
}
LIMITS = Robot.from_urdf(resolve_robot('arm7')).limits.effort
COMMANDS = 'effort_controller/commands'
DEEP = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)


class Live:
    """The nodes of a system, their parameters and the commands they give."""

    def __init__(self, observer):
        self.observer = observer
        self.modes = observer.collect(String, 'adaptive_controller/mode', qos.latched())
        self.errors = observer.collect(JointState, 'adaptive_controller/tracking_error', DEEP)
        self.commands = observer.collect(Float64MultiArray, COMMANDS, DEEP)

    def tracks(self) -> bool:
        return bool(self.modes) and self.modes[-1].data == 'tracking' and bool(self.errors)

    def worst(self) -> float:
        """Return the largest share of its limit that any effort had; NaN is over it."""
        shares = np.abs([message.data for message in self.commands]) / LIMITS
        return np.inf if np.isnan(shares).any() else float(shares.max())

    def names(self, node: str) -> set[str]:
        return set(self.observer.call(ListParameters, f'{node}/list_parameters',
                                      ListParameters.Request()).result.names)

    def describe(self, node: str, names: Sequence[str]) -> dict[str, ParameterDescriptor]:
        descriptors = self.observer.call(
            DescribeParameters, f'{node}/describe_parameters',
            DescribeParameters.Request(names=list(names))).descriptors
        return dict(zip(names, descriptors, strict=True))

    def get(self, node: str, names: Sequence[str]) -> dict[str, object]:
        values = self.observer.call(GetParameters, f'{node}/get_parameters',
                                    GetParameters.Request(names=list(names))).values
        return {name: parameter_value_to_python(value)
                for name, value in zip(names, values, strict=True)}

    def set(self, node: str, *parameters: RosParameter):
        request = SetParameters.Request(
            parameters=[parameter.to_parameter_msg() for parameter in parameters])
        return self.observer.call(SetParameters, f'{node}/set_parameters', request).results

    def set_atomically(self, node: str, *parameters: RosParameter):
        request = SetParametersAtomically.Request(
            parameters=[parameter.to_parameter_msg() for parameter in parameters])
        return self.observer.call(SetParametersAtomically, f'{node}/set_parameters_atomically',
                                  request).result


@pytest.fixture
def live(start, observer, tmp_path, make_plan) -> Live:
    system = Live(observer)
    typed = tmp_path / 'typed.yaml'
    typed.write_text(TYPED)
    for node, needs in NEEDS.items():
        if node == 'recorder':
            needs = {'output': tmp_path / 'recording'}
        if node == 'excitation':
            needs = {**needs, 'plan': make_plan('arm7')}
        start(node, '--params-file', str(FOLDER / f'{node}.yaml'), '--params-file', str(typed),
              use_sim_time=True, **needs)
    assert observer.spin(90.0, system.tracks), 'the arm is not tracked'
    return system


def test_nodes_declare_their_tables_and_no_change_moves_a_limit(live):
    for node, table in TABLES.items():
        names = live.names(node)
        foreign = {name for name in names - OF_RCLPY if not name.startswith(OVERRIDES)}
        assert foreign == {row.name for row in table}
        descriptors = live.describe(node, sorted(names))
        for row in table:
            assert descriptors[row.name] == row.descriptor()
        for name in names - foreign - OF_RCLPY:
            assert descriptors[name].read_only, name
        values = live.get(node, [row.name for row in table])
        given = {**NEEDS[node], **AS_TYPED.get(node, {})}
        for row in table:
            wanted = given.get(row.name, row.default)
            assert row.name in ('output', 'plan') \
                or list_of(values[row.name]) == list_of(wanted), row.name
        refuse_what_is_fixed(live, node, names)
        go_to_extremes(live, node, [row for row in table if not row.read_only])
    publishers = live.observer.node.get_publishers_info_by_topic(f'/{COMMANDS}')
    assert [info.node_name for info in publishers] == ['adaptive_controller']
    assert live.tracks()
    assert 0.0 < live.worst() <= 1.0


def list_of(value):
    return list(value) if isinstance(value, (list, tuple)) or hasattr(value, 'tolist') else value


def refuse_what_is_fixed(live: Live, node: str, names: set[str]) -> None:
    """Ask for another value of everything that is fixed, and for names that do not exist."""
    fixed = [row for row in TABLES[node] if row.read_only]
    before = live.get(node, sorted(names))
    asked = [RosParameter(row.name, row.type, list(value) if isinstance(value, tuple) else value)
             for row in fixed for value in values_of(row)]
    asked += [RosParameter(row.name, RosParameter.Type.NOT_SET) for row in TABLES[node]]
    asked += [RosParameter('use_sim_time', value=False),
              RosParameter('no_such_parameter', value=1.0),
              RosParameter('qos_overrides./joint_states.subscription.depth', value=7),
              RosParameter('effort_limits', value=[1e9])]
    for begin in range(0, len(asked), MOST_CHANGED):
        part = asked[begin:begin + MOST_CHANGED]
        for parameter, result in zip(part, live.set(node, *part), strict=True):
            assert not result.successful, parameter.name
    assert live.get(node, sorted(names)) == before
    assert live.names(node) == names


def go_to_extremes(live: Live, node: str, rows: Sequence[Parameter]) -> None:
    """Set everything that can be changed to its ends, one by one and all at once."""
    if not rows:
        return
    settings = [(row, value) for row in rows for value in values_of(row)]
    for row, value in settings:
        # As somebody types it: an end such as 0.0 without its point.
        typed = int(value) if isinstance(value, float) and value.is_integer() else value
        (result,) = live.set(node, RosParameter(row.name, value=typed))
        assert result.successful, (row.name, value, result.reason)
        (stored,) = live.get(node, [row.name]).values()
        assert list_of(stored) == list_of(value)
        assert isinstance(value, tuple) or type(stored) is type(value)
        if row.low is not None and value != ():
            beyond = 2.0 * row.high + 1.0
            (result,) = live.set(node, RosParameter(row.name, value=(
                (beyond,) * len(value) if isinstance(value, tuple) else beyond)))
            assert not result.successful and f'within {row.low:g} to' in result.reason
        live.observer.spin(0.3)
    for pick in (0, -1):
        result = live.set_atomically(node, *(
            RosParameter(row.name, row.type, values_of(row)[pick]) for row in rows))
        assert result.successful, result.reason
        live.observer.spin(0.3)
    refused = live.set_atomically(node, *(
        RosParameter(row.name, row.type, values_of(row)[0]) for row in rows),
        RosParameter('spin', value='events'))
    assert not refused.successful
    stored = live.get(node, [row.name for row in rows])
    assert {name: list_of(value) for name, value in stored.items()} == {
        row.name: list_of(values_of(row)[-1]) for row in rows}


#: Judged as a whole, by what bodies can be and what is stable: their ends are not accepted.
NO_ENDS = ('payload.inertia', 'feedback.bandwidth', 'feedback.error_rate', 'feedback.stiffness',
           'feedback.damping', 'adaptation.frequency', 'impedance.damping',
           'impedance.rotational_damping')
#: Values of a list that is empty by default and holds so many when it is not.
COUNTS = {'faults.friction': 2 * 7, 'faults.armature': 7}


def values_of(row: Parameter) -> list[object]:
    """Return the ends of what a row can be, in its own type."""
    if row.name in NO_ENDS:
        return [row.default]
    if row.type == RosParameter.Type.BOOL:
        return [not row.default, row.default]
    if row.low is not None:
        ends = [type(row.low)(row.low), type(row.low)(row.high)]
    else:
        ends = list(row.choices) or ['elsewhere']
    if isinstance(row.default, tuple):
        return [(end,) * COUNTS.get(row.name, max(1, len(row.default))) for end in ends]
    return ends
