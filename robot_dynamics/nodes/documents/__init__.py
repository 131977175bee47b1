# SPDX-License-Identifier: Apache-2.0
"""Documents and views that are generated from the nodes."""
