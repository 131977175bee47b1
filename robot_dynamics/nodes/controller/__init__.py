# SPDX-License-Identifier: Apache-2.0
"""The parts of nodes that command an arm."""
