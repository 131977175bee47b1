# SPDX-License-Identifier: Apache-2.0
"""The subcommands of ``robot-dynamics``, one module each: its arguments and what it runs."""
