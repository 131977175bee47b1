# SPDX-License-Identifier: Apache-2.0
"""CHANGELOG.md becomes the changelog that bloom reads."""

import runpy
from pathlib import Path

import pytest

catkin_changelog = pytest.importorskip('catkin_pkg.changelog')

ROOT = Path(__file__).resolve().parents[1]
changelog = runpy.run_path(str(ROOT / '.ci' / 'changelog_rst.py'))['changelog']
EXAMPLE = """\
# Changelog

Text.

## 0.2.0, not released yet

### Added

- One thing, in
  two lines ([page](docs/page.md)).

### Changed

- `name` is 2 * other.

| was | is |
|---|---|

## 0.1.0 (2026-12-01)

### Added

- The first.
"""


def read(markdown):
    """Return the entries of each version with a date, as bloom reads them."""
    log = catkin_changelog.populate_changelog_from_rst(
        catkin_changelog.Changelog(), changelog(markdown))
    return {version: [str(entry).strip() for parts in content for entry in parts.bullets]
            for version, _, content in log.foreach_version()}


def test_versions_and_entries():
    assert read(EXAMPLE) == {'0.1.0': ['Added: The first.']}
    assert read(EXAMPLE.replace(', not released yet', ' (2026-12-02)'))['0.2.0'] == [
        'Added: One thing, in two lines (page).', 'Changed: ``name`` is 2 * other.']


def test_a_version_without_a_date_is_forthcoming():
    assert '\nForthcoming\n-----------\n* Added: One' in changelog(EXAMPLE)


def test_the_changelog_can_be_read():
    text = (ROOT / 'CHANGELOG.md').read_text().replace(', not released yet', ' (2026-12-02)')
    entries = [entry for version in read(text).values() for entry in version]
    assert len(entries) == sum(line.startswith('- ') for line in text.splitlines())
