# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.closed_form.description import describe, rotations_note
from robot_dynamics.closed_form.quantities import derive
from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot import Robot

TABLE = {'convention': 'modified', 'links': [
    {'a': 0.1, 'alpha': 0.4, 'd': 0.2}, {'a': -0.3, 'alpha': -1.1, 'd': 0, 'type': 'prismatic'},
    {'a': 0.25, 'alpha': 0.7, 'd': 0.4}]}


def by_name(description):
    return dict(description.values)


def test_names_in_a_table_become_symbols(elbow):
    assert by_name(elbow) == {'a1': None, 'a2': None, 'g': None}


def test_numbers_of_a_table_become_symbols_on_demand():
    assert describe(TABLE).values == {}
    assert by_name(describe(TABLE, symbolic=True)) == {
        'a1': 0.1, 'd1': 0.2, 'a2': -0.3, 'a3': 0.25, 'd3': 0.4, 'g': 9.81}


@pytest.mark.parametrize('what', ['slotine-li', 'g'])
def test_symbols_at_their_values_are_the_numbers(evaluated, at_random, what):
    values, expected = at_random(Robot.from_dh(TABLE))
    recording = derive(TABLE, what, symbolic=True)
    values['constants'] = list(recording.constants.values())
    assert np.allclose(evaluated(recording, values), expected[what], rtol=0, atol=1e-13)


def test_columns_and_texts_are_tables_too():
    text = 'convention: standard\ngravity: [0, 0, -g]\na: [l, -l]\nalpha: [0, 0]\nd: [0, h]\n'
    description = describe(text)
    assert by_name(description) == {'l': None, 'h': None, 'g': None}
    assert description.units['l'].bodies[0].offset == (1, 0, 0)
    assert description.units['l'].bodies[1].offset == (-1, 0, 0)
    assert description.units['h'].bodies[1].point == (0, 0, 1)
    assert description.units['g'].gravity == (0, 0, -1)
    assert description.base.gravity == (0, 0, 0)


def test_a_robot_gets_symbols_for_its_places(arm7, evaluated, at_random):
    values, expected = at_random(arm7)
    recording = derive(arm7, 'regressor', symbolic=True)
    assert {name[0] for name in recording.constants} <= {'p', 'o', 'g'}
    values['constants'] = list(recording.constants.values())
    assert np.allclose(evaluated(recording, values), expected['regressor'], rtol=0, atol=1e-13)


def test_gravity_off_the_axes_gets_a_symbol_for_each_component():
    description = describe({**TABLE, 'gravity': [1.0, 0, -9.0]}, symbolic=True)
    assert {name: value for name, value in by_name(description).items() if name[0] == 'g'} == {
        'gx': 1.0, 'gz': 9.0}


def test_a_symbol_with_the_name_of_another_number_is_refused():
    links = [{'a': 'a2', 'alpha': 0, 'd': 0}, {'a': 0.3, 'alpha': 0, 'd': 0}]
    with pytest.raises(ModelError, match='a2 is both a symbol'):
        describe({'convention': 'standard', 'links': links}, symbolic=True)


def test_what_is_no_length_stays_what_the_reader_of_tables_says():
    with pytest.raises(ModelError, match='alpha'):
        describe({'convention': 'standard', 'links': [{'a': 'a1', 'alpha': 'x', 'd': 0}]})
    with pytest.raises(ModelError, match='2\\*a1'):
        describe({'convention': 'standard', 'links': [{'a': '2*a1', 'alpha': 0, 'd': 0}]})
    with pytest.raises(ModelError, match='link1/a'):
        describe({'convention': 'standard', 'links': [{'a': 10**400, 'alpha': 0, 'd': 0}]},
                 symbolic=True)


TURNED = """<robot name="r"><link name="base"/>
<link name="a"><inertial><mass value="2"/><origin xyz="0.1 0 0.2"/>
<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/>
<origin rpy="0 {pitch} 0"/><axis xyz="0 1 0"/></joint></robot>"""


def test_rotations_of_ten_digits_are_rounded_and_that_is_said():
    from math import pi
    for pitch, count in ((1.57079632679, 1), (0.5235987756, 1), (1.57, 0), (pi / 2, 0)):
        robot = Robot.from_urdf(TURNED.format(pitch=pitch))
        description = describe(robot)
        assert len(rotations_note(description)) == count, pitch
        rotation = np.array(description.base.bodies[0].rotation, dtype=float)
        nearest = round(pitch / (pi / 12)) * pi / 12 if pitch != 1.57 else pitch
        assert np.allclose(rotation[0], [np.cos(nearest), 0, np.sin(nearest)], rtol=0, atol=1e-15)
    (line,) = rotations_note(describe(Robot.from_urdf(TURNED.format(pitch=1.57079632679))))
    assert line == ('rotations within 1e-09 rad of multiples of 15 degrees are rounded to them, '
                    'by up to 5e-12 rad')
