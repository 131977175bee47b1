# SPDX-License-Identifier: Apache-2.0
"""Recording topics into rosbag2 files."""
