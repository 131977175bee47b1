# SPDX-License-Identifier: Apache-2.0
"""What every node of this package does from start to end.

A node refuses to start with one line on stderr and exit status 1, runs until a
signal or the death of its parent, says its last words (a safe command) while it
still can, and leaves with status 0.
"""

from __future__ import annotations

import gc
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import rclpy
import yaml
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.signals import SignalHandlerOptions

from robot_dynamics.errors import BringupError, RobotDynamicsError
from robot_dynamics.nodes.ros.node import RUNTIME_PARAMETERS, STOP_WITH_PARENT, NodeParameters
from robot_dynamics.nodes.ros.parameters import Parameter, Values, help_text
from robot_dynamics.nodes.ros.spinning import SPIN, make_spinner
from robot_dynamics.nodes.ros.stopping import StoppedEarlyError, StopRequest, forget_output
from robot_dynamics.nodes.ros.subscriptions import FastEntities
from robot_dynamics.nodes.ros.transports import without_shared_memory

RCLError: type[RuntimeError] = _rclpy.RCLError

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


_INTEGER = re.compile(r'[-+]?[0-9]+')
_DOUBLE = re.compile(r'[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?'
                     r'|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)')
_LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_ASSIGNMENT = ':='


@contextmanager
def readable_arguments(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Yield a command line whose lists of numbers rcl can read.

    Parameters
    ----------
    arguments : sequence of str
        The command line. Parameter files with nothing to change are passed on as they are; of
        others it names a copy, which is gone after the block.
    """
    with ExitStack() as copies:
        yield [_readable(option, argument, copies)
               for option, argument in zip(_options(arguments), arguments, strict=True)]


def with_uniform_lists(text: str) -> str:
    """Return YAML in which no list mixes integers and other numbers; what is no YAML as it is."""
    try:
        root = yaml.compose(text, Loader=_LOADER)
    # ValueError: bytes on a command line that are no text.
    except (yaml.YAMLError, RecursionError, ValueError):
        return text  # rcl says what is wrong with it
    for place in sorted(_places(root), reverse=True):
        text = f'{text[:place]}.0{text[place:]}'
    return text


def _options(arguments: Sequence[str]) -> Iterator[str]:
    """Yield for each argument the option of ROS whose value it is, '' where it is none."""
    ours, option = False, ''
    for argument in arguments:
        yield option
        if argument in ('--ros-args', '--'):
            ours, option = argument == '--ros-args', ''
        else:
            option = argument if ours and not option else ''


def _readable(option: str, argument: str, copies: ExitStack) -> str:
    """Return one argument, made readable where it is the value of an option with numbers."""
    if option in ('-p', '--param') and _ASSIGNMENT in argument:
        name, value = argument.split(_ASSIGNMENT, 1)
        # Anything may be the value of a parameter; a whole URDF is not worth to be parsed.
        return f'{name}{_ASSIGNMENT}{with_uniform_lists(value)}' \
            if value.lstrip().startswith('[') else argument
    if option == '--params-file':
        return _readable_file(argument, copies)
    return argument


def _readable_file(path: str, copies: ExitStack) -> str:
    """Return the path of a file with uniform lists, the file itself where it has them."""
    try:
        text = Path(path).read_text(encoding='utf-8')
    except (OSError, ValueError):
        return path  # rcl says that it cannot be read
    uniform = with_uniform_lists(text)
    if uniform == text:
        return path
    copy = copies.enter_context(tempfile.NamedTemporaryFile(
        'w', encoding='utf-8', prefix='robot_dynamics-', suffix='.yaml'))
    copy.write(uniform)
    copy.flush()
    return copy.name


def _places(root: yaml.Node | None) -> set[int]:
    """Return where the integers of mixed lists end."""
    places: set[int] = set()
    nodes = [root] if root is not None else []
    seen: set[int] = set()
    while nodes:
        node = nodes.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            nodes += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            places |= _integers_of_mixed(node)
            nodes += node.value
    return places


def _integers_of_mixed(node: yaml.SequenceNode) -> set[int]:
    """Return where the integers end in a list of plain numbers that are not all integers."""
    plain = [item for item in node.value
             if isinstance(item, yaml.ScalarNode) and not item.style]
    integers = [item for item in plain if _INTEGER.fullmatch(item.value)]
    doubles = [item for item in plain if _DOUBLE.fullmatch(item.value)]
    if not doubles or len(integers) + len(doubles) != len(node.value):
        return set()
    return {item.end_mark.index for item in integers}


def started_context(domain: int | None) -> Context:
    """Return a context of its own; whoever asks for it shuts it down.

    Parameters
    ----------
    domain : int, optional
        ROS domain; that of the environment by default.

    Raises
    ------
    BringupError
        When ROS 2 cannot be started.
    """
    context = Context()
    try:
        with without_shared_memory():
            rclpy.init(args=[], context=context, domain_id=domain)
    except RuntimeError as error:
        raise BringupError(f'cannot be started: {" ".join(str(error).split())}',
                           subject='ROS 2', remedy='see what the environment says of RMW, domain '
                                                   'and DDS profiles') from error
    return context
