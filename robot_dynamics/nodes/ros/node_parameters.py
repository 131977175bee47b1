# SPDX-License-Identifier: Apache-2.0
"""The parameters of a running node: declared from a table, changed as a whole, read as one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from robot_dynamics.errors import ParameterError
from robot_dynamics.nodes.ros.parameters import Parameter, Type, Values

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
