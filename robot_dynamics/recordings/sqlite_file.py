# SPDX-License-Identifier: Apache-2.0
"""A SQLite file of rosbag2: nothing is asked of it but two tables."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Container, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from robot_dynamics.errors import RecordingError

#: Largest value, in bytes: a column may be computed, and be larger than the file.
MAX_VALUE = 64 * 2**20

_TABLES = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ? " \
          "AND sql LIKE 'CREATE TABLE%'"


class SqliteFile:
    """The topics and messages of a ``.db3`` file.

    Parameters
    ----------
    path : Path
        A regular file.
    tell : callable, optional
        Is told where the file is damaged; messages then come as they stand in it, up to
        there.
    """

    def __init__(self, path: Path, tell: Callable[[RecordingError], None] | None = None):
        self._path, self._tell = path, tell

    def topics(self) -> dict[str, str]:
        """Return the type of each topic, ``package/msg/Name``.

        Raises
        ------
        RecordingError
            When it is no recording or is damaged.
        """
        return dict(self._topics().values())

    def messages(self, wanted: Container[str]) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic, time (ns) and bytes of the messages of some topics, in order of time.

        Raises
        ------
        RecordingError
            When the file is damaged.
        """
        topics = {number: name for number, (name, _) in self._topics().items() if name in wanted}
        places = ','.join('?' * len(topics))
        question = ('SELECT topic_id, timestamp, data FROM messages WHERE topic_id IN '
                    f'({places}) ORDER BY timestamp, id')
        if self._tell is not None:
            # By their number, as they lie in the file: sorting would need to read all of it.
            question = ('SELECT topic_id, timestamp, data FROM messages NOT INDEXED '
                        f'WHERE +topic_id IN ({places}) ORDER BY id')
        try:
            for number, time, data in self._rows(question, tuple(topics)):
                if not (isinstance(time, int) and isinstance(data, bytes)):
                    raise self._damaged('a message is none')
                yield topics[number], time, data
        except RecordingError as error:
            if self._tell is None:
                raise
            self._tell(error)

    def _topics(self) -> dict[int, tuple[str, str]]:
        """Return name and type of each topic by its number."""
        topics = {}
        for number, name, kind in self._rows('SELECT id, name, type FROM topics', ()):
            if not (isinstance(number, int) and isinstance(name, str) and isinstance(kind, str)):
                raise self._damaged('a topic has no name')
            topics[number] = name, kind
        return topics

    def _rows(self, question: str, values: tuple[int, ...]) -> Iterator[tuple[object, ...]]:
        """Yield the answers to a question."""
        try:
            # Immutable: SQLite then leaves no files beside it and waits for nobody.
            with closing(sqlite3.connect(f'file:{quote(str(self._path.absolute()))}'
                                         '?mode=ro&immutable=1', uri=True)) as connection:
                connection.execute('PRAGMA trusted_schema = OFF')
                if self._tell is not None:
                    # An index that is cut off is no reason not to read the rest: nothing can
                    # be written here, and nothing is asked of indices.
                    connection.execute('PRAGMA writable_schema = ON')
                if sys.version_info >= (3, 11):
                    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
                for table in ('topics', 'messages'):
                    # A view could compute for ever.
                    if connection.execute(_TABLES, (table,)).fetchone() != (1,):
                        raise self._damaged(f'it has no table {table}')
                yield from connection.execute(question, values)
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, how: str) -> RecordingError:
        return RecordingError(f'cannot be read: {how}', subject=str(self._path),
                              remedy='record it again')
