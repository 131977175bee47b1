# SPDX-License-Identifier: Apache-2.0
"""Run a node from start to end.

A node that cannot start exits with status 1 after one line on stderr. It runs until a signal or
the end of its parent, sends its last messages (a safe command), and exits with status 0.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import rclpy
import yaml
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.signals import SignalHandlerOptions

from robot_dynamics.errors import BringupError, RobotDynamicsError
from robot_dynamics.nodes.ros.node import RUNTIME_PARAMETERS, STOP_WITH_PARENT, NodeParts
from robot_dynamics.nodes.ros.parameters import Parameter, help_text
from robot_dynamics.nodes.ros.spinning import SPIN, make_spinner
from robot_dynamics.nodes.ros.stopping import StoppedEarlyError, StopRequest, forget_output
from robot_dynamics.nodes.ros.transports import without_shared_memory

RCLError: type[RuntimeError] = _rclpy.RCLError

#: Longest wait between two checks of signals and the parent. s.
_LONGEST_WAIT = 0.05

_INTEGER = re.compile(r'[-+]?[0-9]+')
_DOUBLE = re.compile(r'[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?'
                     r'|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)')
_LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_ASSIGNMENT = ':='


def run(make_node: Callable[[StopRequest], NodeParts], args: Sequence[str] | None = None,
        table: Sequence[Parameter] = (), *, is_real_time: bool = False) -> int:
    """Run a node in this process until it is asked to stop; return the exit status.

    `make_node` takes the stop request, which a slow start should check, and returns the node.
    `args` is `sys.argv` by default; the table of the node's own parameters is for ``--help``. A
    node that `is_real_time` keeps a real-time priority that it was started with.
    """
    if asks_for_help(sys.argv[1:] if args is None else args):
        try:
            print(help_text((sys.modules[make_node.__module__].__doc__ or '').strip(),
                            (*table, *RUNTIME_PARAMETERS)), flush=True)
        except BrokenPipeError:
            forget_output()
        return 0
    if not is_real_time:
        _give_up_priority()
    stop = StopRequest()
    try:
        stop.listen()
        _run(make_node, sys.argv if args is None else args, stop)
    except StoppedEarlyError:
        pass
    except RobotDynamicsError as error:
        print(' '.join(str(error).split()), file=sys.stderr, flush=True)
        return 1
    finally:
        rclpy.try_shutdown()
        stop.ignore_more()
    return 0


def _give_up_priority() -> None:
    """Give up a real-time priority, which a launch passes on to all its processes.

    A node that computes for a tenth of a second would delay controllers of the same priority.
    """
    if sys.platform == 'linux' and os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def asks_for_help(args: Sequence[str]) -> bool:
    """Whether a command line has ``--help`` or ``-h`` before ``--ros-args``."""
    own = list(args)[:list(args).index('--ros-args')] if '--ros-args' in args else args
    return '--help' in own or '-h' in own


def freeze_garbage() -> None:
    """Collect once and switch the collector off: a collection stops a cycle for tens of ms.

    To be called after the model is built and before anything is subscribed to.
    """
    gc.collect()
    gc.freeze()
    gc.disable()


def started_context(domain: int | None) -> Context:
    """Initialise rclpy in a context of its own, for a command that observes a system.

    The caller shuts it down. The domain is that of the environment by default. Raises a
    BringupError where ROS 2 cannot be started.
    """
    context = Context()
    _initialise([], context=context, domain_id=domain)
    return context


def _initialise(arguments: Sequence[str], **options: Any) -> None:
    """Initialise rclpy; raises a BringupError where that is not possible."""
    _choose_log_folder()
    try:
        with without_shared_memory():
            rclpy.init(args=arguments, **options)
    except RuntimeError as error:
        raise BringupError(f'cannot be started: {" ".join(str(error).split())}', subject='ROS 2',
                           remedy='check arguments, and RMW, domain and DDS profiles in the '
                                  'environment') from error


def _choose_log_folder() -> None:
    """Keep the logs of ROS 2 beside the kernels where the home directory cannot be written."""
    if {'ROS_LOG_DIR', 'ROS_HOME'} & set(os.environ):
        return
    folder = Path(os.environ.get('HOME') or '/', '.ros', 'log')
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        from robot_dynamics.dynamics.kernels.cache import cache_base
        os.environ['ROS_LOG_DIR'] = str(cache_base() / 'log')


def _run(make_node: Callable[[StopRequest], NodeParts], args: Sequence[str],
         stop: StopRequest) -> None:
    """Initialise ROS; make, start, spin and stop a node."""
    # rcl would print an error of the arguments once more, on another line.
    set_logger_level('rcl', LoggingSeverity.FATAL)
    with readable_arguments(args) as readable:
        _initialise(readable, signal_handler_options=SignalHandlerOptions.NO)
    set_logger_level('rcl', LoggingSeverity.WARN)
    try:
        with warnings.catch_warnings():
            # rclpy warns of what it withdraws before it raises.
            warnings.simplefilter('ignore', RuntimeWarning)
            node = make_node(stop)
    except RCLError as error:  # missing keys, for example
        raise BringupError(f'cannot be made: {error}', subject='node', remedy='check '
                           'ROS_SECURITY, RMW and DDS profiles in the environment') from error
    try:
        _start(node, stop)
        _spin(node, stop)
    finally:
        try:
            node.stop()
        finally:
            node.destroy_node()


def _start(node: NodeParts, stop: StopRequest) -> None:
    """Start a node; a failure after a stop request is attributed to that request."""
    if not node.parameters.values[STOP_WITH_PARENT.name]:
        stop.outlive_parent()
    for text in node.parameters.unknown():
        node.get_logger().warning(f'parameter {text} is set but this node does not read it')
    try:
        stop.check()
        node.start()
    except RobotDynamicsError as error:
        stop.check()
        raise node.parameters.full_names(error) from error


def _spin(node: NodeParts, stop: StopRequest) -> None:
    """Serve the node until a stop is requested."""
    spinner = make_spinner(node.parameters.values[SPIN.name], node, node.fast)
    try:
        while not stop():
            spinner.spin_once(_LONGEST_WAIT)
            if node.parameters.changed:
                node.on_parameters(node.parameters.refresh())
    finally:
        spinner.close()


@contextmanager
def readable_arguments(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Yield a command line whose lists of numbers rcl can read.

    rcl gives a list one type and rejects ``[0, 0.5]``, on the command line as in a file, before
    a node could declare that a parameter is a list of numbers. Here ``.0`` is appended to the
    integers of such a list. Everything else stays as it was written.
    """
    with ExitStack() as copies:
        yield [_readable(option, argument, copies)
               for option, argument in zip(_options(arguments), arguments, strict=True)]


def with_uniform_lists(text: str) -> str:
    """Append ``.0`` to integers in lists of YAML that have other numbers, too.

    Text that is not YAML is returned as it is.
    """
    places: list[int] = []
    # Events of every mapping and list that is open at a point of the text.
    opened: list[list[yaml.NodeEvent]] = []
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.NodeEvent) and opened:
                opened[-1].append(event)
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append([])
            elif isinstance(event, yaml.SequenceEndEvent):
                places += _integers_of_mixed(opened.pop())
            elif isinstance(event, yaml.MappingEndEvent):
                opened.pop()
    # ValueError: bytes on a command line that are not text.
    except (yaml.YAMLError, RecursionError, ValueError):
        return text  # rcl reports the error
    for place in sorted(places, reverse=True):
        text = f'{text[:place]}.0{text[place:]}'
    return text


def _options(arguments: Sequence[str]) -> Iterator[str]:
    """Yield for each argument the ROS option whose value it is, '' where it is not a value."""
    ours, option = False, ''
    for argument in arguments:
        yield option
        if argument in ('--ros-args', '--'):
            ours, option = argument == '--ros-args', ''
        else:
            option = argument if ours and not option else ''


def _readable(option: str, argument: str, copies: ExitStack) -> str:
    """Make one argument readable where it is the value of an option with numbers."""
    if option in ('-p', '--param') and _ASSIGNMENT in argument:
        name, value = argument.split(_ASSIGNMENT, 1)
        # Only a list can need it; a whole URDF is not parsed.
        return f'{name}{_ASSIGNMENT}{with_uniform_lists(value)}' \
            if value.lstrip().startswith('[') else argument
    if option == '--params-file':
        return _readable_file(argument, copies)
    return argument


def _readable_file(path: str, copies: ExitStack) -> str:
    """Path of a file with uniform lists, the file itself where it has them."""
    try:
        text = Path(path).read_text(encoding='utf-8')
    except (OSError, ValueError):
        return path  # rcl reports that it cannot be read
    uniform = with_uniform_lists(text)
    if uniform == text:
        return path
    copy = copies.enter_context(tempfile.NamedTemporaryFile(
        'w', encoding='utf-8', prefix='robot_dynamics-', suffix='.yaml'))
    copy.write(uniform)
    copy.flush()
    return copy.name


def _integers_of_mixed(items: Sequence[yaml.NodeEvent]) -> list[int]:
    """Character indices where integers end in a list of plain numbers of both kinds."""
    plain = [item for item in items if isinstance(item, yaml.ScalarEvent) and not item.style]
    integers = [item for item in plain if _INTEGER.fullmatch(item.value)]
    doubles = [item for item in plain if _DOUBLE.fullmatch(item.value)]
    if not doubles or len(integers) + len(doubles) != len(items):
        return []
    return [item.end_mark.index for item in integers if item.end_mark]
