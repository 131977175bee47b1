# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import base_parameters, structural_base
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.quality import missing_motion
from robot_dynamics.model.robot import Robot


def bare(robot):
    """A model without friction."""
    return Model(robot, np.eye(robot.n), robot.joint_names, (), robot.gravity, robot.parameters,
                 np.zeros(0), robot.parameters)


@pytest.fixture(scope='module')
def told(cases, table):
    """Return rank and what is missing of a motion of the case."""
    robot = Robot.from_urdf(cases / 'ident_rank' / 'planar2.urdf')
    dynamics = Dynamics(robot)

    def of(name):
        data = table(cases / 'ident_rank' / f'{name}.csv')
        q, v, a = (np.stack([data[f'{kind}{k}'] for k in (1, 2)], axis=1)
                   for kind in ('q', 'dq', 'ddq'))
        W = dynamics.regressor(q, v, a)
        base = base_parameters(W.reshape(-1, W.shape[-1]), robot.parameter_names)
        return base.rank, missing_motion(bare(robot), base, structural_base(dynamics))
    return of


def test_what_a_motion_lacks_and_which_would_tell_it(told, cases):
    ranks = json.loads((cases / 'ident_rank' / 'expected.json').read_text())['numbers']['ranks']
    rank, missing = told('full')
    assert (rank, missing) == (ranks['full']['rank'], ())
    for name in ('joint1_locked', 'static_poses'):
        rank, missing = told(name)
        assert rank == ranks[name]['rank']
        assert sum(len(one.parameters) for one in missing) >= ranks['full']['rank'] - rank
    # Joint 1 never moved: its centre of mass is told by poses, its inertia when it swings.
    _, missing = told('joint1_locked')
    inertia, = (one for one in missing if any('l1/Jzz' in text for text in one.parameters))
    assert inertia.motion.startswith('swing j1 ')
    assert {one.motion[:5] for one in missing} == {'hold ', 'swing'}
    # At rest no inertia is told.
    _, missing = told('static_poses')
    assert all('Jzz' in text for one in missing for text in one.parameters)
    assert not any('still' in one.motion for one in missing)


def test_poses_are_enough_for_what_gravity_tells(cases):
    robot = Robot.from_urdf(cases / 'ident_rank' / 'planar2.urdf')
    dynamics = Dynamics(robot)
    # One pose only.
    W = dynamics.regressor(np.full((5, 2), 0.3), np.zeros((5, 2)), np.zeros((5, 2)))
    base = base_parameters(W.reshape(-1, W.shape[-1]), robot.parameter_names)
    missing = missing_motion(bare(robot), base, structural_base(dynamics))
    assert 'still in many different poses' in missing[0].motion
    assert any('l2/my' in text for text in missing[0].parameters)


def test_a_sliding_joint_and_a_single_one(make_arm):
    for joints in ([('prismatic', '0 0 1', 3.0)], [('revolute', '0 0 1', 3.0)]):
        robot = make_arm(joints).robot
        dynamics = Dynamics(robot)
        structural = structural_base(dynamics)
        nothing = base_parameters(np.zeros((4, 10)), robot.parameter_names)
        missing = missing_motion(bare(robot), nothing, structural)
        assert sum(len(one.parameters) for one in missing) == structural.rank
        assert missing_motion(bare(robot), structural, structural) == ()
