# SPDX-License-Identifier: Apache-2.0
"""Measured figures in docs/performance.md."""

from functools import partial

from sections import DOCS, write_section

DOCUMENT = DOCS / 'performance.md'

write = partial(write_section, DOCUMENT)
