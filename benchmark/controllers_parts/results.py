# SPDX-License-Identifier: Apache-2.0
"""What runs gave, kept in a file, so that a study can be made in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

#: Separates the parts of a key.
BAR = ' | '


class Results:
    """Measurements by condition, motion, contender, seed and payload position.

    Parameters
    ----------
    path : Path
        Where they are kept.
    """

    def __init__(self, path: Path):
        self._path = path
        self._entries: dict[str, dict] = {}
        if path.exists():
            self._entries = json.loads(path.read_text(encoding='utf-8'))

    def put(self, condition: str, motion: str, contender: str, seed: int, position: int,
            entry: dict) -> None:
        """Keep one run; write the file."""
        self._entries[BAR.join((condition, motion, contender, str(seed), str(position)))] = entry
        lines = ',\n'.join(f'{json.dumps(key)}: {json.dumps(self._entries[key])}'
                           for key in sorted(self._entries))
        self._path.write_text('{\n' + lines + '\n}\n', encoding='utf-8')

    def get(self, condition: str, motion: str, contender: str, seed: int = 0, position: int = 0,
            ) -> dict | None:
        """Return one run, or None."""
        return self._entries.get(BAR.join((condition, motion, contender, str(seed),
                                           str(position))))

    def variations(self) -> Iterator[tuple[int, int]]:
        """Return the seeds and payload positions there are, first (0, 0)."""
        yield from sorted({(int(seed), int(position)) for seed, position
                           in (key.split(BAR)[3:] for key in self._entries)})
