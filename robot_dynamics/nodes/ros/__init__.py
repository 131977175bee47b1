# SPDX-License-Identifier: Apache-2.0
"""What every node has in common: parameters, lifecycle, spinning, messages."""
