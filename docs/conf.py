# SPDX-License-Identifier: Apache-2.0
"""Sphinx settings of the documentation: the pages of docs/ and the API reference, with search.

Build it from the root of the repository; the result needs no network:
``.venv/bin/python -m sphinx -W -b html docs docs/_build``
"""

import shutil
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math import latex2mathml

import robot_dynamics

# Pages of names that no longer exist would be reported as orphans.
shutil.rmtree(Path(__file__).parent / 'api' / 'generated', ignore_errors=True)

project = 'robot_dynamics'
author = 'robot_dynamics maintainers'
version = release = robot_dynamics.__version__

extensions = ['sphinx.ext.autodoc', 'sphinx.ext.autosummary', 'numpydoc', 'myst_parser']
exclude_patterns = ['_build', '_templates']
templates_path = ['_templates']
html_theme = 'alabaster'
html_theme_options = {'description': 'Robot dynamics in regressor form', 'page_width': '1200px',
                      'sidebar_width': '240px', 'fixed_sidebar': True}
html_math_renderer = 'mathml'

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = 'none'
add_module_names = False
numpydoc_show_class_members = False

myst_heading_anchors = 4
# Links out of docs/ are for readers of the repository; test/test_documents.py follows them. The
# diagram of the architecture stays text.
suppress_warnings = ['myst.xref_missing', 'misc.highlighting_failure']


def mathml(self, node) -> None:
    """Formulas as MathML, which browsers draw without a script from another server."""
    is_block = node.tagname == 'math_block'
    formula = latex2mathml.tex2mathml(node.astext(), as_block=is_block)
    self.body.append(f'<div class="math">{formula}</div>' if is_block else formula)
    raise SkipNode


def setup(app) -> None:
    """Register the renderer of formulas."""
    app.add_html_math_renderer('mathml', (mathml, None), (mathml, None))
