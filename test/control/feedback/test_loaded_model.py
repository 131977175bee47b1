# SPDX-License-Identifier: Apache-2.0

# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.control.feedback.loaded_model import LoadedModel, Payload
from robot_dynamics.control.laws.guiding import GuidingController
from robot_dynamics.control.laws.model_based import ComputedTorqueController, PDGravityController
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import DimensionError, InertiaError, ModelError, ParameterError
from robot_dynamics.model.inertia import check_body
from robot_dynamics.model.modify import with_payload

CUBE = Payload(1.5, (0.05, 0.02, 0.1), (0.004, 0.0, 0.0, 0.004, 0.0, 0.004))


@pytest.fixture
def model(arm3):
    return LoadedModel(Dynamics(arm3))


@pytest.fixture
def loaded(arm3):
    return Dynamics(with_payload(arm3, CUBE.mass, CUBE.com, CUBE.tensor))


def test_is_the_arm_itself_before_anything_is_carried(arm3, model):
    q, v, a = np.random.default_rng(0).normal(size=(3, 3))
    dynamics = Dynamics(arm3)
    np.testing.assert_array_equal(model.gravity_torque(q), dynamics.gravity_torque(q))
    np.testing.assert_array_equal(model.mass_matrix(q), dynamics.mass_matrix(q))
    np.testing.assert_array_equal(model.inverse_dynamics(q, v, a),
                                  dynamics.inverse_dynamics(q, v, a))
    assert not model.changes and not model.advance(1.0)


def test_goes_over_to_the_arm_with_its_load_and_back(arm3, model, loaded):
    q, v, a = np.random.default_rng(1).normal(size=(3, 3))
    model.carry(CUBE.load_on(arm3), 1.0)
    assert model.changes
    np.testing.assert_allclose(model.gravity_torque(q), Dynamics(arm3).gravity_torque(q))
    for _ in range(10):
        model.advance(0.1001)
    assert not model.changes
    for name, arguments in (('gravity_torque', (q,)), ('mass_matrix', (q,)),
                            ('inverse_dynamics', (q, v, a))):
        np.testing.assert_allclose(getattr(model, name)(*arguments),
                                   getattr(loaded, name)(*arguments), rtol=1e-12)
    model.carry(np.zeros((3, 10)), 0.0)
    assert not model.changes
    np.testing.assert_array_equal(model.gravity_torque(q), Dynamics(arm3).gravity_torque(q))


def test_every_equation_on_the_way_is_that_of_one_body_in_between(arm3, model):
    q, v, a = np.random.default_rng(2).normal(size=(3, 3))
    model.carry(CUBE.load_on(arm3), 1.0)
    model.advance(0.3)
    assert model.share == pytest.approx(0.3**2 * (3 - 0.6))
    between = Dynamics(arm3.with_parameters(model.parameters))
    np.testing.assert_allclose(model.inverse_dynamics(q, v, a), between.inverse_dynamics(q, v, a))
    np.testing.assert_allclose(model.mass_matrix(q), between.mass_matrix(q))
    assert all(check_body(body).is_consistent for body in model.parameters)


def test_a_change_of_mind_begins_where_the_load_is(arm3, model):
    q = np.array([0.3, -0.5, 0.4])
    model.carry(CUBE.load_on(arm3), 1.0)
    model.advance(0.4)
    before = model.gravity_torque(q)
    model.carry(np.zeros((3, 10)), 1.0)
    np.testing.assert_allclose(model.gravity_torque(q), before, rtol=1e-12)
    model.advance(1.0)
    np.testing.assert_array_equal(model.gravity_torque(q), Dynamics(arm3).gravity_torque(q))


@pytest.mark.parametrize('law', [PDGravityController, ComputedTorqueController,
                                 GuidingController])
def test_no_law_jumps(arm3, law):
    """Each sample changes the effort by 1.5 dt/T of the whole change, at most."""
    controller = law(arm3)
    q, still, dt, seconds = np.array([0.3, -0.5, 0.4]), np.zeros(3), 0.002, 0.5

    def effort():
        return controller.update(q, still, q, still, still, dt, adapt=False).copy()

    efforts = [effort()]
    controller.carry(CUBE.load_on(arm3), seconds)
    for _ in range(260):
        controller.advance(dt)
        efforts.append(effort())
    whole = efforts[-1] - efforts[0]
    assert np.abs(whole).max() > 5.0
    steps = np.abs(np.diff(efforts, axis=0))
    assert np.all(steps <= 1.5 * dt / seconds * np.abs(whole) + 1e-9)
    expected = Dynamics(with_payload(arm3, CUBE.mass, CUBE.com, CUBE.tensor)).gravity_torque(q)
    np.testing.assert_allclose(controller.holding_effort(q, still, q), expected, atol=1e-9)
    np.testing.assert_allclose(controller.safe_effort(q, still), expected, atol=1e-9)


@pytest.mark.parametrize('dt', [np.nan, -1.0, 0.0])
def test_time_that_does_not_pass_changes_nothing(arm3, model, dt):
    model.carry(CUBE.load_on(arm3), 1.0)
    model.advance(0.5)
    share = model.share
    model.advance(dt)
    assert model.share == share


def test_what_no_body_can_be_is_refused_and_changes_nothing(arm3, model):
    load = np.zeros((3, 10))
    load[2, 0] = -10.0
    with pytest.raises(InertiaError, match=r'hand.*negative'):
        model.carry(load, 1.0)
    with pytest.raises(InertiaError, match=r'hand.*finite'):
        model.carry(np.where(load, np.nan, 0.0), 1.0)
    with pytest.raises(DimensionError, match='hand'):
        model.carry(load[0], 1.0)
    for seconds in (-1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match='seconds'):
            model.carry(np.zeros((3, 10)), seconds)
    assert not model.changes and not np.any(model.load)


@pytest.mark.parametrize('law', [PDGravityController, ComputedTorqueController,
                                 GuidingController])
def test_feedback_is_that_of_the_empty_arm(arm3, law):
    """A load that is told of and not in the hand must not raise the gains of a light wrist."""
    empty, loaded = law(arm3), law(arm3)
    loaded.carry(CUBE.load_on(arm3), 0.0)
    q, still = np.array([0.3, -0.5, 0.4]), np.zeros(3)

    def change(controller, error):
        """What an error adds to the effort."""
        controller.reset(q, still)
        controller.holding_effort(q, still, q)
        efforts = [controller.update(q, v, q, still, still, 0.002, adapt=False).copy()
                   for v in (still, error)]
        return efforts[1] - efforts[0]

    error = np.array([0.01, -0.02, 0.03])
    nearly = law is ComputedTorqueController
    # Computed torque has the Coriolis force of the load, too.
    np.testing.assert_allclose(change(loaded, error), change(empty, error),
                               atol=2e-3 if nearly else 1e-12)


def test_adds_what_a_robot_with_it_has_more(arm3):
    payload = Payload(2.0, (0.1, 0.0, 0.05), (0.01, 0.001, 0.0, 0.012, 0.0, 0.009), frame='fore')
    loaded = with_payload(arm3, 2.0, (0.1, 0.0, 0.05), payload.tensor, frame='fore')
    np.testing.assert_allclose(payload.load_on(arm3),
                               loaded.inertial_parameters - arm3.inertial_parameters)
    assert not np.any(payload.load_on(arm3)[[0, 2]])


def test_arrays_are_as_good_as_tuples(arm3):
    values = (0.1, 0.0, 0.05), (0.01, 0.001, 0.0, 0.012, 0.0, 0.009)
    np.testing.assert_array_equal(Payload(2.0, *map(np.array, values)).load_on(arm3),
                                  Payload(2.0, *values).load_on(arm3))


def test_without_inertia_it_is_a_point_and_without_mass_nothing(arm3):
    point = Payload(1.0, (0.1, 0.2, 0.3)).load_on(arm3)[2]
    np.testing.assert_allclose(point, [1.0, 0.1, 0.2, 0.3, 0.13, -0.02, -0.03, 0.1, -0.06, 0.05],
                               atol=1e-15)
    assert not np.any(Payload().load_on(arm3))


@pytest.mark.parametrize(('values', 'wanted'), [
    ({'mass': -1.0}, 'payload.mass'), ({'mass': np.nan}, 'payload.mass'),
    ({'mass': np.inf}, 'payload.mass'), ({'mass': 1e13}, 'payload'),
    ({'mass': 1.0, 'com': (0.0, 0.0)}, 'payload.com'), ({'mass': 1.0, 'com': None}, 'payload.com'),
    ({'mass': 1.0, 'com': 0.1}, 'payload.com'),
    ({'mass': 1.0, 'inertia': 0.01}, 'payload.inertia'),
    ({'mass': 1.0, 'com': (0.0, np.nan, 0.0)}, 'payload com'),
    ({'mass': 1.0, 'inertia': (1.0,)}, 'payload.inertia'),
    ({'mass': 1.0, 'inertia': (1.0, 0.0, 0.0, np.inf, 0.0, 1.0)}, 'payload inertia'),
    # Not positive, and against the triangle inequality.
    ({'mass': 1.0, 'inertia': (-1.0, 0.0, 0.0, 1.0, 0.0, 1.0)}, 'payload'),
    ({'mass': 1.0, 'inertia': (0.1, 0.0, 0.0, 0.1, 0.0, 0.3)}, 'triangle'),
    ({'inertia': (0.1, 0.0, 0.0, 0.1, 0.0, 0.1)}, 'needs a mass'),
])
def test_what_cannot_be_is_refused(values, wanted):
    with pytest.raises(ParameterError, match=wanted) as refusal:
        Payload(**values)
    assert refusal.value.remedy


def test_a_frame_that_is_not_there_is_refused(arm3):
    with pytest.raises(ModelError, match=r'hnad.*hand'):
        Payload(1.0, frame='hnad').load_on(arm3)
