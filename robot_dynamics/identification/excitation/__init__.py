# SPDX-License-Identifier: Apache-2.0
"""Excitation of an arm for identification: motions that are designed, checked, kept and played."""
