# SPDX-License-Identifier: Apache-2.0
"""Requirements on every input, and the outcome of one."""

from __future__ import annotations

import os
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzing.kind import Kind
from fuzzing.memory import Peak
from robot_dynamics.errors import RobotDynamicsError

#: Longest that an input may keep a processor busy, children included. s.
LONGEST = 2.0
#: Longest message of a refusal, in characters.
LONGEST_MESSAGE = 1000
#: Memory that an input may take while it is looked at, in bytes.
MOST_MEMORY = 512 * 2**20
#: Label of an accepted input.
ACCEPTED = 'accepted'


class BrokenPromiseError(AssertionError):
    """An accepted input breaks a promise."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of one input.

    Parameters
    ----------
    label : str
        ``'accepted'``, or the class of the exception, or the message of the product.
    seconds : float
        Processor time it took, s; of three attempts the last, where the others took too long.
    memory : int
        Memory it took at its peak, in bytes.
    fault : str
        The fault that was found, or empty.
    """

    label: str
    seconds: float
    memory: int
    fault: str = ''


def promise(kept: bool, text: str) -> None:
    """Raise `BrokenPromiseError` unless something holds."""
    if not kept:
        raise BrokenPromiseError(text)


def examine(kind: Kind, item: Any) -> Outcome:
    """Give one input to the product and judge the outcome.

    Parameters
    ----------
    kind : Kind
        Kind of the input.
    item : object
        The input.
    """
    # What takes too long is tried again: the machine may be busy.
    for _ in range(3):
        peak = Peak()
        begin = _processor_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            label, fault = _attempt(kind, item)
        seconds, memory = _processor_time() - begin, peak.bytes()
        if fault or seconds <= LONGEST:
            break
    ours = [warning for warning in caught if '/robot_dynamics/' in warning.filename]
    if not fault and ours:
        fault = f'warns: {ours[0].category.__name__}: {ours[0].message} ' \
                f'({Path(ours[0].filename).name}:{ours[0].lineno})'
    if not fault and seconds > LONGEST:
        fault = f'takes {seconds:.1f} s'
    if not fault and memory > MOST_MEMORY:
        fault = f'takes {memory / 2**20:.0f} MiB'
    return Outcome(label, seconds, memory, fault)


def _attempt(kind: Kind, item: Any) -> tuple[str, str]:
    """Label of the outcome, and its fault."""
    try:
        return kind.run(item), ''
    except RobotDynamicsError as error:
        return type(error).__name__, _fault_of(error)
    except BrokenPromiseError as error:
        return 'broken', f'{error} ({_place(error)})'
    # Any other exception is a fault.
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return 'crashed', f'{type(error).__name__}: {str(error)[:200]} ({_place(error)})'


def _fault_of(error: RobotDynamicsError) -> str:
    """Fault of an error message, empty for a good one."""
    text = str(error)
    where = f'({_place(error)})'
    if not error.subject or not error.remedy:
        return f'no {"remedy" if error.subject else "subject"}: {text[:200]} {where}'
    if len(text) > LONGEST_MESSAGE:
        return f'a message of {len(text)} characters: {text[:100]}... {where}'
    if not text.isprintable():
        return f'a message that cannot be printed: {text[:200]!r} {where}'
    return ''


def _place(error: BaseException) -> str:
    """Return the last line of ours that an exception went through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if '/robot_dynamics/' in frame.filename] or frames
    return f'{Path(ours[-1].filename).name}:{ours[-1].lineno}' if ours else 'nowhere'


def _processor_time() -> float:
    """Return the processor time of this process and of its children that have ended. s."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
