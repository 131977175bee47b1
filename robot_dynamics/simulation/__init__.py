# SPDX-License-Identifier: Apache-2.0
"""An arm to try things on: MuJoCo behind the interface of real hardware."""
