# SPDX-License-Identifier: Apache-2.0
"""Pure control laws, references and guards: no clock, no messages, no rclpy."""
