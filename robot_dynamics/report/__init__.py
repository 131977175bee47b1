# SPDX-License-Identifier: Apache-2.0
"""Reports of runs and identifications: texts for the terminal, HTML pages and pictures."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ['Story', 'build_report', 'drives_page', 'elastic_page', 'identification_page',
           'read_recording', 'stiffness_page', 'summarize', 'write_file']

if TYPE_CHECKING:
    from robot_dynamics.report.drives import drives_page
    from robot_dynamics.report.elastic import elastic_page
    from robot_dynamics.report.files import write_file
    from robot_dynamics.report.identification import identification_page
    from robot_dynamics.report.recording import read_recording
    from robot_dynamics.report.run_page import Story, build_report
    from robot_dynamics.report.stiffness import stiffness_page
    from robot_dynamics.report.summary import summarize

_MODULES = {'Story': 'run_page', 'build_report': 'run_page', 'drives_page': 'drives',
            'elastic_page': 'elastic', 'identification_page': 'identification',
            'read_recording': 'recording', 'stiffness_page': 'stiffness',
            'summarize': 'summary', 'write_file': 'files'}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_MODULES[name]}'), name)
