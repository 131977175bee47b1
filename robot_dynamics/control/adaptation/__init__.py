# SPDX-License-Identifier: Apache-2.0
"""Update laws of the parameter estimates, and the rules that keep them stable."""
