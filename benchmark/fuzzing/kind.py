# SPDX-License-Identifier: Apache-2.0
"""A kind of input: how one is made from a seed and a number, and the function that reads it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

#: Inputs made, and handed to a worker, at a time.
BLOCK = 50


class Kind(ABC):
    """A kind of input.

    Parameters
    ----------
    scratch : Path
        Folder to write into.
    """

    #: Its name, a description, and its share of all inputs.
    name: ClassVar[str]
    text: ClassVar[str]
    share: ClassVar[float]

    def __init__(self, scratch: Path):
        self.scratch = scratch

    @abstractmethod
    def make(self, seed_number: int, index: int) -> Any:
        """Return one input, always the same for the same seed and number."""

    @abstractmethod
    def run(self, item: Any) -> str:
        """Give an input to the product; return the result.

        Raises
        ------
        RobotDynamicsError
            When it is rejected.
        """

    def shown(self, item: Any) -> bytes:
        """Return an input for a person to look at."""
        return item if isinstance(item, bytes) else repr(item).encode('utf-8', 'backslashreplace')


class Mutated(Kind):
    """A kind whose inputs are valid ones, mutated."""

    def make(self, seed_number: int, index: int) -> Any:
        """Return one input."""
        return self.mutant(Random(f'{self.name}:{seed_number}:{index}'))

    @abstractmethod
    def mutant(self, random: Random) -> Any:
        """Return an input made with these random numbers."""


class Drawn(Kind):
    """A kind whose inputs hypothesis draws from a strategy, a block at a time."""

    def __init__(self, scratch: Path):
        super().__init__(scratch)
        self._strategy = self.strategy()
        self._block: tuple[int, int] | None = None
        self._drawn: list[Any] = []

    @abstractmethod
    def strategy(self) -> SearchStrategy[Any]:
        """Strategy of the inputs."""

    def make(self, seed_number: int, index: int) -> Any:
        """Return one input."""
        block = (seed_number, index // BLOCK)
        if block != self._block:
            self._block, self._drawn = block, self._draw(*block)
        return self._drawn[index % BLOCK]

    def _draw(self, seed_number: int, block: int) -> list[Any]:
        """Return the inputs of a block."""
        drawn: list[Any] = []
        attempt = 0
        while len(drawn) < BLOCK:
            random = Random(f'{self.name}:{seed_number}:{block}:{attempt}')
            attempt += 1

            @seed(random.getrandbits(64))
            @settings(max_examples=BLOCK, database=None, deadline=None,
                      phases=[Phase.generate], suppress_health_check=list(HealthCheck))
            @given(self._strategy)
            def collect(item: Any) -> None:
                drawn.append(item)

            collect()
        return drawn[:BLOCK]
