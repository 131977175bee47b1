# SPDX-License-Identifier: Apache-2.0
"""Estimators: from equations to parameters and how well they are known."""
