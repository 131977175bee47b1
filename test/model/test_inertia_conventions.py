# SPDX-License-Identifier: Apache-2.0
"""Other programs' parameter forms: published cases, round trips, the programs themselves."""

import json

import mujoco
import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robot_dynamics.errors import DimensionError, InertiaError
from robot_dynamics.model import inertia_conventions as orders
from robot_dynamics.model.inertia import parameters_from_com

PERMUTATIONS = ('pinocchio', 'khalil', 'garofalo')
CENTRED = ('toolbox', 'mujoco', 'mujoco_full', 'urdf')


def _from(form, values):
    convert = getattr(orders, f'from_{form}')
    return convert(values) if form in PERMUTATIONS else convert(*values)


def _to(form, parameters):
    return getattr(orders, f'to_{form}')(parameters)


@pytest.fixture
def case(cases):
    """Return parameters, mass, com and tensor about the centre of mass of the published case."""
    folder = cases / 'reg_parameter_order'
    link = json.loads((folder / 'link.json').read_text(encoding='utf-8'))
    expected = json.loads((folder / 'expected.json').read_text(encoding='utf-8'))['numbers']
    i = link['inertia_about_com']
    tensor = np.array([[i['ixx'], i['ixy'], i['ixz']], [i['ixy'], i['iyy'], i['iyz']],
                       [i['ixz'], i['iyz'], i['izz']]])
    pi = parameters_from_com(link['mass'], link['com'], tensor)
    return pi, link['mass'], np.array(link['com']), tensor, expected


@pytest.fixture
def body(case):
    return case[0]


@st.composite
def bodies(draw):
    """Real bodies: the moments of a few points of positive mass."""
    points = draw(arrays(np.float64, (5, 3), elements=st.floats(-1.0, 1.0)))
    masses = draw(arrays(np.float64, 5, elements=st.floats(0.1, 3.0)))
    com = masses @ points / masses.sum()
    tensor = sum(m * ((x - com) @ (x - com) * np.eye(3) - np.outer(x - com, x - com))
                 for m, x in zip(masses, points, strict=True))
    return parameters_from_com(masses.sum(), com, tensor)


def test_published_orders(case):
    body, *_, expected = case
    vectors = {name: order['vector'] for name, order in expected['orders'].items()}
    np.testing.assert_allclose(body, vectors['siciliano'], rtol=0, atol=1e-12)
    np.testing.assert_allclose(orders.to_pinocchio(body), vectors['pinocchio'], atol=1e-12)
    np.testing.assert_allclose(orders.to_khalil(body), vectors['khalil_sympybotics_figaroh'],
                               rtol=0, atol=1e-12)
    np.testing.assert_allclose(orders.to_toolbox(body).I, expected['rtb_I6_about_com'],
                               rtol=0, atol=1e-12)


def test_published_reference_point(cases):
    folder = cases / 'reg_inertia_reference_point'
    link = json.loads((folder / 'link.json').read_text(encoding='utf-8'))
    numbers = json.loads((folder / 'expected.json').read_text(encoding='utf-8'))['numbers']
    six = [link['inertia_about_com'][f'i{k}'] for k in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')]
    pi = orders.from_urdf(link['mass'], link['com'], [0, 0, 0], six)
    np.testing.assert_allclose(pi[4:], numbers['inertia_about_origin'], rtol=0, atol=1e-12)
    back = orders.to_urdf(pi)
    np.testing.assert_allclose(back.inertia, six, rtol=0, atol=1e-15)
    np.testing.assert_allclose(back.xyz, link['com'], rtol=0, atol=1e-16)


def test_garofalo_order_of_the_reference(shared):
    reference = json.loads((shared / 'reference' / 'ref_puma560.json').read_text())['robot']
    pi = np.reshape(reference['pi_ORD000'], (6, 10))
    np.testing.assert_array_equal(orders.to_garofalo(pi).ravel(), reference['pi_ORD003'])
    np.testing.assert_array_equal(
        orders.from_garofalo(np.reshape(reference['pi_ORD003'], (6, 10))), pi)


@pytest.mark.parametrize('form', PERMUTATIONS)
@settings(deadline=None)
@given(pi=arrays(np.float64, (2, 3, 10), elements=st.floats(-1e3, 1e3)))
def test_permutations_come_back_bit_for_bit(form, pi):
    np.testing.assert_array_equal(_from(form, _to(form, pi)), pi)


@pytest.mark.parametrize('form', CENTRED)
@settings(deadline=None)
@given(pi=bodies())
def test_centred_forms_come_back_to_rounding(form, pi):
    np.testing.assert_allclose(_from(form, _to(form, pi)), pi, rtol=0, atol=1e-14 * pi[0])


@pytest.mark.parametrize('form', PERMUTATIONS + CENTRED)
def test_batch_is_a_loop(form, body):
    batch = np.stack([[body, 2.0 * body, 3.0 * body], [body, body, 0.5 * body]])
    np.testing.assert_allclose(_from(form, _to(form, batch)), batch, rtol=0, atol=1e-14)
    one = _to(form, batch[0, 1])
    whole = _to(form, batch)
    if form in PERMUTATIONS:
        one, whole = [one], [whole]
    for single, all_of_them in zip(one, whole, strict=True):
        np.testing.assert_array_equal(all_of_them[0, 1], single)


def test_pinocchio_agrees(case):
    body, mass, com, tensor, _ = case
    judge = pinocchio.Inertia(mass, com, tensor)
    np.testing.assert_allclose(orders.to_pinocchio(body), judge.toDynamicParameters(), atol=1e-15)


def test_mujoco_agrees(case):
    body, *_ = case
    full = orders.to_mujoco_full(body)
    text = ' '.join(map(repr, full.fullinertia.tolist()))
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco><worldbody><body><freejoint/>
          <inertial mass='{full.mass}' pos='{full.ipos[0]} {full.ipos[1]} {full.ipos[2]}'
                    fullinertia='{text}'/>
        </body></worldbody></mujoco>""")
    ours = orders.to_mujoco(body)
    np.testing.assert_allclose(model.body_inertia[1], ours.diaginertia, atol=1e-12)
    compiled = orders.from_mujoco(model.body_mass[1], model.body_ipos[1], model.body_iquat[1],
                                  model.body_inertia[1])
    np.testing.assert_allclose(compiled, body, atol=1e-12)


def test_urdf_axes_turn_the_tensor(case):
    body, mass, com, tensor, _ = case
    # Half a turn about x flips the signs of xy and xz.
    six = [tensor[0, 0], -tensor[0, 1], -tensor[0, 2], tensor[1, 1], tensor[1, 2], tensor[2, 2]]
    np.testing.assert_allclose(orders.from_urdf(mass, com, [np.pi, 0, 0], six), body, atol=1e-15)


@pytest.mark.parametrize('form', CENTRED)
def test_massless_inertia_survives(form):
    pi = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.35, 0.0, 0.0])
    np.testing.assert_allclose(_from(form, _to(form, pi)), pi, atol=1e-16)


@pytest.mark.parametrize('form', CENTRED)
def test_first_moment_without_mass_is_refused(form):
    with pytest.raises(InertiaError, match='a mass for the first moment'):
        _to(form, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize('form', PERMUTATIONS)
@pytest.mark.parametrize('value', [np.zeros(9), 3.0, np.zeros((10, 2))])
def test_wrong_length_is_refused(form, value):
    with pytest.raises(DimensionError, match=r'must have shape \(\.\.\., 10\)'):
        _from(form, value)


@pytest.mark.parametrize('iquat', [[0, 0, 0, 0], [np.nan, 0, 0, 0]])
def test_no_quaternion_is_refused(iquat):
    with pytest.raises(InertiaError, match='iquat must be finite and not zero'):
        orders.from_mujoco(1.0, [0, 0, 0], iquat, [1, 1, 1])


def test_short_quaternion_is_refused():
    with pytest.raises(DimensionError, match='iquat must have shape'):
        orders.from_mujoco(1.0, [0, 0, 0], [1, 0, 0], [1, 1, 1])


@pytest.mark.parametrize('value', [np.ones(10) * 1j, ['1'] * 10, None])
def test_what_is_no_real_number_is_refused(value):
    for function in (orders.to_pinocchio, orders.to_toolbox, orders.to_mujoco, orders.to_urdf):
        with pytest.raises(DimensionError, match='parameters must hold real numbers'):
            function(value)


def test_principal_axes_of_what_is_not_finite_are_refused():
    with pytest.raises(InertiaError, match='NaN or inf'):
        orders.to_mujoco([1.0, np.nan, 0, 0, 1, 0, 0, 1, 0, 1])
