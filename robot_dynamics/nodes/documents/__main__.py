# SPDX-License-Identifier: Apache-2.0
"""Write all generated files below the current folder, which must be the repository."""

from __future__ import annotations

from robot_dynamics.nodes.documents import parameters, policy, views

if __name__ == '__main__':
    for module in (parameters, views, policy):
        for path, text in module.documents().items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding='utf-8')
            print(path)
