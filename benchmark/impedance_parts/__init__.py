# SPDX-License-Identifier: Apache-2.0
"""Arms, a table and runs of benchmark/impedance.py."""
