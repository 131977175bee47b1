# SPDX-License-Identifier: Apache-2.0
"""Quality of service of every endpoint, in one place.

Each call makes a new profile, because rclpy writes overrides into the profile it gets. They keep
the last messages, and are volatile where nothing else is written.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

_BEST_EFFORT, _RELIABLE = ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE


def state() -> QoSProfile:
    """Profile of joint states: the newest sample, never an old one again.

    A best-effort subscription also receives from reliable publishers.
    """
    return QoSProfile(depth=1, reliability=_BEST_EFFORT)


def command() -> QoSProfile:
    """Profile of published commands and references.

    Reliable, because forward_command_controller requires it, and of depth 1, so that a writer
    never waits for, nor repeats, anything but the newest message.
    """
    return QoSProfile(depth=1, reliability=_RELIABLE)


def command_input() -> QoSProfile:
    """Profile of a simulated drive for commands, from any publisher."""
    return QoSProfile(depth=1, reliability=_BEST_EFFORT)


def latched() -> QoSProfile:
    """Profile of messages that late joiners need: description, mode, names."""
    return QoSProfile(depth=1, reliability=_RELIABLE,
                      durability=DurabilityPolicy.TRANSIENT_LOCAL)


def telemetry() -> QoSProfile:
    """Profile of topics for plots and recorders."""
    return QoSProfile(depth=10, reliability=_RELIABLE)


def overridable() -> QoSOverridingOptions:
    """Options that let parameters ``qos_overrides.<topic>...`` change a profile."""
    return QoSOverridingOptions.with_default_policies()
