# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import Severity
from robot_dynamics.model.assembly import singular_directions
from robot_dynamics.model.robot import Robot

LIMIT = '<limit lower="-3" upper="3" effort="5" velocity="3"/>'
NO_INERTIA = '<link name="{}"/>'


def link(name, mass, com='0 0 0', moments=(0, 0, 0)):
    xx, yy, zz = moments
    return (f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>'
            f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial>'
            '</link>')


def joint(name, parent, child, kind='revolute', axis='0 0 1', xyz='0 0 0'):
    return f'{name} {kind} {parent} {child}|<origin xyz="{xyz}"/><axis xyz="{axis}"/>{LIMIT}'


def subjects(make_urdf, joints, *links):
    robot = Robot.from_urdf(make_urdf(*joints, links=''.join(links)))
    found = singular_directions(robot)
    assert all(finding.severity is Severity.WARNING and finding.remedy for finding in found)
    eigenvalues = np.linalg.eigvalsh(Dynamics(robot).mass_matrix(np.full(robot.n, 0.4)))
    assert bool(found) == (eigenvalues[0] < 1e-14 * max(eigenvalues[-1], 1e-3))
    return [finding.subject for finding in found]


def test_massless_tip(make_urdf):
    assert subjects(make_urdf, [joint('a', 'x', 'y'), joint('b', 'y', 'z')],
                    NO_INERTIA.format('z')) == ['b']


def test_massless_subtree_names_each_joint(make_urdf):
    joints = [joint('a', 'x', 'y'), joint('b', 'y', 'z'), joint('c', 'z', 'w', 'prismatic')]
    assert subjects(make_urdf, joints, NO_INERTIA.format('z'), NO_INERTIA.format('w')) \
        == ['b', 'c']


def test_nothing_has_inertia(make_urdf):
    assert subjects(make_urdf, [joint('a', 'x', 'y')], NO_INERTIA.format('y')) == ['made']


def test_point_mass_on_the_axis(make_urdf):
    joints = [joint('a', 'x', 'y'), joint('b', 'y', 'z', xyz='1 0 0')]
    assert subjects(make_urdf, joints, link('z', 2, com='0 0 0.3')) == ['b']
    assert subjects(make_urdf, joints, link('z', 2, com='0.01 0 0.3')) == []


@pytest.mark.parametrize('axis', ['0.3 -0.5 0.8', '1 2 3'])
def test_rod_along_a_skew_axis(make_urdf, axis):
    """All moments cancel about the axis, up to rounding."""
    direction = np.array([float(x) for x in axis.split()])
    direction /= np.linalg.norm(direction)
    com = ' '.join(f'{0.7 * x:.17g}' for x in direction)
    joints = [joint('a', 'x', 'y'), joint('b', 'y', 'z', axis=axis, xyz='1 0 0')]
    assert subjects(make_urdf, joints, link('z', 3, com=com)) == ['b']


def test_massless_link_between_two_offset_joints_is_fine(make_urdf):
    joints = [joint('a', 'x', 'y'), joint('b', 'y', 'z', xyz='1 0 0')]
    assert subjects(make_urdf, joints, NO_INERTIA.format('y')) == []


def test_massless_link_between_two_joints_on_one_axis(make_urdf):
    joints = [joint('a', 'x', 'y'), joint('b', 'y', 'z', xyz='0 0 0.5')]
    assert subjects(make_urdf, joints, NO_INERTIA.format('y')) == ['a', 'b']


def test_slide_needs_mass_not_inertia(make_urdf):
    assert subjects(make_urdf, [joint('a', 'x', 'y', 'prismatic')], link('y', 1)) == []
    assert subjects(make_urdf, [joint('a', 'x', 'y', 'prismatic'), joint('b', 'x', 'z')],
                    link('y', 0, moments=(1, 1, 1))) == ['a']


def test_mimic_joint_can_carry_the_inertia(make_urdf):
    joints = [joint('a', 'x', 'y'), joint('b', 'y', 'z', xyz='1 0 0') + '<mimic joint="a"/>']
    assert subjects(make_urdf, joints, NO_INERTIA.format('y')) == []
    opposed = joint('b', 'y', 'z') + '<mimic joint="a" multiplier="-1"/>'
    assert subjects(make_urdf, [joints[0], opposed], NO_INERTIA.format('y'),
                    link('z', 0, moments=(1, 1, 1))) == ['a']


def test_a_light_wrist_is_not_singular(make_urdf):
    joints = [joint('a', 'x', 'y'), joint('b', 'y', 'z', axis='1 0 0')]
    assert subjects(make_urdf, joints, link('y', 100, moments=(50, 50, 50)),
                    link('z', 1e-6, moments=(1e-10, 1e-10, 1e-10))) == []


def test_massless_body_that_is_no_trouble_is_only_noted(make_urdf):
    joints = [joint('a', 'x', 'y'), joint('b', 'y', 'z', xyz='1 0 0')]
    (finding,) = Robot.from_urdf(make_urdf(*joints, links=NO_INERTIA.format('y'))).findings
    assert (finding.severity, finding.subject) == (Severity.INFO, 'y')


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('inertia', [1e-308, 1e-200, 1e-20, 1e12])
def test_the_smallest_inertia_there_is_makes_no_joint_singular(make_urdf, inertia):
    joints = [joint('a', 'x', 'y'), joint('b', 'y', 'z', axis='1 0 0')]
    links = ''.join(link(name, 0, moments=(inertia,) * 3) for name in 'yz')
    assert singular_directions(Robot.from_urdf(make_urdf(*joints, links=links))) == []
