# SPDX-License-Identifier: Apache-2.0
"""Motions that the node `reference` publishes."""
