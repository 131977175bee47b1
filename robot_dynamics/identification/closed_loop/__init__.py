# SPDX-License-Identifier: Apache-2.0
"""Estimators that simulate an arm in its control loop."""
