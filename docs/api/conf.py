# SPDX-License-Identifier: Apache-2.0
"""Sphinx settings of the API reference.

Build it from the root of the repository:
``.venv/bin/python -m sphinx -W -b html docs/api docs/api/_build``
"""

import shutil
from pathlib import Path

import robot_dynamics

# Pages of names that no longer exist would be reported as orphans.
shutil.rmtree(Path(__file__).parent / 'generated', ignore_errors=True)

project = 'robot_dynamics'
author = 'robot_dynamics maintainers'
version = release = robot_dynamics.__version__

extensions = ['sphinx.ext.autodoc', 'sphinx.ext.autosummary', 'sphinx.ext.mathjax', 'numpydoc']
exclude_patterns = ['_build']
templates_path = ['_templates']
html_theme = 'alabaster'
html_theme_options = {'description': 'Robot dynamics in regressor form', 'page_width': '1100px'}

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = 'none'
add_module_names = False
numpydoc_show_class_members = False
