# SPDX-License-Identifier: Apache-2.0
"""What is to be seen of this machine: load, our processes, compiled kernels. Linux tells most."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from robot_dynamics.bringup.warmup import import_kernels
from robot_dynamics.dynamics.kernels.loading import all_kernels

_MODULE = 'robot_dynamics.nodes.'
#: Scheduling policies of Linux that preempt ordinary processes.
_REAL_TIME = (1, 2)


@dataclass(frozen=True)
class ProcessSeen:
    """A process that runs a node of this package.

    Parameters
    ----------
    pid : int
        Its id.
    node : str
        The node's executable.
    cpu : float
        Processor time it took, as a share of one core.
    domain : int or None
        Its ROS domain, None where that is not to be seen.
    nice : int
        Its niceness.
    is_real_time : bool
        Whether it preempts ordinary processes.
    """

    pid: int
    node: str
    cpu: float
    domain: int | None = None
    nice: int = 0
    is_real_time: bool = False


@dataclass(frozen=True)
class MachineSeen:
    """The machine that the doctor runs on.

    Parameters
    ----------
    cores : int
        Processor cores that this process may use.
    load : float or None
        Processes that want to run, on the average of a minute.
    busy, stolen : float or None
        Share of all cores in use, and taken by other guests of the same host, meanwhile.
    governor : str
        How the processor chooses its frequency; empty where that is not told.
    processes : tuple of ProcessSeen
        Nodes of this package.
    kernels, compiled : int
        Compiled kernels there are to be, and are on disk.
    keeps_kernels : bool
        Whether they are kept from one process to the next.
    """

    cores: int = 1
    load: float | None = None
    busy: float | None = None
    stolen: float | None = None
    governor: str = ''
    processes: tuple[ProcessSeen, ...] = ()
    kernels: int = 0
    compiled: int = 0
    keeps_kernels: bool = True


class MachineWatch:
    """Watches the machine from when it is made until it is asked."""

    def __init__(self) -> None:
        import_kernels()
        self._started = time.monotonic()
        self._processes = _own_processes()
        self._times = _processor_times()

    def seen(self) -> MachineSeen:
        """Return what was seen since."""
        elapsed = max(time.monotonic() - self._started, 1e-3)
        processes = []
        for pid, now in _own_processes().items():
            before = self._processes.get(pid)
            if before is not None:
                cpu = (now.ticks - before.ticks) / os.sysconf('SC_CLK_TCK') / elapsed
                processes.append(ProcessSeen(pid, now.node, cpu, _domain_of(pid),
                                             now.nice, now.policy in _REAL_TIME))
        kernels = all_kernels()
        busy, stolen = self._shares()
        return MachineSeen(
            cores=_cores(), load=os.getloadavg()[0] if hasattr(os, 'getloadavg') else None,
            busy=busy, stolen=stolen, governor=_governor(), processes=tuple(processes),
            kernels=len(kernels), compiled=sum(kernel.is_cached for kernel in kernels),
            keeps_kernels=not any(_is_temporary(kernel.directory) for kernel in kernels))

    def _shares(self) -> tuple[float | None, float | None]:
        now = _processor_times()
        if now is None or self._times is None:
            return None, None
        spent = [after - before for after, before in zip(now, self._times, strict=True)]
        total = sum(spent)
        if total <= 0:
            return None, None
        # user, nice, system, idle, iowait, irq, softirq, steal
        return 1.0 - (spent[3] + spent[4]) / total, spent[7] / total


@dataclass(frozen=True)
class _Counted:
    """What ``/proc`` says of a process."""

    node: str
    ticks: int
    nice: int
    policy: int


def _own_processes() -> dict[int, _Counted]:
    """Return the processes that run nodes of this package, by id."""
    found = {}
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            words = (folder / 'cmdline').read_bytes().decode(errors='replace').split('\0')
            module = next((word for word in words if word.startswith(_MODULE)), None)
            if module is None or '--ros-args' not in words:
                continue
            # The name in parentheses may hold spaces; numbers come after it, state is field 3.
            fields = (folder / 'stat').read_text().rpartition(')')[2].split()
        except OSError:
            continue  # It has ended meanwhile.
        found[int(folder.name)] = _Counted(module.removeprefix(_MODULE),
                                           int(fields[11]) + int(fields[12]), int(fields[16]),
                                           int(fields[38]))
    return found


def _domain_of(pid: int) -> int | None:
    """Return the ROS domain that a process was started in."""
    try:
        variables = (Path('/proc') / str(pid) / 'environ').read_bytes().split(b'\0')
    except OSError:
        return None  # Somebody else's, or it has ended.
    chosen = next((text.partition(b'=')[2] for text in variables
                   if text.startswith(b'ROS_DOMAIN_ID=')), b'')
    return int(chosen) if chosen.isdigit() else 0


def _processor_times() -> list[int] | None:
    """Return the time of all cores by what they did, in ticks."""
    try:
        line = Path('/proc/stat').read_text().splitlines()[0]
    except (OSError, IndexError):
        return None
    times = [int(word) for word in line.split()[1:9]]
    return times if len(times) == 8 else None


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def _governor() -> str:
    try:
        return Path('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor').read_text().strip()
    except OSError:
        return ''


def _is_temporary(directory: Path) -> bool:
    """Whether a cache goes with its process."""
    return directory.parent.name.startswith('robot_dynamics-') \
        and directory.parents[1] == Path(tempfile.gettempdir())
