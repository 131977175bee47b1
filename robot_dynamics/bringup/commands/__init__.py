# SPDX-License-Identifier: Apache-2.0
"""The subcommands of ``robot-dynamics``, one module each with arguments and function."""
