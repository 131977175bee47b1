# SPDX-License-Identifier: Apache-2.0
"""C: the gate from Python to kernels, and the kernels made for one robot.

`gate` calls kernels of one sample, `robot` writes the equations of a robot in C, `build`
compiles either once and keeps it on disk.
"""
