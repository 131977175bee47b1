# SPDX-License-Identifier: Apache-2.0
"""The page about an identification."""

from robot_dynamics.report.identification.build import identification_page
from robot_dynamics.report.identification.text import summary_text, verdict_sentence

__all__ = ['identification_page', 'summary_text', 'verdict_sentence']
