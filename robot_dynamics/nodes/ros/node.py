# SPDX-License-Identifier: Apache-2.0
"""What nodes have in common beside their topics."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

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
from rclpy.service import Service

from robot_dynamics.errors import ParameterError
from robot_dynamics.nodes.ros.parameters import Parameter, Type, Values
from robot_dynamics.nodes.ros.spinning import SPIN, SlowGroup
from robot_dynamics.nodes.ros.stopping import StopRequest
from robot_dynamics.nodes.ros.subscriptions import FastEntities

STOP_WITH_PARENT = Parameter(
    'stop_with_parent', True, 'Stop, with a safe command, when the process that started this '
    'one is gone. Set false for a node that shall outlive the shell it was started from.',
    read_only=True)

#: Rows of every node's parameter table.
RUNTIME_PARAMETERS = (SPIN, STOP_WITH_PARENT)

#: Declared by rclpy for every node. Stamps of one node cannot come from two clocks.
_SIMULATED_TIME = 'use_sim_time'


class NodeParameters:
    """The parameters of a node, declared from a table and read as one snapshot.

    A change is checked when it is asked for and takes effect when `refresh` is
    called, which the runtime does between two callbacks: all of a change or
    nothing, and never inside a control cycle.

    Parameters
    ----------
    node : Node
        The node that declares them.
    table : sequence of Parameter
        Its table.
    check : callable, optional
        Takes all values together and raises ParameterError where they do not fit
        each other.
    """

    def __init__(self, node: Node, table: Sequence[Parameter],
                 check: Callable[[Values], None] = lambda values: None):
        self._node = node
        self._table = {row.name: row for row in table}
        self._check = check
        self._changed = False
        self._values = MappingProxyType({row.name: self._declare(row) for row in table})
        check(self._values)
        node.add_on_set_parameters_callback(self._on_set)

    @property
    def values(self) -> Values:
        """Every value by name, as of the last `refresh`. Lists are tuples."""
        return self._values

    @property
    def changed(self) -> bool:
        """Whether an accepted change waits for `refresh`."""
        return self._changed

    def refresh(self) -> Values:
        """Take over what was accepted since the last call, and return all values."""
        self._changed = False
        self._values = MappingProxyType(self._stored())
        return self._values

    def promote(self, parameters: Sequence[RosParameter]) -> list[RosParameter]:
        """Return a change with every value in the type of its row.

        Parameters
        ----------
        parameters : sequence of rclpy Parameter
            What somebody asks for. What may not be changed at all is returned as it is, for
            rclpy to refuse.

        Raises
        ------
        ParameterError
            When a value is not one for its row, or would change the clock of the node, or a name
            is that of no parameter.
        """
        return [self._promoted(parameter) for parameter in parameters]

    def unknown(self) -> tuple[str, ...]:
        """Return what was set from outside for this node though nothing here reads it."""
        # rclpy offers no public way to see overrides that nobody declared.
        overrides = getattr(self._node, '_parameter_overrides', {})
        texts = []
        for name in overrides:
            if name in self._table or self._node.has_parameter(name) \
                    or name.startswith('qos_overrides.'):
                continue
            texts.append(self._hinted(name))
        return tuple(texts)

    def _hinted(self, name: str) -> str:
        """Return the name of no parameter, with the one that is nearest to it."""
        close = difflib.get_close_matches(name, self._table, n=1)
        return f'{name} (did you mean {close[0]}?)' if close else name

    def _declare(self, row: Parameter) -> Any:
        """Declare one row with what was given for it, promoted to its type."""
        node = self._node
        default = list(row.default) if isinstance(row.default, tuple) else row.default
        given = node.declare_parameter(row.name, default, ParameterDescriptor(dynamic_typing=True))
        value = row.convert(given.value)
        node.set_parameters([_in_type(row, value)])
        # From here on the type is fixed: rclpy lets nobody delete it or make it another.
        node.set_descriptor(row.name, row.descriptor())
        return value

    def _promoted(self, parameter: RosParameter) -> RosParameter:
        """Return one parameter of a change in the type of its row."""
        name, value = parameter.name, parameter.value
        if name == _SIMULATED_TIME and value != self._node.get_parameter(name).value:
            raise ParameterError('is fixed once the node runs', subject=f'parameter {name}',
                                 remedy='start the node anew with it')
        row = self._table.get(name)
        if row is None and not self._node.has_parameter(name):
            raise ParameterError('is not known here', subject=f'parameter {self._hinted(name)}',
                                 remedy='start the node with --help to see all')
        if row is None or row.read_only or parameter.type_ == Type.NOT_SET:
            return parameter
        return _in_type(row, row.convert(value))

    def _on_set(self, parameters: Sequence[RosParameter]) -> SetParametersResult:
        """Accept or refuse a change asked for at run time, as a whole."""
        ours = [parameter for parameter in parameters if parameter.name in self._table]
        try:
            changes = {parameter.name: self._table[parameter.name].convert(parameter.value)
                       for parameter in ours}
            self._check(MappingProxyType({**self._stored(), **changes}))
        except ParameterError as error:
            return refusal(error)
        self._changed = self._changed or bool(ours)
        return SetParametersResult(successful=True)

    def _stored(self) -> dict[str, Any]:
        """Return the values as rclpy has them, those not taken over yet among them."""
        return {name: row.convert(self._node.get_parameter(name).value)
                for name, row in self._table.items()}


def refusal(error: ParameterError) -> SetParametersResult:
    """Return the answer to a change that is refused."""
    return SetParametersResult(successful=False, reason=str(error))


def _in_type(row: Parameter, value: Any) -> RosParameter:
    """Return a converted value as a parameter of rclpy, in the type of its row."""
    return RosParameter(row.name, row.type, list(value) if isinstance(value, tuple) else value)


class NodeParts:
    """Parameters, fast and slow entities of a node; mix it in before a class of rclpy."""

    _slow_group: SlowGroup | None = None
    #: None until they are declared.
    parameters: NodeParameters | None = None

    @property
    def default_callback_group(self) -> SlowGroup:
        """Where everything goes that is not fast: rclpy's own services, too."""
        # rclpy asks for it while it is still making the node.
        if self._slow_group is None:
            self._slow_group = SlowGroup()
        return self._slow_group

    def equip(self, table: Sequence[Parameter], stopped: StopRequest) -> None:
        """Declare the parameters; to be called once the node exists.

        Parameters
        ----------
        table : sequence of Parameter
            Its own parameters, beside those of every node.
        stopped : StopRequest
            Whether the process is asked to stop.
        """
        self.stopped = stopped
        self.parameters = NodeParameters(self, (*RUNTIME_PARAMETERS, *table), self.check)
        self.fast = FastEntities(self)

    def create_service(self, srv_type: type, srv_name: str, callback: Callable[[Any, Any], Any],
                       **options: Any) -> Service:
        """Create a service; those for parameters take so many of them at once and no more."""
        return super().create_service(srv_type, srv_name, bounded(srv_type, callback), **options)

    def set_parameters(self, parameter_list: Sequence[RosParameter]) -> list[SetParametersResult]:
        """Change parameters one by one; see `set_parameters_atomically`."""
        return [self.set_parameters_atomically([parameter]) for parameter in parameter_list]

    def set_parameters_atomically(self, parameter_list: Sequence[RosParameter]
                                  ) -> SetParametersResult:
        """Change parameters, all of them or none; the services of the node call this.

        An integer is taken where a double is wanted. rclpy would refuse it, or, asked to be
        lenient, make the parameter an integer for everybody who asks for it later.
        """
        if self.parameters is not None:
            try:
                parameter_list = self.parameters.promote(parameter_list)
            except ParameterError as error:
                return refusal(error)
        return super().set_parameters_atomically(parameter_list)

    def check(self, values: Values) -> None:
        """Raise a ParameterError where values do not fit each other."""

    def on_parameters(self, values: Values) -> None:
        """Take over changed parameters."""

    def start(self) -> None:
        """Build everything."""

    def stop(self) -> None:
        """Say the last words."""


class PlainNode(NodeParts, Node):
    """A node without a lifecycle.

    Parameters
    ----------
    name : str
        Its name.
    table : sequence of Parameter
        Its parameters.
    stopped : StopRequest
        Whether the process is asked to stop.
    """

    def __init__(self, name: str, table: Sequence[Parameter], stopped: StopRequest):
        super().__init__(name)
        self.equip(table, stopped)


#: Parameters in a request that asks for them, and in one that changes them: more than any node
#: has, for ``ros2 param load`` sends all of a file in one.
MOST_ASKED_FOR, MOST_CHANGED = 250, 100

#: Of each request: the field that counts, and the most in it.
_BOUNDS: dict[type, tuple[str, int]] = {
    DescribeParameters: ('names', MOST_ASKED_FOR), GetParameters: ('names', MOST_ASKED_FOR),
    GetParameterTypes: ('names', MOST_ASKED_FOR), ListParameters: ('prefixes', MOST_ASKED_FOR),
    SetParameters: ('parameters', MOST_CHANGED),
    SetParametersAtomically: ('parameters', MOST_CHANGED)}

_Serve = Callable[[Any, Any], Any]


def bounded(srv_type: type, callback: _Serve) -> _Serve:
    """Return what serves requests that are not too large by a callback, and refuses the others.

    Parameters
    ----------
    srv_type : type
        Of the service. Where it is none for parameters, the callback itself is returned.
    callback : callable
        Takes request and response and returns the response.
    """
    field, most = _BOUNDS.get(srv_type, ('', 0))
    if not field:
        return callback

    def serve(request: Any, response: Any) -> Any:
        count = len(getattr(request, field))
        if count <= most:
            return callback(request, response)
        refusal = SetParametersResult(
            successful=False, reason=f'{count} {field}, more than {most}: ask in parts')
        if srv_type is SetParameters:
            # One answer for all of them: as many would take as long as what is refused.
            response.results = [refusal]
        elif srv_type is SetParametersAtomically:
            response.result = refusal
        return response

    return serve
