# SPDX-License-Identifier: Apache-2.0
"""Check whether this machine can run a control loop: load, processes and compiled kernels."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from robot_dynamics.bringup.doctor.findings import CheckResult, error, note, ok, warning
from robot_dynamics.bringup.doctor.joint_states import RATE_TOLERANCE, rate_by_stamps
from robot_dynamics.bringup.warmup import import_kernels
from robot_dynamics.dynamics.kernels.cache import outlives_process
from robot_dynamics.dynamics.warmup import kernels_ahead
from robot_dynamics.nodes.observing.graph_snapshot import GraphSnapshot

#: Share of all cores in use above which a loop has to wait.
FULL = 0.85
#: Share of a core above which a single thread is nearly saturated.
SATURATED = 0.85
#: Share taken by other guests of the host that affects a loop.
STOLEN = 0.02
#: Share of cycles that a controller may miss, or answer half a period late; and the longest time
#: from one answer to the next, in which the last effort goes on acting, s.
MISSED, LONGEST_PERIOD = 0.02, 0.02

_MODULE = 'robot_dynamics.nodes.'
_GOVERNOR = Path('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')
#: Real-time scheduling policies of Linux, and ticks of processor time per second.
_REAL_TIME, _TICKS = (1, 2), os.sysconf('SC_CLK_TCK')


@dataclass(frozen=True)
class NodeUsage:
    """A process that runs a node of this package: its id, executable and niceness.

    ``cpu`` is processor time as a share of one core; the ROS domain is None where it is not
    visible.
    """

    pid: int
    node: str
    cpu: float
    domain: int | None = None
    nice: int = 0
    is_real_time: bool = False


@dataclass(frozen=True)
class MachineState:
    """State of the machine of the doctor.

    Number of cores that this process may use, load average of one minute, shares of all cores in
    use and taken by other guests of the host, frequency governor (empty if unknown), nodes of this
    package, numbers of compiled kernels needed and on disk, and whether the cache is persistent.
    """

    cores: int = 1
    load: float | None = None
    busy: float | None = None
    stolen: float | None = None
    governor: str = ''
    processes: tuple[NodeUsage, ...] = ()
    kernels: int = 0
    compiled: int = 0
    keeps_kernels: bool = True


def check_machine(state: MachineState, domain: int | None = None) -> list[CheckResult]:
    """Check for causes of late cycles; `domain` selects the processes of one ROS domain."""
    processes = [process for process in state.processes
                 if domain is None or process.domain in (None, domain)]
    return [*_check_load(state), *_check_processes(processes), *check_kernels(state)]


def check_cycles(graph: GraphSnapshot) -> list[CheckResult]:
    """Check that controllers answer every state in time, where time is not simulated.

    What is an error for a real arm is a warning for a simulated one, which takes no harm. States
    that come at another rate than expected are not missed cycles.
    """
    is_simulated = any(node.base_name == 'simulated_arm' for node in graph.nodes)
    sent = rate_by_stamps(graph.states)
    results = []
    for node in graph.controllers:
        loop = next((status.values for status in graph.statuses
                     if status.name == f'{node.base_name}: loop'), {})
        try:
            rate, worst, late = (float(loop[key]) for key in (
                'rate [Hz]', 'worst period [ms]', 'late cycles'))
        except (KeyError, ValueError):  # not active, simulated time, or another program's item
            continue
        wanted = (node.parameters or {}).get('rate', rate)
        if sent is not None and abs(sent / wanted - 1.0) > RATE_TOLERANCE:
            continue
        longest = max(1e3 * LONGEST_PERIOD, 1500.0 / wanted)
        if rate >= (1.0 - MISSED) * wanted and late <= MISSED * wanted and worst <= longest:
            continue
        make = warning if is_simulated else error
        results.append(make('processor', f'is not fit for {node.base_name} at {wanted:g} Hz: '
                            f'{rate:.0f} Hz, {late:.0f} cycles late within a second, the longest '
                            f'period {worst:.3g} ms', 'the last effort goes on acting meanwhile: '
                            'stop other programs, give the controller a core of its own '
                            '(taskset) and a real-time priority (chrt -f), set spin to waitset, '
                            'or lower rate and effort_limit_share'))
    return results


def check_kernels(state: MachineState) -> list[CheckResult]:
    """Check that the equations are compiled."""
    if not state.keeps_kernels:
        return [warning('kernels', 'cannot be stored: every node compiles them when it starts',
                        'set NUMBA_CACHE_DIR to a folder where you can write')]
    missing = state.kernels - state.compiled
    if missing:
        return [note('kernels', f'{missing} of {state.kernels} are not compiled yet: the first '
                     'node to start compiles them, which takes a while', 'robot-dynamics warmup')]
    return [ok('kernels', f'all {state.kernels} compiled and on disk')]


def _check_load(state: MachineState) -> list[CheckResult]:
    results = []
    load = '' if state.load is None else f'load {state.load:.1f} on '
    text = f'{load}{state.cores} core{"s" if state.cores > 1 else ""}'
    if state.busy is not None:
        text += f', {100 * state.busy:.0f} % busy'
        if state.busy > FULL:
            results.append(warning('processor', text, 'stop other programs, give the controller '
                                   'cores of its own (taskset), or set spin to waitset'))
    if state.stolen is not None and state.stolen > STOLEN:
        results.append(warning('processor', f'{100 * state.stolen:.0f} % of it is taken by other '
                               'guests of the host', 'a virtual machine is late then: run the '
                               'controller on a machine of its own'))
    if state.governor == 'powersave':
        results.append(note('processor', 'has the frequency governor powersave',
                            'cpupower frequency-set -g performance'))
    return results or [ok('processor', text)]


def _check_processes(processes: Sequence[NodeUsage]) -> Iterator[CheckResult]:
    hindered = [process for process in processes if process.cpu > SATURATED or process.nice > 0]
    for process in hindered:
        subject = f'{process.node} ({process.pid})'
        if process.cpu > SATURATED:
            yield warning(subject, f'takes {100 * process.cpu:.0f} % of a core',
                          'set spin to waitset or events, or lower the rate')
        if process.nice > 0:
            yield warning(subject, f'has niceness {process.nice}: other processes run first',
                          'start it without nice')
    if processes and not hindered:
        yield ok('processes', ', '.join(
            f'{process.node} {100 * process.cpu:.0f} %'
            + (' (real time)' if process.is_real_time else '') for process in processes))


class MachineWatch:
    """Observes the machine from its construction to `state`."""

    def __init__(self) -> None:
        import_kernels()
        self._started = time.monotonic()
        self._processes = _node_processes()
        self._times = _processor_times()

    def state(self) -> MachineState:
        """State of the machine since the construction."""
        elapsed = max(time.monotonic() - self._started, 1e-3)
        processes = tuple(
            replace(usage, cpu=(ticks - self._processes[pid][1]) / _TICKS / elapsed)
            for pid, (usage, ticks) in _node_processes().items() if pid in self._processes)
        kernels = kernels_ahead()
        busy, stolen = self._shares()
        # These two functions do not exist on every system.
        cores = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') \
            else os.cpu_count() or 1
        load = os.getloadavg()[0] if hasattr(os, 'getloadavg') else None
        return MachineState(
            cores, load, busy, stolen, _text(_GOVERNOR).strip(), processes,
            len(kernels), sum(kernel.is_cached for kernel in kernels), outlives_process())

    def _shares(self) -> tuple[float | None, float | None]:
        """Shares of all cores that were busy, and taken by other guests."""
        now = _processor_times()
        if now is None or self._times is None:
            return None, None
        spent = [after - before for after, before in zip(now, self._times, strict=True)]
        total = sum(spent)
        if total <= 0:
            return None, None
        # user, nice, system, idle, iowait, irq, softirq, steal
        return 1.0 - (spent[3] + spent[4]) / total, spent[7] / total


def _node_processes() -> dict[int, tuple[NodeUsage, int]]:
    """Processes that run nodes of this package, by id, and the ticks that each has taken."""
    found = {}
    for folder in Path('/proc').glob('[0-9]*'):
        words = _text(folder / 'cmdline').split('\0')
        module = next((word for word in words if word.startswith(_MODULE)), None)
        if module is None or '--ros-args' not in words:
            continue
        # The name in parentheses may have spaces; field 3, the state, is the first after it.
        fields = _text(folder / 'stat').rpartition(')')[2].split()
        if fields:  # else it has ended meanwhile
            usage = NodeUsage(int(folder.name), module.removeprefix(_MODULE), 0.0,
                              _domain_of(folder), int(fields[16]), int(fields[38]) in _REAL_TIME)
            found[usage.pid] = usage, int(fields[11]) + int(fields[12])
    return found


def _domain_of(process: Path) -> int | None:
    """ROS domain that a process was started in; None where it is not visible."""
    variables = _text(process / 'environ').split('\0')
    chosen = next((text.partition('=')[2] for text in variables
                   if text.startswith('ROS_DOMAIN_ID=')), '')
    return None if variables == [''] else int(chosen) if chosen.isdigit() else 0


def _processor_times() -> list[int] | None:
    """Time of all cores by activity, in ticks; None where it is unknown."""
    times = [int(word) for word in _text(Path('/proc/stat')).partition('\n')[0].split()[1:9]]
    return times if len(times) == 8 else None


def _text(path: Path) -> str:
    """Content of a file of the kernel, empty where it cannot be read."""
    try:
        return path.read_text(errors='replace')
    except OSError:
        return ''
