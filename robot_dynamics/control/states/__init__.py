# SPDX-License-Identifier: Apache-2.0
"""Complete, plausible joint states from joint state messages."""
