# SPDX-License-Identifier: Apache-2.0
"""What all nodes have in common: parameters declared from a table, and fast entities."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.qos import QoSProfile
from rclpy.service import Service

from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.nodes.ros import qos
from robot_dynamics.nodes.ros.parameters import Parameter, Type, Values
from robot_dynamics.nodes.ros.spinning import SPIN, FastEntities, SlowGroup
from robot_dynamics.nodes.ros.stopping import StopRequest

STOP_WITH_PARENT = Parameter('stop_with_parent', True, 'Stop, with a safe command, when the '
                             'process that started this one has ended. Set it to false for a node '
                             'that has to outlive its shell.', read_only=True)

#: Rows of every node's parameter table.
RUNTIME_PARAMETERS = (SPIN, STOP_WITH_PARENT)

#: Declared by rclpy for every node. Stamps of one node cannot come from two clocks.
_SIMULATED_TIME = 'use_sim_time'

#: Most parameters in a request that reads, and in one that changes: more than any node has, for
#: ``ros2 param load`` sends a whole file in one request. rclpy works through a request in one
#: callback, and a controller answers no joint state meanwhile.
MOST_READ, MOST_CHANGED = 250, 100

#: Field of each request that is counted, and the most that it may have.
_REQUEST_LIMITS: dict[type, tuple[str, int]] = {
    DescribeParameters: ('names', MOST_READ), GetParameters: ('names', MOST_READ),
    GetParameterTypes: ('names', MOST_READ), ListParameters: ('prefixes', MOST_READ),
    SetParameters: ('parameters', MOST_CHANGED),
    SetParametersAtomically: ('parameters', MOST_CHANGED)}

_Serve = Callable[[Any, Any], Any]


class NodeParameters:
    """The parameters of a node, declared from a table and read as one snapshot.

    A change is checked when it is requested: `check` takes all values together and raises a
    ParameterError where they contradict each other. It takes effect as a whole when `refresh` is
    called, which the runtime does between two callbacks and never inside a control cycle.
    """

    def __init__(self, node: Node, table: Sequence[Parameter],
                 check: Callable[[Values], None] = lambda values: None):
        self._node = node
        self._table = {row.name: row for row in table}
        self._check = check
        #: Whether an accepted change waits for `refresh`.
        self.changed = False
        self._values = MappingProxyType({row.name: self._declare(row) for row in table})
        check(self._values)
        node.add_on_set_parameters_callback(self._on_set)

    @property
    def values(self) -> Values:
        """Every value by name, as of the last `refresh`. Lists are tuples."""
        return self._values

    def refresh(self) -> Values:
        """Take over what was accepted since the last call, and return all values."""
        self.changed = False
        self._values = MappingProxyType(self._stored())
        return self._values

    def promote(self, parameter: RosParameter) -> RosParameter:
        """Convert one parameter of a change to the type of its row.

        A read-only parameter is returned as it is, for rclpy to reject. Raises a ParameterError
        where the value does not fit the row, would change the clock of the node, or belongs to an
        unknown name.
        """
        name, value = parameter.name, parameter.value
        if name == _SIMULATED_TIME and value != self._node.get_parameter(name).value:
            raise ParameterError('cannot change while the node runs', subject=f'parameter {name}',
                                 remedy='restart the node with it')
        row = self._table.get(name)
        if row is None and not self._node.has_parameter(name):
            raise ParameterError('is unknown', subject=f'parameter {self._hinted(name)}',
                                 remedy='start the node with --help for a list')
        if row is None or row.read_only or parameter.type_ == Type.NOT_SET:
            return parameter
        return _in_type(row, row.convert(value))

    def unknown(self) -> tuple[str, ...]:
        """List parameters that were set from outside and that the node does not read."""
        # rclpy has no public way to see overrides that were not declared.
        overrides = getattr(self._node, '_parameter_overrides', {})
        return tuple(self._hinted(name) for name in overrides
                     if not (name in self._table or self._node.has_parameter(name)
                             or name.startswith('qos_overrides.')))

    def _hinted(self, name: str) -> str:
        """Add the most similar known name to an unknown one."""
        close = difflib.get_close_matches(name, self._table, n=1)
        return f'{name} (did you mean {close[0]}?)' if close else name

    def full_names(self, error: RobotDynamicsError) -> RobotDynamicsError:
        """An error of the library with parameters of this node in place of its arguments.

        The subject, and names with an underscore in the remedy, become the only parameter that
        ends with them: ``bandwidth`` becomes ``feedback.bandwidth``.
        """
        return type(error)(
            error.message, subject=error.subject and self._full_name(error.subject),
            remedy=error.remedy and re.sub(r'(?<![\w./])[a-z]+(_[a-z]+)+\b',
                                           lambda name: self._full_name(name[0]), error.remedy))

    def _full_name(self, name: str) -> str:
        found = [each for each in self._table if each.rpartition('.')[2] == name]
        return found[0] if len(found) == 1 else name

    def _declare(self, row: Parameter) -> Any:
        """Declare one row with the value given for it, in its type."""
        node = self._node
        default = list(row.default) if isinstance(row.default, tuple) else row.default
        given = node.declare_parameter(row.name, default, ParameterDescriptor(dynamic_typing=True))
        value = row.convert(given.value)
        node.set_parameters([_in_type(row, value)])
        # With this descriptor rclpy fixes the type and lets the parameter not be deleted.
        node.set_descriptor(row.name, row.descriptor())
        return value

    def _on_set(self, parameters: Sequence[RosParameter]) -> SetParametersResult:
        """Accept or reject a change requested at run time, as a whole."""
        ours = [parameter for parameter in parameters if parameter.name in self._table]
        try:
            changes = {parameter.name: self._table[parameter.name].convert(parameter.value)
                       for parameter in ours}
            self._check(MappingProxyType({**self._stored(), **changes}))
        except ParameterError as error:
            return _rejected(str(self.full_names(error)))
        self.changed |= bool(ours)
        return SetParametersResult(successful=True)

    def _stored(self) -> dict[str, Any]:
        """Read the values that rclpy has, including those that wait for `refresh`."""
        return {name: row.convert(self._node.get_parameter(name).value)
                for name, row in self._table.items()}


if TYPE_CHECKING:
    class _Mixin(Node):
        """The class of rclpy that follows in the bases."""
else:
    _Mixin = object


class NodeParts(_Mixin):
    """Parameters, fast and slow entities of a node; mix it in before a class of rclpy."""

    _slow_group: SlowGroup | None = None
    #: `NodeParameters`, None until they are declared.
    parameters: Any = None

    @property
    def default_callback_group(self) -> SlowGroup:
        """Group of everything that is not fast, rclpy's own services included."""
        # rclpy reads it while it constructs the node.
        if self._slow_group is None:
            self._slow_group = SlowGroup()
        return self._slow_group

    def equip(self, table: Sequence[Parameter], stopped: StopRequest) -> None:
        """Declare the parameters of a table, once the node of rclpy exists."""
        self.stopped = stopped
        self.parameters = NodeParameters(self, (*RUNTIME_PARAMETERS, *table), self.check)
        self.fast = FastEntities(self, self.parameters.values[SPIN.name])

    def advertise(self, message_type: type, topic: str, profile: QoSProfile) -> Any:
        """Create a publisher; parameters can override its profile."""
        return self.create_publisher(message_type, topic, profile,
                                     qos_overriding_options=qos.overridable())

    def create_service(self, srv_type: type, srv_name: str, callback: Callable[[Any, Any], Any],
                       **options: Any) -> Service:
        """Create a service; those for parameters reject requests that are too large."""
        return super().create_service(srv_type, srv_name, limited(srv_type, callback), **options)

    def set_parameters(self, parameter_list: Sequence[RosParameter]) -> list[SetParametersResult]:
        """Change parameters one by one; see `set_parameters_atomically`."""
        return [self.set_parameters_atomically([parameter]) for parameter in parameter_list]

    def set_parameters_atomically(self, parameter_list: Sequence[RosParameter]
                                  ) -> SetParametersResult:
        """Change all of the parameters or none; the services of the node call this.

        An integer is accepted for a double. rclpy would reject it, or with dynamic typing
        change the type of the parameter.
        """
        if self.parameters is not None:
            try:
                parameter_list = [self.parameters.promote(each) for each in parameter_list]
            except ParameterError as error:
                return _rejected(str(error))
        return super().set_parameters_atomically(parameter_list)

    def check(self, values: Values) -> None:
        """Raise a ParameterError where values contradict each other."""

    def on_parameters(self, values: Values) -> None:
        """Take over changed parameters."""

    def start(self) -> None:
        """Build everything."""

    def stop(self) -> None:
        """Send what has to be sent before the node is destroyed."""


class PlainNode(NodeParts, Node):
    """A node without a lifecycle."""

    def __init__(self, name: str, table: Sequence[Parameter], stopped: StopRequest):
        super().__init__(name)
        self.equip(table, stopped)


def limited(srv_type: type, callback: _Serve) -> _Serve:
    """Wrap the callback of a service for parameters so that it rejects large requests.

    The callback of any other service is returned as it is.
    """
    field, most = _REQUEST_LIMITS.get(srv_type, ('', 0))
    if not field:
        return callback

    def serve(request: Any, response: Any) -> Any:
        count = len(getattr(request, field))
        if count <= most:
            return callback(request, response)
        rejected = _rejected(f'request has {count} {field}, more than {most}; split it')
        if srv_type is SetParameters:
            # One answer for all: as many would take as long as the request itself.
            response.results = [rejected]
        elif srv_type is SetParametersAtomically:
            response.result = rejected
        return response

    return serve


def _rejected(reason: str) -> SetParametersResult:
    """Answer to a change that is rejected."""
    return SetParametersResult(successful=False, reason=reason)


def _in_type(row: Parameter, value: Any) -> RosParameter:
    """Make a parameter of rclpy from a converted value."""
    return RosParameter(row.name, row.type, list(value) if isinstance(value, tuple) else value)
