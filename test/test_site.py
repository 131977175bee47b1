# SPDX-License-Identifier: Apache-2.0
"""The site of documents and API reference is built without a warning, and needs no network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

for _package in ('sphinx', 'numpydoc', 'myst_parser'):
    pytest.importorskip(_package)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp('site')
    completed = subprocess.run(
        [sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', '-b', 'html',
         '-d', folder / 'doctrees', ROOT / 'docs', folder / 'html'],
        cwd=ROOT, env={**os.environ, 'PYTHONPATH': str(ROOT)}, capture_output=True, text=True,
        check=False)
    assert completed.returncode == 0, completed.stderr
    return folder / 'html'


@pytest.mark.slow
def test_every_document_and_public_class_has_a_page(site):
    for document in (ROOT / 'docs').glob('*.md'):
        assert (site / f'{document.stem}.html').exists(), document.name
    page = site / 'api' / 'generated' / 'robot_dynamics.dynamics.Dynamics.html'
    assert 'inverse_dynamics' in page.read_text()


@pytest.mark.slow
def test_the_site_needs_no_network(site):
    for page in site.rglob('*.html'):
        loaded = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]*)',
                            page.read_text())
        assert not loaded, page.name
    assert any('<math' in page.read_text() for page in site.rglob('*.html'))


@pytest.mark.slow
def test_the_search_finds_names_and_words(site):
    index = (site / 'searchindex.js').read_text()
    assert 'inverse_dynam' in index and '"tutorial"' in index and 'excit' in index
