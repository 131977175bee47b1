# SPDX-License-Identifier: Apache-2.0
"""The controllers: efforts from a measured state and a desired motion."""
