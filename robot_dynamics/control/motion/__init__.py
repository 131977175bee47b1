# SPDX-License-Identifier: Apache-2.0
"""Desired motions: references, trajectory messages, paths of an end effector, stops."""
