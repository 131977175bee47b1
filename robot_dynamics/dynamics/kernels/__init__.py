# SPDX-License-Identifier: Apache-2.0
"""Compiled equations of motion, generic over robots.

All vectors are in the axes of the base. The origin of the calculation is the joint of
the first body, which changes nothing in the dynamics and keeps numbers small when a
robot stands far from its base frame.
"""
