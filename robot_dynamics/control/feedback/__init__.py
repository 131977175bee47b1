# SPDX-License-Identifier: Apache-2.0
"""Linear feedback, its gains, and the model with its payload: what all controllers share."""
