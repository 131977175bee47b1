# SPDX-License-Identifier: Apache-2.0
"""Whether every node lives by the same time."""

from __future__ import annotations

import numpy as np

from robot_dynamics.bringup.doctor.findings import Remark, error, listed, note, ok, warning
from robot_dynamics.nodes.observing.graph_snapshot import CLOCK, GraphSnapshot

_SIMULATED = 'use_sim_time'


def judge_clock(graph: GraphSnapshot) -> list[Remark]:
    """Compare ``/clock`` with what nodes take for time."""
    publishers = graph.topic(CLOCK).publishers
    simulated = [node.name for node in graph.nodes
                 if (node.parameters or {}).get(_SIMULATED) is True]
    real = [node.name for node in graph.nodes
            if (node.parameters or {}).get(_SIMULATED) is False]
    if not publishers:
        if simulated:
            return [error(CLOCK, f'nobody publishes it, and {listed(simulated)} wait for it',
                          'bridge /clock from the simulator, or set use_sim_time to false')]
        return []
    remarks = []
    if len(publishers) > 1:
        remarks.append(error(CLOCK, f'{len(publishers)} publishers: '
                             + listed(publisher.node for publisher in publishers),
                             'leave one: time jumps back and forth between them'))
    # The source of simulated time runs on the time of the machine itself.
    sources = {publisher.node for publisher in publishers}
    real = [name for name in real if name not in sources]
    if simulated and real:
        remarks.append(warning(listed(real), 'does not use simulated time, others do',
                               'set use_sim_time to true on every node'))
    elif real:
        remarks.append(warning(CLOCK, 'is published and no node uses it',
                               'set use_sim_time to true on every node, or stop the simulator '
                               'that is left over'))
    return [*remarks, *_running(graph)] or [ok(CLOCK, 'simulated time, everywhere')]


def _running(graph: GraphSnapshot) -> list[Remark]:
    """Say how simulated time runs."""
    clock = graph.clock
    if len(clock) < 2:
        return [warning(CLOCK, f'{len(clock)} messages came in {graph.seconds:.2g} s',
                        'is the simulation paused?')]
    steps = np.diff([sample.time for sample in clock])
    if np.any(steps < 0):
        return [error(CLOCK, 'goes back', 'the simulation was reset: start nodes anew after that')]
    elapsed = clock[-1].received - clock[0].received
    factor = (clock[-1].time - clock[0].time) / elapsed if elapsed else 1.0
    if factor < 0.02:
        return [warning(CLOCK, 'stands still', 'is the simulation paused?')]
    if factor < 0.8:
        return [note(CLOCK, f'simulated time runs at {factor:.2f} of real time')]
    return []
