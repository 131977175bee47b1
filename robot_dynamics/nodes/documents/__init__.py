# SPDX-License-Identifier: Apache-2.0
"""Files that are generated from the nodes: parameter page and files, views, security policy.

Run ``python -m robot_dynamics.nodes.documents`` in the repository to write all of them.
"""
