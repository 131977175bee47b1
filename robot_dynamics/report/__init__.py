# SPDX-License-Identifier: Apache-2.0
"""Reports a person looks at: tables in the terminal, pictures and HTML."""
