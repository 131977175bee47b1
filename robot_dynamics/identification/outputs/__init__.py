# SPDX-License-Identifier: Apache-2.0
"""What an identification leaves behind: files that nodes, other programs and people read."""

from robot_dynamics.identification.outputs.make import Outputs, make_outputs

__all__ = ['Outputs', 'make_outputs']
