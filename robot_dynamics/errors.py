# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package: each names what is wrong and says what to do.

What a reader noticed about a robot description and did not have to refuse.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from enum import Enum
from typing import Any

#: Longest texts of an error, in characters: what is wrong may quote a whole file.
LONGEST_MESSAGE, LONGEST_SUBJECT, LONGEST_REMEDY = 500, 220, 480


class RobotDynamicsError(Exception):
    """Base of every exception this package raises on purpose.

    Its texts can be shown anywhere: what cannot be printed is written as an escape
    sequence, and what is too long is cut.

    Parameters
    ----------
    message : str
        What is wrong, without a trailing full stop. With a subject, the predicate of a
        sentence about it, such as 'must be positive, got -1'.
    subject : str, optional
        The link, joint, parameter, file or topic the error is about.
    remedy : str, optional
        What the user can do about it.
    """

    def __init__(self, message: str, *, subject: str | None = None, remedy: str | None = None):
        self.message = printable(message, LONGEST_MESSAGE)
        # A name that is empty, or nothing but spaces, could not be seen.
        self.subject = None if subject is None else \
            printable(subject if subject.strip() else repr(subject), LONGEST_SUBJECT)
        self.remedy = None if remedy is None else printable(remedy, LONGEST_REMEDY)
        super().__init__(self.message, self.subject, self.remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        # Subject and remedy are given by keyword, which a plain pickle knows nothing of.
        return _rebuilt, (type(self), self.message, self.subject, self.remedy)

    def __str__(self) -> str:
        text = self.message if self.subject is None else f'{self.subject} {self.message}'
        return text if self.remedy is None else f'{text}; {self.remedy}'


class ModelError(RobotDynamicsError):
    """A robot description (URDF, DH table, parameter set) cannot be used."""


class InertiaError(ModelError):
    """Inertial parameters that no rigid body can have, where a real body is needed."""


class DimensionError(RobotDynamicsError):
    """An array has the wrong shape, length or type."""


class BackendError(RobotDynamicsError):
    """Kernels made for one robot cannot be built or loaded."""


class NoCompilerError(BackendError):
    """There is no C compiler to build kernels with."""


class StateError(RobotDynamicsError):
    """A joint state is missing, stale, incomplete or implausible."""


class TrajectoryError(RobotDynamicsError):
    """A reference trajectory is malformed or breaks a limit."""


class ControlError(RobotDynamicsError):
    """A controller cannot be built or run with what it was given."""


class StopRequestedError(ControlError):
    """A control law asks to be stopped: it can answer, but should not be answered by."""


class ParameterError(RobotDynamicsError):
    """A parameter of a node or of a configuration file is wrong."""


class SimulationError(RobotDynamicsError):
    """The simulated arm cannot be built or run."""


class RecordingError(RobotDynamicsError):
    """A recording cannot be written or read."""


class BringupError(RobotDynamicsError):
    """Processes cannot be started, did not become ready or died."""


def printable(text: str, longest: int) -> str:
    """Return a text in one line that can be printed, cut where it is too long.

    Parameters
    ----------
    text : str
        Anything, also what somebody else wrote.
    longest : int
        Number of characters after which it is cut.
    """
    # Cut first: escaping a text of megabytes would take its time.
    short = ' '.join(text[:longest + 1].split()) if not text.isprintable() else text
    if not short.isprintable():
        short = ''.join(c if c.isprintable() else c.encode('unicode_escape').decode()
                        for c in short)
    return short if len(short) <= longest else f'{short[:longest - 3]}...'


def shown(value: Any) -> str:
    """Return a value of any type as it looks in a message, however large it is."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = 40
    short.maxlevel, short.maxlist, short.maxdict = 2, 4, 4
    try:
        return short.repr(value)
    except ValueError:  # An integer of more digits than Python prints.
        return 'a huge number'


def _rebuilt(kind: type[RobotDynamicsError], message: str, subject: str | None,
             remedy: str | None) -> RobotDynamicsError:
    """Return an exception that came from another process or was copied."""
    return kind(message, subject=subject, remedy=remedy)


class Severity(Enum):
    """How much a finding matters."""

    INFO = 'info'
    WARNING = 'warning'
    ERROR = 'error'


@dataclass(frozen=True)
class Finding:
    """One remark about one link, joint or parameter.

    Parameters
    ----------
    severity : Severity
        ``ERROR`` where what comes of it must not be used, ``WARNING`` where a controller may
        misbehave, ``INFO`` otherwise.
    subject : str
        Name of the link, joint or parameter.
    message : str
        What was noticed.
    remedy : str
        What the user can do; empty where nothing needs doing.
    """

    severity: Severity
    subject: str
    message: str
    remedy: str = ''

    def __str__(self) -> str:
        text = f'{self.subject}: {self.message}'
        return f'{text}; {self.remedy}' if self.remedy else text
