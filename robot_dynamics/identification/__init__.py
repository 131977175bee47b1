# SPDX-License-Identifier: Apache-2.0
"""From a recording of a moving arm to its parameters."""
