# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package: each names what is wrong and says what to do."""

from __future__ import annotations

from typing import Any


class RobotDynamicsError(Exception):
    """Base of every exception this package raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong, in one sentence without a trailing full stop.
    subject : str, optional
        The link, joint, parameter, file or topic the error is about.
    remedy : str, optional
        What the user can do about it.
    """

    def __init__(self, message: str, *, subject: str | None = None, remedy: str | None = None):
        super().__init__(message, subject, remedy)
        self.message = message
        self.subject = subject
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        # Subject and remedy are given by keyword, which a plain pickle knows nothing of.
        return _rebuilt, (type(self), self.message, self.subject, self.remedy)

    def __str__(self) -> str:
        text = self.message if self.subject is None else f'{self.subject}: {self.message}'
        return text if self.remedy is None else f'{text}; {self.remedy}'


class ModelError(RobotDynamicsError):
    """A robot description (URDF, DH table, parameter set) cannot be used."""


class InertiaError(ModelError):
    """Inertial parameters that no rigid body can have, where a real body is needed."""


class DimensionError(RobotDynamicsError):
    """An array has the wrong shape, length or type."""


class StateError(RobotDynamicsError):
    """A joint state is missing, stale, incomplete or implausible."""


class TrajectoryError(RobotDynamicsError):
    """A reference trajectory is malformed or breaks a limit."""


class ControlError(RobotDynamicsError):
    """A controller cannot be built or run with what it was given."""


class ParameterError(RobotDynamicsError):
    """A parameter of a node or of a configuration file is wrong."""


class SimulationError(RobotDynamicsError):
    """The simulated arm cannot be built or run."""


class RecordingError(RobotDynamicsError):
    """A recording cannot be written or read."""


class BringupError(RobotDynamicsError):
    """Processes cannot be started, did not become ready or died."""


def _rebuilt(kind: type[RobotDynamicsError], message: str, subject: str | None,
             remedy: str | None) -> RobotDynamicsError:
    """Return an exception that came from another process or was copied."""
    return kind(message, subject=subject, remedy=remedy)
