# SPDX-License-Identifier: Apache-2.0
"""What the tests of the model share."""

import pytest

from robot_dynamics.model.description import JointKind


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


@pytest.fixture(scope='session')
def random_urdf():
    """Return a writer of random trees; it takes a random generator of numpy's."""
    return _random_urdf


def _random_urdf(rng):
    """A tree of every type of joint, elements left out at random; the joints to hold."""
    count = int(rng.integers(3, 12))
    kinds = ['revolute', *rng.choice([kind.value for kind in JointKind], count - 1,
                                     p=[0.35, 0.1, 0.2, 0.25, 0.05, 0.05])]
    links = [f'<link name="l {k} &amp; ü">{_random_inertial(rng)}</link>'
             for k in range(count + 1)]
    joints, independent, locked = [], [], {}
    for k, kind in enumerate(kinds):
        inside = [f'<parent link="l {rng.integers(0, k + 1)} &amp; ü"/>',
                  f'<child link="l {k + 1} &amp; ü"/>', _random_origin(rng)]
        if kind in ('planar', 'floating'):
            locked[f'j/{k}'] = 0.0
        elif kind != 'fixed':
            inside.append(_random_motion(rng))
            if independent and rng.random() < 0.25:
                inside.append(f'<mimic joint="{rng.choice(independent)}"'
                              + _some(rng, multiplier=rng.normal() + 2.0, offset=rng.normal())
                              + '/>')
            else:
                independent.append(f'j/{k}')
        rng.shuffle(inside)
        joints.append(f'<joint name="j/{k}" type="{kind}">{"".join(inside)}</joint>')
    elements = links + joints
    rng.shuffle(elements)
    return f'<robot name="r">{"".join(elements)}</robot>', locked


def _random_motion(rng):
    """Axis, limit and dynamics of a joint, some left out."""
    limit = f'<limit lower="{-rng.uniform(1, 9)}" upper="{rng.uniform(1, 9)}"' \
            f' velocity="{rng.uniform(0, 9)}" effort="{rng.uniform(0, 9)}"/>'
    dynamics = f'<dynamics{_some(rng, damping=rng.uniform(0, 9), friction=rng.uniform(0, 9))}/>'
    axis = f'<axis xyz="{_three(rng)}"/>'
    soft = '<safety_controller k_velocity="5"' + _some(
        rng, k_position=5.0, soft_lower_limit=-rng.uniform(0, 1),
        soft_upper_limit=rng.uniform(0, 1)) + '/>'
    return ''.join(element for element in (axis, limit, dynamics, soft) if rng.random() < 0.8)


def _random_origin(rng):
    return f'<origin{_some(rng, xyz=_three(rng), rpy=_three(rng))}/>' if rng.random() < 0.8 else ''


def _random_inertial(rng):
    if rng.random() < 0.2:
        return ''
    moments = ''.join(f' i{axes}="{rng.normal() * 0.1 + 2.0 * (axes[0] == axes[1])}"'
                      for axes in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz'))
    return f'<inertial>{_random_origin(rng)}<mass value="{rng.uniform(0.1, 9)}"/>' \
           f'<inertia{moments}/></inertial>'


def _some(rng, **attributes):
    return ''.join(f' {name}="{value}"' for name, value in attributes.items()
                   if rng.random() < 0.7)


def _three(rng):
    return ' '.join(str(number) for number in rng.normal(size=3))
