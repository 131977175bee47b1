# SPDX-License-Identifier: Apache-2.0
"""The page about identified servo drives."""

from robot_dynamics.report.drives.build import drives_page
from robot_dynamics.report.drives.text import drives_sentence, drives_text

__all__ = ['drives_page', 'drives_sentence', 'drives_text']
