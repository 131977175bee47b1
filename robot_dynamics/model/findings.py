# SPDX-License-Identifier: Apache-2.0
"""What a reader noticed about a robot description and did not have to refuse."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
