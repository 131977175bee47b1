# SPDX-License-Identifier: Apache-2.0
"""From recordings of motors and links to the parameters of a robot with elastic joints."""
