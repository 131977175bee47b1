# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest

from robot_dynamics.errors import DimensionError, InertiaError
from robot_dynamics.model.inertia import (
    com_from_parameters,
    inertia_matrix,
    parameters_from_com,
    parameters_from_moments,
    transform_parameters,
)


def point_cloud(rng, points=7):
    return rng.uniform(0.1, 2.0, points), rng.normal(size=(points, 3))


def parameters_of_points(masses, positions):
    """Sum over points, straight from the definition of the moments."""
    p = np.zeros(10)
    for m, (x, y, z) in zip(masses, positions, strict=True):
        p += m * np.array([1, x, y, z, y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z,
                           x * x + y * y])
    return p


def rotation(rng):
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


def test_reference_point_case(cases):
    folder = cases / 'reg_inertia_reference_point'
    link = json.loads((folder / 'link.json').read_text(encoding='utf-8'))
    expected = json.loads((folder / 'expected.json').read_text(encoding='utf-8'))
    i = link['inertia_about_com']
    tensor = [[i['ixx'], i['ixy'], i['ixz']], [i['ixy'], i['iyy'], i['iyz']],
              [i['ixz'], i['iyz'], i['izz']]]
    p = parameters_from_com(link['mass'], link['com'], tensor)
    np.testing.assert_allclose(p[4:], expected['numbers']['inertia_about_origin'],
                               rtol=0, atol=expected['tolerance'])
    mass, com, back = com_from_parameters(p)
    np.testing.assert_allclose(mass, link['mass'], rtol=1e-15)
    np.testing.assert_allclose(com, link['com'], rtol=1e-15)
    np.testing.assert_allclose(back, tensor, rtol=0, atol=1e-16)


def test_parameters_of_a_point_cloud():
    rng = np.random.default_rng(1)
    masses, positions = point_cloud(rng)
    p = parameters_of_points(masses, positions)
    com = masses @ positions / masses.sum()
    inertia_com = inertia_matrix(parameters_of_points(masses, positions - com))
    np.testing.assert_allclose(parameters_from_com(masses.sum(), com, inertia_com), p,
                               rtol=1e-13, atol=1e-13)


def test_transform_moves_the_points_of_the_body():
    rng = np.random.default_rng(2)
    for _ in range(50):
        masses, positions = point_cloud(rng)
        R, t = rotation(rng), rng.normal(size=3)
        moved = transform_parameters(parameters_of_points(masses, positions), R, t)
        np.testing.assert_allclose(moved, parameters_of_points(masses, positions @ R.T + t),
                                   rtol=1e-12, atol=1e-12)


def test_identity_transform_is_bitwise_exact():
    p = np.random.default_rng(3).normal(size=(20, 10))
    assert np.array_equal(transform_parameters(p, np.eye(3), np.zeros(3)), p)


def test_batches_equal_loops():
    rng = np.random.default_rng(4)
    p = rng.normal(size=(4, 5, 10))
    R, t = rotation(rng), rng.normal(size=(5, 3))
    whole = transform_parameters(p, R, t)
    mass, com, tensor = com_from_parameters(p)
    for i in range(4):
        for j in range(5):
            np.testing.assert_allclose(whole[i, j], transform_parameters(p[i, j], R, t[j]),
                                       rtol=1e-14, atol=1e-14)
            one = com_from_parameters(p[i, j])
            np.testing.assert_allclose(mass[i, j], one[0])
            np.testing.assert_allclose(com[i, j], one[1])
            np.testing.assert_allclose(tensor[i, j], one[2])
    np.testing.assert_allclose(parameters_from_com(mass, com, tensor), p, rtol=1e-12,
                               atol=1e-12)


def test_massless_body_has_its_centre_at_the_origin():
    mass, com, tensor = com_from_parameters(np.zeros(10))
    assert mass == 0.0
    assert not com.any()
    assert not tensor.any()


def test_first_moment_without_mass_is_refused():
    p = np.zeros(10)
    p[2] = 0.1
    with pytest.raises(InertiaError, match='a mass for the first moment'):
        com_from_parameters(p)


def test_only_the_symmetric_part_of_a_tensor_counts():
    tensor = np.array([[1.0, 0.2, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    np.testing.assert_array_equal(parameters_from_moments(1.0, np.zeros(3), tensor)[4:],
                                  [1.0, 0.1, 0.0, 2.0, 0.0, 3.0])


@pytest.mark.parametrize('call', [
    lambda: inertia_matrix(np.zeros(9)),
    lambda: parameters_from_com(1.0, np.zeros(2), np.eye(3)),
    lambda: parameters_from_com(1.0, np.zeros(3), np.eye(2)),
    lambda: transform_parameters(np.zeros(10), np.eye(4), np.zeros(3)),
])
def test_wrong_shapes_are_named(call):
    with pytest.raises(DimensionError, match='must have shape'):
        call()
