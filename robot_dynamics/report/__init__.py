# SPDX-License-Identifier: Apache-2.0
"""Reports of runs and identifications: texts for the terminal, HTML pages and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics.lazy import lazy_names

__all__ = ['Story', 'build_report', 'drives_page', 'elastic_page', 'identification_page',
           'read_recording', 'stiffness_page', 'summarize', 'validation_page', 'write_files']

if TYPE_CHECKING:
    from robot_dynamics.files import write_files
    from robot_dynamics.report.drives import drives_page
    from robot_dynamics.report.elastic import elastic_page
    from robot_dynamics.report.identification import identification_page
    from robot_dynamics.report.recording import read_recording
    from robot_dynamics.report.run_page import Story, build_report
    from robot_dynamics.report.stiffness import stiffness_page
    from robot_dynamics.report.summary import summarize
    from robot_dynamics.report.validation import validation_page
else:
    __getattr__ = lazy_names(__name__, __file__)
