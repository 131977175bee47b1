# SPDX-License-Identifier: Apache-2.0
"""What ``benchmark/chaos.py`` is made of; ``docs/reliability.md`` says what it asserts."""
