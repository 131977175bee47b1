# SPDX-License-Identifier: Apache-2.0
"""Parts of `benchmark/fault_matrix.py`: lying drivers, a stand-in arm, and the runs."""
