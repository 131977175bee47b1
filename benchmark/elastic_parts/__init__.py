# SPDX-License-Identifier: Apache-2.0
"""The experiments of Zollo et al. with robots with elastic joints."""
