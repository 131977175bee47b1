# SPDX-License-Identifier: Apache-2.0
"""Workers side by side: started, read, ended when they hang and started again."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fuzzing.judge import Outcome
from fuzzing.worker import Share

SCRIPT = Path(__file__).resolve().parents[1] / 'fuzz.py'
#: A worker that reports nothing for so much time of a processor hangs. s.
SILENCE = 20.0
#: A worker may need this much to begin: kernels may have to be compiled. s.
START = 300.0
#: A worker that reports nothing for this long hangs, too. s.
STANDSTILL = 300.0


@dataclass
class Results:
    """Outcomes of all inputs.

    Parameters
    ----------
    outcomes : dict of (str, int) to Outcome
        By kind and number.
    growth : list of int
        Memory that each worker has kept at its end, in bytes.
    """

    outcomes: dict[tuple[str, int], Outcome] = field(default_factory=dict)
    growth: list[int] = field(default_factory=list)


def run(counts: dict[str, int], seed: int, workers: int) -> Results:
    """Examine all inputs.

    Parameters
    ----------
    counts : dict of str to int
        How many of each kind.
    seed : int
        Seed of all of them.
    workers : int
        How many processes share them.
    """
    results = Results()
    shares = [Share(counts, seed, worker, workers) for worker in range(workers)]
    with ThreadPoolExecutor(workers) as threads:
        # Whatever goes wrong in a thread is raised here.
        list(threads.map(lambda share: _until_done(share, results), shares))
    return results


def _until_done(share: Share, results: Results) -> None:
    """Run workers until a share is done; each that dies is followed by another."""
    while True:
        lost, reason = _run_worker(share, results)
        if lost is None:
            return
        results.outcomes[lost] = Outcome('lost', 0.0, 0, reason)
        share = replace(share, after=lost)


def _run_worker(share: Share, results: Results) -> tuple[tuple[str, int] | None, str]:
    """Run one worker; return the input that it did not survive, if any, and what happened."""
    current: tuple[str, int] | None = None
    with tempfile.TemporaryFile() as complaints:
        command = [sys.executable, str(SCRIPT), '--share', json.dumps(share.__dict__)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints)
        try:
            for line in _lines(process):
                current = _note(json.loads(line), current, results)
            status = process.wait(timeout=STANDSTILL)
        except (TimeoutError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
            status = 'hangs'
        complaints.seek(0)
        said = complaints.read().decode('utf-8', 'replace')[-400:]
    if current is None and status == 0:
        return None, ''
    if current is None:
        raise RuntimeError(f'a worker cannot go on (status {status}): {said}')
    return current, f'the worker {"hangs" if status == "hangs" else f"dies ({status})"}: {said}'


def _note(line: dict[str, Any], current: tuple[str, int] | None, results: Results
          ) -> tuple[str, int] | None:
    """Take a line of a worker; return the input it is at."""
    if 'begin' in line:
        kind, index = line['begin']
        return kind, index
    if 'growth' in line:
        results.growth.append(line['growth'])
        return current
    kind, index = line['input']
    results.outcomes[kind, index] = Outcome(**line['outcome'])
    return None


def _lines(process: subprocess.Popen[bytes]) -> Any:
    """Yield the lines of a process; raise TimeoutError when it is silent for too long."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        # Before the first line it may also have to wait for another process that compiles.
        patience, standstill, waiting = START, 3.0 * STANDSTILL, b''
        while True:
            used, end = _processor_time(process.pid), time.monotonic() + standstill
            while not selector.select(1.0):
                if _processor_time(process.pid) - used > patience or time.monotonic() > end:
                    raise TimeoutError
            patience, standstill = SILENCE, STANDSTILL
            chunk = process.stdout.read1(65536)
            if not chunk:
                return
            *complete, waiting = (waiting + chunk).split(b'\n')
            yield from complete


def _processor_time(pid: int) -> float:
    """Return how long a process that has not been waited for has run, on all processors. s."""
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='ascii').rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
