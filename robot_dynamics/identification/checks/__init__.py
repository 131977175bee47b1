# SPDX-License-Identifier: Apache-2.0
"""Whether a log and its result are plausible: readings, common mistakes, and the description."""
