# SPDX-License-Identifier: Apache-2.0
"""Compiled equations of motion, generic over robots.

All vectors are in the axes of the base. The origin of the calculation is the joint of the first
body. This does not change the dynamics, and keeps numbers small if a robot is far from its base
frame.
"""
