# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.control.feedback.loaded_model import Payload
from robot_dynamics.errors import ModelError, ParameterError
from robot_dynamics.model.modify import with_payload


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
