# SPDX-License-Identifier: Apache-2.0
"""Detection and isolation of faults and contacts from measured motion and applied effort."""
