# SPDX-License-Identifier: Apache-2.0
"""Quality of service of every endpoint, in one place.

rclpy writes overrides into the profile it is given, so these are functions: each
call returns a fresh profile.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

_BEST_EFFORT, _RELIABLE = ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE
_VOLATILE, _LATCHED = DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL


def state() -> QoSProfile:
    """Return the profile of joint states: the newest sample, never an old one again.

    A best-effort subscription also receives from reliable publishers.
    """
    return _profile(1, _BEST_EFFORT, _VOLATILE)


def command() -> QoSProfile:
    """Return the profile of commands and references given.

    Offered reliable, because forward_command_controller asks for it, and of depth 1,
    so that a writer never waits for, nor repeats, anything but the newest.
    """
    return _profile(1, _RELIABLE, _VOLATILE)


def command_input() -> QoSProfile:
    """Return the profile on which a simulated drive takes commands: from any publisher."""
    return _profile(1, _BEST_EFFORT, _VOLATILE)


def latched() -> QoSProfile:
    """Return the profile of what a late joiner must also get: description, mode, names."""
    return _profile(1, _RELIABLE, _LATCHED)


def telemetry() -> QoSProfile:
    """Return the profile of what people and recorders look at."""
    return _profile(10, _RELIABLE, _VOLATILE)


def overridable() -> QoSOverridingOptions:
    """Return options that let parameters ``qos_overrides.<topic>...`` change a profile."""
    return QoSOverridingOptions.with_default_policies()


def _profile(depth: int, reliability: ReliabilityPolicy,
             durability: DurabilityPolicy) -> QoSProfile:
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability,
                      durability=durability)
