# SPDX-License-Identifier: Apache-2.0
"""What every node of this package does from start to end.

A node refuses to start with one line on stderr and exit status 1, runs until a
signal or the death of its parent, says its last words (a safe command) while it
still can, and leaves with status 0.
"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Protocol

import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.signals import SignalHandlerOptions

from robot_dynamics.errors import BringupError, RobotDynamicsError
from robot_dynamics.nodes.ros.broken_pipe import forget_output
from robot_dynamics.nodes.ros.fast_entities import FastEntities
from robot_dynamics.nodes.ros.node_parameters import NodeParameters
from robot_dynamics.nodes.ros.parameters import Parameter, Values, help_text
from robot_dynamics.nodes.ros.ros_arguments import readable_arguments
from robot_dynamics.nodes.ros.spinning import SPIN, make_spinner
from robot_dynamics.nodes.ros.stopping import StoppedEarlyError, StopRequest
from robot_dynamics.nodes.ros.transports import without_shared_memory

RCLError: type[RuntimeError] = _rclpy.RCLError

STOP_WITH_PARENT = Parameter(
    'stop_with_parent', True, 'Stop, with a safe command, when the process that started this '
    'one is gone. Set false for a node that shall outlive the shell it was started from.',
    read_only=True)

#: Rows of every node's parameter table.
RUNTIME_PARAMETERS = (SPIN, STOP_WITH_PARENT)

#: Longest wait without a look at signals and the parent. s.
_LONGEST_WAIT = 0.05


class RuntimeNode(Protocol):
    """A node that `run` can run; also an rclpy Node."""

    parameters: NodeParameters
    fast: FastEntities

    def start(self) -> None:
        """Build everything; raise a RobotDynamicsError when that cannot be."""

    def on_parameters(self, values: Values) -> None:
        """Take over changed parameters; called between two callbacks."""

    def stop(self) -> None:
        """Say the last words; the node may not have been started."""


def run(make_node: Callable[[StopRequest], RuntimeNode], args: Sequence[str] | None = None,
        table: Sequence[Parameter] = ()) -> int:
    """Run a node in this process until it is asked to stop.

    Parameters
    ----------
    make_node : callable
        Takes the stop request, which a slow start should ask, and returns the node.
    args : sequence of str, optional
        Command line; `sys.argv` when missing.
    table : sequence of Parameter
        The node's own parameters, for ``--help``.

    Returns
    -------
    int
        Exit status.
    """
    if asks_for_help(sys.argv[1:] if args is None else args):
        try:
            print(help_text((sys.modules[make_node.__module__].__doc__ or '').strip(),
                            (*table, *RUNTIME_PARAMETERS)), flush=True)
        except BrokenPipeError:
            forget_output()
        return 0
    stop = StopRequest()
    try:
        stop.listen()
        return _run(make_node, args, stop)
    except StoppedEarlyError:
        return 0
    finally:
        rclpy.try_shutdown()
        stop.ignore_more()


def asks_for_help(args: Sequence[str]) -> bool:
    """Whether a command line asks what can be asked; after ``--ros-args`` it cannot."""
    own = list(args)[:list(args).index('--ros-args')] if '--ros-args' in args else args
    return '--help' in own or '-h' in own


def freeze_garbage() -> None:
    """Collect once and switch the collector off: a collection stops a cycle for tens of ms.

    To be called after the model is built and before anything is subscribed to.
    """
    gc.collect()
    gc.freeze()
    gc.disable()


def _run(make_node: Callable[[StopRequest], RuntimeNode], args: Sequence[str] | None,
         stop: StopRequest) -> int:
    """Initialise ROS and run a node, or say in one line why not."""
    # rcl would say the same as we do once more, and on another line.
    set_logger_level('rcl', LoggingSeverity.FATAL)
    try:
        with without_shared_memory(), \
                readable_arguments(sys.argv if args is None else args) as readable:
            rclpy.init(args=readable, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:
        return _refuse(f'ROS 2 cannot be started: {error}')
    set_logger_level('rcl', LoggingSeverity.WARN)
    try:
        return _run_node(make_node, stop)
    except RobotDynamicsError as error:
        return _refuse(str(error))


def _run_node(make_node: Callable[[StopRequest], RuntimeNode], stop: StopRequest) -> int:
    """Make, start, spin and stop a node."""
    node = _made(make_node, stop)
    try:
        _start(node, stop)
        _spin(node, node.parameters.values[SPIN.name], stop)
        return 0
    finally:
        try:
            node.stop()
        finally:
            node.destroy_node()


def _start(node: RuntimeNode, stop: StopRequest) -> None:
    """Start a node; what fails after a stop was asked for, failed because of that."""
    if not node.parameters.values[STOP_WITH_PARENT.name]:
        stop.outlive_parent()
    for text in node.parameters.unknown():
        node.get_logger().warning(f'parameter {text} is set but nothing here reads it')
    try:
        stop.check()
        node.start()
    except RobotDynamicsError:
        stop.check()
        raise


def _made(make_node: Callable[[StopRequest], RuntimeNode], stop: StopRequest) -> RuntimeNode:
    """Make a node, or say what ROS has against it: keys that are missing, for example."""
    try:
        with warnings.catch_warnings():
            # rclpy warns of what it takes back before it raises.
            warnings.simplefilter('ignore', RuntimeWarning)
            return make_node(stop)
    except RCLError as error:
        raise BringupError(f'cannot be made: {error}', subject='node', remedy='see what the '
                           'environment says of ROS_SECURITY, RMW and DDS profiles') from error


def _spin(node: RuntimeNode, style: str, stop: StopRequest) -> None:
    """Serve the node until a stop is asked for."""
    spinner = make_spinner(style, node, node.fast)
    try:
        while not stop():
            spinner.spin_once(_LONGEST_WAIT)
            if node.parameters.changed:
                node.on_parameters(node.parameters.refresh())
    finally:
        spinner.close()


def _refuse(reason: str) -> int:
    """Say in one line why not."""
    text = ' '.join(reason.split())
    print(text, file=sys.stderr, flush=True)
    return 1
