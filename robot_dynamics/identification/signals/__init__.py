# SPDX-License-Identifier: Apache-2.0
"""From rows to motions: filters without delay, derivatives, an even grid."""

from robot_dynamics.identification.signals.motion import Motion, SignalSettings, motions_of
from robot_dynamics.identification.signals.spectrum import cutoff_of

__all__ = ['Motion', 'SignalSettings', 'cutoff_of', 'motions_of']
