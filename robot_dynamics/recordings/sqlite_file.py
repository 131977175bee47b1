# SPDX-License-Identifier: Apache-2.0
"""A SQLite file of rosbag2, of which only two tables are read."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Container, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from robot_dynamics.errors import RecordingError

#: Largest value, in bytes.
MAX_VALUE = 64 * 2**20

_TABLES = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ? " \
          "AND sql LIKE 'CREATE TABLE%'"
_COMPUTED = 'SELECT count(*) FROM pragma_table_xinfo(?) WHERE hidden <> 0'


class SqliteFile:
    """The topics and messages of a ``.db3`` file, a regular file.

    ``report`` is called if the file is damaged; earlier messages are then yielded in file order.
    """

    def __init__(self, path: Path, report: Callable[[RecordingError], None] | None = None):
        self._path, self._report = path, report

    def topics(self) -> dict[str, str]:
        """Type of each topic, ``package/msg/Name``; a `RecordingError` for a damaged file."""
        return dict(self._topics().values())

    def messages(self, wanted: Container[str]) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic, time (ns) and bytes of the messages of some topics, in order of time.

        Raises a `RecordingError` for a damaged file.
        """
        topics = {number: name for number, (name, _) in self._topics().items() if name in wanted}
        places = ','.join('?' * len(topics))
        query = ('SELECT topic_id, timestamp, data FROM messages WHERE topic_id IN '
                    f'({places}) ORDER BY timestamp, id')
        if self._report is not None:
            # By number, the order of the file: sorting would read all of it first.
            query = ('SELECT topic_id, timestamp, data FROM messages NOT INDEXED '
                        f'WHERE +topic_id IN ({places}) ORDER BY id')
        try:
            for number, time, data in self._rows(query, tuple(topics)):
                if not (isinstance(number, int) and isinstance(time, int)
                        and isinstance(data, bytes)):
                    raise self._damaged('a message has another type')
                yield topics[number], time, data
        except RecordingError as error:
            if self._report is None:
                raise
            self._report(error)

    def _topics(self) -> dict[int, tuple[str, str]]:
        """Name and type of each topic by its number."""
        topics = {}
        for number, name, kind in self._rows('SELECT id, name, type FROM topics', ()):
            if not (isinstance(number, int) and isinstance(name, str) and isinstance(kind, str)):
                raise self._damaged('a topic has no name')
            topics[number] = name, kind
        return topics

    def _rows(self, query: str, values: tuple[int, ...]) -> Iterator[tuple[object, ...]]:
        """Yield the rows of a query."""
        try:
            # Immutable, so that SQLite writes no other files and takes no locks.
            with closing(sqlite3.connect(f'file:{quote(str(self._path.absolute()))}'
                                         '?mode=ro&immutable=1', uri=True)) as connection:
                connection.execute('PRAGMA trusted_schema = OFF')
                if self._report is not None:
                    # Read also past a truncated index, which no query here uses.
                    connection.execute('PRAGMA writable_schema = ON')
                if sys.version_info >= (3, 11):
                    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
                for table in ('topics', 'messages'):
                    # Views are rejected, because they could compute forever.
                    if connection.execute(_TABLES, (table,)).fetchone() != (1,):
                        raise self._damaged(f'the table {table} is missing')
                    # A column that is computed could take long, and be larger than the file.
                    if connection.execute(_COMPUTED, (table,)).fetchone() != (0,):
                        raise self._damaged(f'the table {table} computes a column')
                yield from connection.execute(query, values)
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, how: str) -> RecordingError:
        return RecordingError(f'cannot be read: {how}', subject=str(self._path),
                              remedy='record it again')
