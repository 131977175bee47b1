# SPDX-License-Identifier: Apache-2.0
"""Identification of robots with elastic joints from recordings of motors and links."""
