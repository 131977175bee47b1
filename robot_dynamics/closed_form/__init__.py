# SPDX-License-Identifier: Apache-2.0
"""The equations of motion as formulas: derived once, written in five languages."""
