# SPDX-License-Identifier: Apache-2.0
"""Common parts of all controllers: linear feedback, its gains, and the model with its payload."""
