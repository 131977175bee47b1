# SPDX-License-Identifier: Apache-2.0
"""Identification of servo drives from commanded and measured positions (output error)."""
