# SPDX-License-Identifier: Apache-2.0
"""What the tests of the model share."""

import pytest


@pytest.fixture(scope='session')
def make_urdf():
    """Return a writer of small URDF texts: links by name, joints by keyword."""
    return _make_urdf


def _make_urdf(*joints: str, links: str = '', inertial: str | None = None) -> str:
    """Return a URDF with the given joint elements and one link for each name they use.

    Parameters
    ----------
    joints : str
        ``name type parent child`` and, after a bar, the children of the element.
    links : str
        More ``<link>`` elements; links given here are not generated.
    inertial : str, optional
        Children of the ``<inertial>`` of every generated link; without inertia if empty.
    """
    body = ('<mass value="1"/><origin xyz="0.1 0.2 0.3"/>'
            '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
            if inertial is None else inertial)
    elements, names = [], []
    for joint in joints:
        head, _, children = joint.partition('|')
        name, kind, parent, child = head.split()
        names += [parent, child]
        elements.append(f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
                        f'<child link="{child}"/>{children}</joint>')
    inside = f'<inertial>{body}</inertial>' if body else ''
    generated = [f'<link name="{name}">{inside}</link>' for name in dict.fromkeys(names)
                 if f'<link name="{name}"' not in links]
    return '\n'.join(['<robot name="made">', *generated, links, *elements, '</robot>'])
