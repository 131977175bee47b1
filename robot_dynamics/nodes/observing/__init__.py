# SPDX-License-Identifier: Apache-2.0
"""Observation of a running system: graph, joint states, faults of the arm."""
