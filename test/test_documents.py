# SPDX-License-Identifier: Apache-2.0
"""Documents lead somewhere, and what they show runs."""

import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md')]


#: Files that a guide asks its reader to write.
TO_BE_WRITTEN = {'robot_dynamics/nodes/inertia_pd_controller.py'}


def document_id(path):
    return str(path.relative_to(ROOT))


def anchors(path):
    """Return the anchors of a document's headings, as common hosts make them."""
    headings = re.findall(r'^#+ (.+)$', path.read_text(), re.M)
    return {re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-') for heading in headings}


@pytest.mark.parametrize('path', DOCUMENTS, ids=document_id)
def test_links_lead_somewhere(path):
    for target in re.findall(r'\]\(([^)\s]+)\)', path.read_text()):
        if target.startswith(('http://', 'https://')):
            continue
        file, _, anchor = target.partition('#')
        linked = (path.parent / file) if file else path
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


@pytest.mark.slow
@pytest.mark.parametrize('path', [ROOT / 'README.md', ROOT / 'docs' / 'getting_started.md'],
                         ids=document_id)
def test_python_examples_run(path):
    (example,) = re.findall(r'```python\n(.*?)```', path.read_text(), re.S)
    check = '\nassert np.allclose(Y @ robot.parameters, tau) and M.shape == (7, 7)\n'
    subprocess.run([sys.executable, '-c', example + check], cwd=ROOT, check=True,
                   env={**os.environ, 'PYTHONPATH': str(ROOT)})


def paths_named_in(text):
    """Return the paths of Python files, configuration and tests that a document names."""
    named = set(re.findall(r'`((?:[\w*]+/)+[\w*.]*\.(?:py|yaml|xml|md|json))`', text))
    named |= set(re.findall(r'python (benchmark/[\w/]+\.py)', text))
    return named - TO_BE_WRITTEN


@pytest.mark.parametrize('path', DOCUMENTS, ids=document_id)
def test_files_named_in_documents_exist(path):
    """A path is from the repository root, or from the package."""
    missing = [name for name in sorted(paths_named_in(path.read_text()))
               if not any(any(folder.glob(name)) for folder in (ROOT, ROOT / 'robot_dynamics'))]
    assert not missing


@pytest.mark.parametrize('path', DOCUMENTS, ids=document_id)
def test_modules_named_in_documents_exist(path):
    text = path.read_text()
    missing = []
    for name in set(re.findall(r'(?<![\w/])robot_dynamics(?:\.[a-z_]\w*)+', text)):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            missing.append(name)
    assert not missing


def test_commands_of_the_readme_exist():
    from robot_dynamics.bringup.cli import make_parser
    text = (ROOT / 'README.md').read_text() + (ROOT / 'docs/getting_started.md').read_text()
    help_text = make_parser().format_help()
    for command in re.findall(r'^ +(?:\.venv/bin/)?robot-dynamics (\w+)', text, re.M):
        assert f'    {command} ' in help_text
    for launch_file in re.findall(r'`?(\w+\.launch\.py)', text):
        assert (ROOT / 'launch' / launch_file).exists()
