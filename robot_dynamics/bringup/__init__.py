# SPDX-License-Identifier: Apache-2.0
"""What runs together, described once for `ros2 launch` and for the process runner."""
