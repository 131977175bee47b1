# SPDX-License-Identifier: Apache-2.0
"""From a joint state to a command within limits: modes, guards and stops of a moving arm."""
