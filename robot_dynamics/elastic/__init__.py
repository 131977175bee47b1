# SPDX-License-Identifier: Apache-2.0
"""Robots whose motors drive their joints through springs."""
