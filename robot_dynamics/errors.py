# SPDX-License-Identifier: Apache-2.0
"""The exceptions and findings of this package: one sentence each, with a remedy.

An exception ends the requested operation; a `Finding` is a remark about an input that can be used.
Both have a subject (link, joint, parameter, file or topic), a message that is the predicate of a
sentence about it, and a remedy.
"""

from __future__ import annotations

import difflib
import reprlib
import shlex
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = [
    'BackendError', 'BringupError', 'ControlError', 'DimensionError', 'FileError', 'Finding',
    'InertiaError', 'JointNamesError', 'ModelError', 'ModelTypeError', 'NoCompilerError',
    'OldTrajectoryError', 'ParameterError',
    'RecordingError', 'RobotDynamicsError', 'Severity', 'SimulationError', 'StateError',
    'StopRequestedError', 'TrajectoryError', 'UnknownNameError',
]

#: Largest lengths of the texts of an error, in characters, because a message may quote a whole
#: file.
LONGEST_MESSAGE, LONGEST_SUBJECT, LONGEST_REMEDY = 500, 220, 480


class RobotDynamicsError(Exception):
    """Base of every exception that this package raises on purpose.

    The texts fit in one line of a terminal or a log: characters that cannot be printed are
    escaped, and long texts are cut.

    Parameters
    ----------
    message : str
        Predicate of a sentence about the subject, such as 'must be positive, got -1',
        without a full stop.
    subject : str, optional
        The link, joint, parameter, file or topic that the error is about.
    remedy : str, optional
        What the user can do about it.

    Examples
    --------
    >>> from robot_dynamics import ParameterError
    >>> error = ParameterError('must be positive, got -1', subject='rate', remedy='set 500')
    >>> print(error)
    rate must be positive, got -1; set 500
    >>> error.subject, error.remedy
    ('rate', 'set 500')
    """

    def __init__(self, message: str, *, subject: str | None = None, remedy: str | None = None):
        self.message = printable(message, LONGEST_MESSAGE)
        # An empty name, or one of spaces, would be invisible.
        self.subject = None if subject is None else \
            printable(subject if subject.strip() else repr(subject), LONGEST_SUBJECT)
        self.remedy = None if remedy is None else printable(remedy, LONGEST_REMEDY)
        super().__init__(self.message, self.subject, self.remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        # pickle passes arguments by position only; subject and remedy are keywords.
        return _rebuilt, (type(self), self.message, self.subject, self.remedy)

    def __str__(self) -> str:
        return _sentence(self.subject, self.message, self.remedy)


class ModelError(RobotDynamicsError, ValueError):
    """A robot description (URDF, DH table, parameter set) cannot be used."""


class UnknownNameError(ModelError, KeyError):
    """A robot, link, joint or frame of that name does not exist."""


class ModelTypeError(ModelError, TypeError):
    """A robot description was given as a wrong type."""


class InertiaError(ModelError):
    """Inertial parameters are not those of a rigid body, but must be."""


class DimensionError(RobotDynamicsError, ValueError):
    """An array has the wrong shape, length or type."""


class BackendError(RobotDynamicsError, RuntimeError):
    """Kernels for one robot cannot be built or loaded."""


class NoCompilerError(BackendError):
    """No C compiler is installed to build kernels with."""


class StateError(RobotDynamicsError, ValueError):
    """A joint state is missing, stale, incomplete or implausible."""


class TrajectoryError(RobotDynamicsError, ValueError):
    """A reference trajectory is malformed or exceeds a limit."""


class JointNamesError(TrajectoryError):
    """A reference trajectory does not name the joints of the arm."""


class OldTrajectoryError(TrajectoryError):
    """A reference trajectory has ended already."""


class ControlError(RobotDynamicsError):
    """A controller cannot be built or run with these settings or this state."""


class StopRequestedError(ControlError):
    """A control law requests a stop: its command must not be applied."""


class ParameterError(RobotDynamicsError, ValueError):
    """A parameter of a function, a node or a configuration file is wrong."""


class SimulationError(RobotDynamicsError, RuntimeError):
    """The simulated arm cannot be built or run."""


class RecordingError(RobotDynamicsError):
    """A recording cannot be written or read."""


class FileError(RobotDynamicsError):
    """A file cannot be written, or one of the user is in its place."""


class BringupError(RobotDynamicsError, RuntimeError):
    """Processes cannot be started, did not become ready or died."""


class Severity(Enum):
    """How much a `Finding` matters.

    Examples
    --------
    >>> from robot_dynamics import Severity
    >>> Severity('warning') is Severity.WARNING
    True
    """

    INFO = 'info'
    WARNING = 'warning'
    ERROR = 'error'


@dataclass(frozen=True)
class Finding:
    """A remark about a link, joint or parameter of an input that can be used.

    Parameters
    ----------
    severity : Severity
        ``ERROR`` if results must not be used, ``WARNING`` if a controller may misbehave, ``INFO``
        otherwise.
    subject : str
        Name of the link, joint or parameter.
    message : str
        Predicate of a sentence about it.
    remedy : str
        What the user can do; empty if no action is needed.

    Examples
    --------
    >>> from robot_dynamics import Robot
    >>> robot = Robot.from_urdf('arm7', locked={'joint4': 0.0})
    >>> [finding.severity.value for finding in robot.findings]
    ['warning']
    >>> print(robot.findings[0].message)
    is locked at 0, outside its limits -3.0718 to -0.0698
    """

    severity: Severity
    subject: str
    message: str
    remedy: str = ''

    def __str__(self) -> str:
        return _sentence(self.subject, self.message, self.remedy)


def printable(text: str, longest: int) -> str:
    """One printable line of a text, cut after ``longest`` characters.

    Parameters
    ----------
    text : str
        Any text, control characters included.
    longest : int
        Largest number of characters.
    """
    # Cut first, because escaping megabytes of text is slow.
    short = ' '.join(text[:longest + 1].split()) if not text.isprintable() else text
    if not short.isprintable():
        short = ''.join(c if c.isprintable() else c.encode('unicode_escape').decode()
                        for c in short)
    return short if len(short) <= longest else f'{short[:longest - 3]}...'


def shown(value: Any) -> str:
    """Short text of a value of any size for a message."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = 40
    short.maxlevel, short.maxlist, short.maxdict = 2, 4, 4
    try:
        return short.repr(value)
    except ValueError:  # An integer of more digits than Python prints.
        return 'a huge number'


def listed(names: Iterable[str], most: int = 30) -> str:
    """Names separated by commas, with an ellipsis after the first ``most``."""
    every = list(names)
    return ', '.join(every[:most]) + (', ...' if len(every) > most else '')


def one_of(names: Iterable[Any], given: Any = None) -> str:
    """Remedy for an unknown name: the most similar known one, and all of them."""
    known = [str(name) for name in names]
    close = difflib.get_close_matches(str(given), known, n=1) if given is not None else []
    return (f'did you mean {close[0]}? ' if close else '') + f'use one of: {listed(known)}'


def install_line(package: str, apt: str = '') -> str:
    """Remedy for a missing Python package: a line for a shell that installs it for this Python.

    Parameters
    ----------
    package : str
        Name on PyPI.
    apt : str
        Name of the package of the system or of ROS 2, if there is one.
    """
    is_managed = sys.prefix == sys.base_prefix and \
        Path(sysconfig.get_path('stdlib'), 'EXTERNALLY-MANAGED').is_file()
    line = f'{shlex.quote(sys.executable)} -m pip install {package}'
    if is_managed:  # Debian 12 and Ubuntu 24.04; rosdep uses the same variable
        line = f'PIP_BREAK_SYSTEM_PACKAGES=1 {line}'
    if find_spec('pip') is None:
        line = f'sudo apt install python3-pip && {line}'
    return f'run: {line}' + (f', or: sudo apt install {apt}' if apt else '')


def _sentence(subject: str | None, message: str, remedy: str | None) -> str:
    text = message if subject is None else f'{subject} {message}'
    return f'{text}; {remedy}' if remedy else text


def _rebuilt(kind: type[RobotDynamicsError], message: str, subject: str | None,
             remedy: str | None) -> RobotDynamicsError:
    """Make the exception again after a copy or in another process."""
    return kind(message, subject=subject, remedy=remedy)
