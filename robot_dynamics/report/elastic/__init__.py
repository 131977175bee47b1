# SPDX-License-Identifier: Apache-2.0
"""The page about identified joints with springs."""

from robot_dynamics.report.elastic.build import elastic_page
from robot_dynamics.report.elastic.text import elastic_sentence, elastic_text

__all__ = ['elastic_page', 'elastic_sentence', 'elastic_text']
