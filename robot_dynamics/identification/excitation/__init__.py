# SPDX-License-Identifier: Apache-2.0
"""Motions from which the parameters of an arm can be told: designed, checked, kept."""
