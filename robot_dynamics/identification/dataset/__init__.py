# SPDX-License-Identifier: Apache-2.0
"""Recordings of a moving arm, read and cleaned; rows left out are counted by reason."""
