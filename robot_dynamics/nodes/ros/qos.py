# SPDX-License-Identifier: Apache-2.0
"""Quality of service of every endpoint, in one place.

Each call makes a new profile, because rclpy writes overrides into the profile it gets.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

_BEST_EFFORT, _RELIABLE = ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE
_VOLATILE, _LATCHED = DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL


def state() -> QoSProfile:
    """Profile of joint states: the newest sample, never an old one again.

    A best-effort subscription also receives from reliable publishers.
    """
    return _profile(1, _BEST_EFFORT, _VOLATILE)


def command() -> QoSProfile:
    """Profile of published commands and references.

    Reliable, because forward_command_controller requires it, and of depth 1, so that a writer
    never waits for, nor repeats, anything but the newest message.
    """
    return _profile(1, _RELIABLE, _VOLATILE)


def command_input() -> QoSProfile:
    """Profile of a simulated drive for commands, from any publisher."""
    return _profile(1, _BEST_EFFORT, _VOLATILE)


def latched() -> QoSProfile:
    """Profile of messages that late joiners need: description, mode, names."""
    return _profile(1, _RELIABLE, _LATCHED)


def telemetry() -> QoSProfile:
    """Profile of topics for plots and recorders."""
    return _profile(10, _RELIABLE, _VOLATILE)


def overridable() -> QoSOverridingOptions:
    """Options that let parameters ``qos_overrides.<topic>...`` change a profile."""
    return QoSOverridingOptions.with_default_policies()


def _profile(depth: int, reliability: ReliabilityPolicy,
             durability: DurabilityPolicy) -> QoSProfile:
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability,
                      durability=durability)
