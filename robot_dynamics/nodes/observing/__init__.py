# SPDX-License-Identifier: Apache-2.0
"""Reading a running system: its graph, its joint states, faults of its arm."""
