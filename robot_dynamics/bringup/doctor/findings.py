# SPDX-License-Identifier: Apache-2.0
"""What a judgement says: one remark about one thing, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from robot_dynamics.errors import Finding, RobotDynamicsError, Severity, printable

#: Longest of a subject, message or remedy, in characters.
LONGEST_TEXT = 500


class Level(IntEnum):
    """How much it matters."""

    #: Looked at, nothing wrong.
    OK = 0
    #: Good to know.
    NOTE = 1
    #: Works, but not as it should, or only under conditions.
    WARNING = 2
    #: Does not work, or must not.
    ERROR = 3


@dataclass(frozen=True)
class Remark:
    """One remark.

    Parameters
    ----------
    level : Level
        How much it matters.
    subject : str
        The link, joint, topic, node or variable it is about.
    message : str
        What was seen, without a trailing full stop.
    remedy : str
        What to do; empty where nothing needs doing.
    """

    level: Level
    subject: str
    message: str
    remedy: str = ''

    def __post_init__(self) -> None:
        # Names and texts come from files and from a network: none may steer a terminal.
        for name in ('subject', 'message', 'remedy'):
            object.__setattr__(self, name, printable(getattr(self, name), LONGEST_TEXT))

    def __str__(self) -> str:
        text = f'{self.subject}: {self.message}'
        return f'{text}; {self.remedy}' if self.remedy else text


@dataclass(frozen=True)
class Section:
    """Remarks that belong together."""

    title: str
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class Examination:
    """All that was found.

    Parameters
    ----------
    subject : str
        What was looked at, in one line.
    sections : tuple of Section
        What was found, in the order of showing.
    table : tuple of str
        Lines that describe the patient, shown before everything else.
    """

    subject: str
    sections: tuple[Section, ...]
    table: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Every remark."""
        return tuple(remark for section in self.sections for remark in section.remarks)

    def count(self, level: Level) -> int:
        """Return how many remarks have a level."""
        return sum(remark.level is level for remark in self.remarks)

    @property
    def exit_status(self) -> int:
        """1 where there is an error, else 0."""
        return int(self.count(Level.ERROR) > 0)


def ok(subject: str, message: str) -> Remark:
    """Return that something is as it should be."""
    return Remark(Level.OK, subject, message)


def note(subject: str, message: str, remedy: str = '') -> Remark:
    """Return something good to know."""
    return Remark(Level.NOTE, subject, message, remedy)


def warning(subject: str, message: str, remedy: str) -> Remark:
    """Return something that should be otherwise."""
    return Remark(Level.WARNING, subject, message, remedy)


def error(subject: str, message: str, remedy: str) -> Remark:
    """Return something that has to be otherwise."""
    return Remark(Level.ERROR, subject, message, remedy)


def from_error(failure: RobotDynamicsError, subject: str) -> Remark:
    """Return the remark that an exception of this package makes."""
    return Remark(Level.ERROR, failure.subject or subject, failure.message, failure.remedy or '')


def from_finding(finding: Finding) -> Remark:
    """Return the remark that a finding of a reader makes."""
    level = Level.WARNING if finding.severity is Severity.WARNING else Level.NOTE
    return Remark(level, finding.subject, finding.message, finding.remedy)


def gathered(remarks: Iterable[Remark]) -> list[Remark]:
    """Return remarks with those that say the same of several subjects made one.

    A remark stands where the first of its kind stood.
    """
    subjects: dict[tuple[Level, str, str], list[str]] = {}
    for remark in remarks:
        subjects.setdefault((remark.level, remark.message, remark.remedy), []).append(
            remark.subject)
    return [Remark(level, listed(names), message, remedy)
            for (level, message, remedy), names in subjects.items()]


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return names in a line, of many the first ones and how many more there are."""
    names = list(dict.fromkeys(names))
    if len(names) <= most:
        return ', '.join(names)
    return f'{", ".join(names[:most - 1])} and {len(names) - most + 1} more'
