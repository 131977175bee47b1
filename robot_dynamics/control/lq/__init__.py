# SPDX-License-Identifier: Apache-2.0
"""Gains of the least squares feedback around a trajectory: design, computation, certificate.

After J. C. Van Winssen and C. W. deSilva, "Accurate trajectory control of robotic manipulators",
with its formulas corrected; see docs/control.md.
"""
