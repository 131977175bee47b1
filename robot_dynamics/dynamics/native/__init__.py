# SPDX-License-Identifier: Apache-2.0
"""C code: the gate from Python to kernels, and the kernels generated for one robot.

`gate` calls kernels of one sample, `robot` writes the equations of a robot in C, `build` compiles
both once and caches them on disk.
"""
