# SPDX-License-Identifier: Apache-2.0
"""``overridden``: variables of the environment for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def overridden(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process inside the block; afterwards they are as they were.

    Parameters
    ----------
    values : mapping of str to str
        By name.
    """
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
