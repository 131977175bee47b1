# SPDX-License-Identifier: Apache-2.0
"""Ratio, lost motion and stiffness of single joints, from encoders before and after the gear."""
