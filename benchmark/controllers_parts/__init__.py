# SPDX-License-Identifier: Apache-2.0
"""Parts of `benchmark/controllers.py`: conditions, motions, contenders, runs, tables."""
