# SPDX-License-Identifier: Apache-2.0
"""All kinds of input."""

from __future__ import annotations

from fuzzing.joint_states import Messages, Streams
from fuzzing.kind import Kind
from fuzzing.parameters import HardwareFiles, MotionFiles, ParameterValues, PlantFiles
from fuzzing.recordings import Recordings
from fuzzing.robots import DhTables, Urdfs, XacroFiles
from fuzzing.trajectories import Trajectories

KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in (
    Urdfs, XacroFiles, DhTables, HardwareFiles, PlantFiles, MotionFiles, ParameterValues,
    Streams, Messages, Trajectories, Recordings)}


def counts(total: int) -> dict[str, int]:
    """Return how many inputs of each kind make up so many, by name."""
    shares = sum(kind.share for kind in KINDS.values())
    numbers = {name: round(total * kind.share / shares) for name, kind in KINDS.items()}
    first = next(iter(numbers))
    numbers[first] += total - sum(numbers.values())
    return numbers
