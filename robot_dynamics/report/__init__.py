# SPDX-License-Identifier: Apache-2.0
"""Reports of runs and identifications: texts for the terminal, HTML pages and pictures."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ['Story', 'build_report', 'drives_page', 'elastic_page', 'identification_page',
           'read_recording', 'stiffness_page', 'summarize', 'write_file']

if TYPE_CHECKING:
    from robot_dynamics.report.drives_page import drives_page
    from robot_dynamics.report.elastic_page import elastic_page
    from robot_dynamics.report.files import write_file
    from robot_dynamics.report.identification_page import identification_page
    from robot_dynamics.report.recording import read_recording
    from robot_dynamics.report.run_page import Story, build_report
    from robot_dynamics.report.stiffness_page import stiffness_page
    from robot_dynamics.report.summary import summarize

#: Modules of the names that do not have the name of their module.
_MODULES = {'Story': 'run_page', 'build_report': 'run_page', 'read_recording': 'recording',
            'summarize': 'summary', 'write_file': 'files'}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_MODULES.get(name, name)}'), name)
