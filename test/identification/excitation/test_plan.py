# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import yaml

from robot_dynamics.errors import FileError, TrajectoryError
from robot_dynamics.identification.excitation.curves import (
    BSplineBasis,
    FourierBasis,
    RestToRest,
)
from robot_dynamics.identification.excitation.design import DesignSettings, design
from robot_dynamics.identification.excitation.plan import ExcitationPlan


@pytest.fixture(params=['bspline', 'fourier'])
def plan(request, limited):
    robot, start, limits = limited('rpr')
    basis = BSplineBasis(4.0, 8) if request.param == 'bspline' else FourierBasis(4.0, 4)
    x = 0.03 * np.random.default_rng(0).normal(size=(basis.count, robot.n))
    return ExcitationPlan(robot.name, RestToRest(basis, start, x), limits, {'seed': 0})


def test_a_plan_survives_its_file(plan, tmp_path):
    path = tmp_path / 'plan.yaml'
    plan.write(path)
    again = ExcitationPlan.read(path)
    t = np.linspace(0.0, plan.motion.duration, 50)
    for derivative in range(4):
        np.testing.assert_allclose(again.motion.evaluate(t, derivative),
                                   plan.motion.evaluate(t, derivative), atol=1e-10)
    assert again.joint_names == plan.joint_names and again.robot_name == plan.robot_name
    for name in ('lower', 'upper', 'velocity', 'acceleration', 'effort'):
        np.testing.assert_array_equal(getattr(again.limits, name), getattr(plan.limits, name))
    assert again.facts == {'seed': 0}


def test_joints_in_another_order(plan):
    names = plan.joint_names[::-1]
    other = plan.in_order_of(names)
    np.testing.assert_allclose(other.motion.evaluate([1.3]), plan.motion.evaluate([1.3])[:, ::-1])
    np.testing.assert_array_equal(other.limits.effort, plan.limits.effort[::-1])
    with pytest.raises(TrajectoryError, match='is for the joints'):
        plan.in_order_of(('a', 'b', 'c'))


def test_a_plan_of_a_design_says_what_it_is_worth(limited, tmp_path):
    robot, start, limits = limited('rpr')
    settings = DesignSettings(seconds=5.0, restarts=1, iterations=3, seed=5)
    made = design(robot, start, limits, settings)
    path = tmp_path / 'plan.yaml'
    ExcitationPlan.of(robot, made, settings).write(path)
    facts = yaml.safe_load(path.read_text())['facts']
    assert facts['condition'] == pytest.approx(made.condition)
    assert facts['condition_of_random_motions'] == pytest.approx(made.random_condition)
    assert facts['seed'] == 5


@pytest.mark.parametrize(('change', 'wanted'), [
    ({'format': 'other'}, 'format'), ({'kind': 'chirp'}, 'kind'),
    ({'joint_names': ['a', 'a', 'b']}, 'joint_names'), ({'joint_names': 'abc'}, 'joint_names'),
    ({'duration': -1}, 'duration'), ({'duration': float('nan')}, 'duration'),
    ({'duration': 'long'}, 'plan'), ({'start': [0, 0]}, 'shape'), ({'start': None}, 'shape'),
    ({'start': ['0', '1', '2']}, 'numbers'), ({'start': [0, float('nan'), 0]}, 'finite'),
    ({'limits': {}}, 'lower'), ({'limits': 3}, 'plan'), ({'robot': None, 'kind': None}, 'kind')])
def test_a_file_that_is_no_plan_is_refused(plan, tmp_path, change, wanted):
    path = tmp_path / 'plan.yaml'
    path.write_text(yaml.safe_dump({**plan.to_dict(), **change}))
    with pytest.raises(TrajectoryError, match=wanted) as caught:
        ExcitationPlan.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize('text', ['', '[]', '3', '{', 'a: !!python/object:os.system x'])
def test_any_text_is_refused_in_one_error(tmp_path, text):
    path = tmp_path / 'plan.yaml'
    path.write_text(text)
    with pytest.raises(TrajectoryError):
        ExcitationPlan.read(path)


def test_a_file_that_is_not_there_or_cannot_be_written(plan, tmp_path):
    with pytest.raises(TrajectoryError):
        ExcitationPlan.read(tmp_path / 'none.yaml')
    with pytest.raises(FileError, match='cannot be written'):
        plan.write(tmp_path / 'no' / 'plan.yaml')
    (tmp_path / 'thesis.yaml').write_text('mine')
    with pytest.raises(FileError, match=r'thesis\.yaml was not written by robot_dynamics'):
        plan.write(tmp_path / 'thesis.yaml')
    assert (tmp_path / 'thesis.yaml').read_text() == 'mine'
