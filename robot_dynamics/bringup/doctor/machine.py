# SPDX-License-Identifier: Apache-2.0
"""Whether this machine can run a control loop."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.bringup.doctor.findings import Remark, note, ok, warning
from robot_dynamics.bringup.doctor.machine_seen import MachineSeen, ProcessSeen

#: Share of all cores in use beyond which a loop has to wait for its turn.
FULL = 0.85
#: Share of a core beyond which a single thread has hardly time left.
SATURATED = 0.85
#: Share taken by other guests of the host that a loop notices.
STOLEN = 0.02


def judge_machine(seen: MachineSeen, domain: int | None = None) -> list[Remark]:
    """Say what about this machine makes cycles late.

    Parameters
    ----------
    seen : MachineSeen
        The machine.
    domain : int, optional
        ROS domain whose processes matter; all where it is not said.
    """
    processes = [process for process in seen.processes
                 if domain is None or process.domain in (None, domain)]
    return [*_load(seen), *_processes(processes), *judge_kernels(seen)]


def judge_kernels(seen: MachineSeen) -> list[Remark]:
    """Say whether the equations are compiled."""
    if not seen.keeps_kernels:
        return [warning('kernels', 'nowhere to keep compiled equations: every node compiles them '
                        'when it starts', 'set NUMBA_CACHE_DIR to a folder that can be written')]
    missing = seen.kernels - seen.compiled
    if missing:
        return [note('kernels', f'{missing} of {seen.kernels} are not compiled yet: the first '
                     'node to start does it, which takes a while', 'robot-dynamics warmup')]
    return [ok('kernels', f'all {seen.kernels} compiled and on disk')]


def _load(seen: MachineSeen) -> list[Remark]:
    remarks = []
    load = '' if seen.load is None else f'load {seen.load:.1f} on '
    text = f'{load}{seen.cores} core{"s" if seen.cores > 1 else ""}'
    if seen.busy is not None:
        text += f', {100 * seen.busy:.0f} % busy'
        if seen.busy > FULL:
            remarks.append(warning('processor', text, 'stop what else runs, give the controller '
                                   'cores of its own (taskset), or set spin to waitset'))
    if seen.stolen is not None and seen.stolen > STOLEN:
        remarks.append(warning('processor', f'{100 * seen.stolen:.0f} % of it is taken by other '
                               'guests of the host', 'no virtual machine keeps time then: move '
                               'control to a machine of its own'))
    if seen.governor == 'powersave':
        remarks.append(note('processor', 'its frequency governor is powersave',
                            'cpupower frequency-set -g performance'))
    return remarks or [ok('processor', text)]


def _processes(processes: Sequence[ProcessSeen]) -> list[Remark]:
    remarks = []
    for process in processes:
        subject = f'{process.node} ({process.pid})'
        if process.cpu > SATURATED:
            remarks.append(warning(subject, f'takes {100 * process.cpu:.0f} % of a core',
                                   'set spin to waitset or events, or lower the rate'))
        if process.nice > 0:
            remarks.append(warning(subject, f'has niceness {process.nice}: everything else goes '
                                   'first', 'start it without nice'))
    if not remarks and processes:
        shares = ', '.join(f'{process.node} {100 * process.cpu:.0f} %'
                           + (' (real time)' if process.is_real_time else '')
                           for process in processes)
        remarks.append(ok('processes', shares))
    return remarks
