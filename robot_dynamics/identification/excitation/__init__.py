# SPDX-License-Identifier: Apache-2.0
"""Excitation of an arm for identification: design, checks, files and playback of motions."""
