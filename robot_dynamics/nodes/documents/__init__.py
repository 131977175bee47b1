# SPDX-License-Identifier: Apache-2.0
"""Files that are generated from the nodes: parameter page and files, views, security policy.

``python -m robot_dynamics.nodes.documents``, run in the repository, writes all of them again.
"""
