# SPDX-License-Identifier: Apache-2.0
"""Wrong inputs by the thousand: what makes them, what takes them, and what must hold."""
