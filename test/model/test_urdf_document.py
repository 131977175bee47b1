# SPDX-License-Identifier: Apache-2.0
import tracemalloc

import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model.urdf_document import MAX_ELEMENTS, parse_document


def parse(text):
    return parse_document(text, 'arm.urdf')


def test_only_what_dynamics_uses_is_kept():
    root = parse("""<robot name="r">
      <link name="a"><visual><origin xyz="1 2 3"/></visual><inertial><mass value="1"/></inertial>
      </link>
      <gazebo><link name="ghost"/><joint name="ghost"/></gazebo>
      <ros2_control><joint name="ghost"/></ros2_control>
      <joint name="j"><drake:axis/><axis xyz="0 0 1"/><calibration/></joint>
    </robot>""").root
    assert [(child.tag, child.attributes['name']) for child in root.children] \
        == [('link', 'a'), ('joint', 'j')]
    assert [child.tag for child in root.children[0].children] == ['inertial']
    assert [child.tag for child in root.children[1].children] == ['axis']
    assert root.children[1].line == 6


def test_undeclared_prefix_is_read():
    assert parse('<robot name="r" a:b="c"><drake:thing drake:x="1"/></robot>').leftover == ''


def test_space_before_the_declaration_is_forgiven():
    assert parse('\n  <?xml version="1.0"?><robot name="r"/>').root.tag == 'robot'


@pytest.mark.parametrize('text', [
    '<!DOCTYPE robot><robot/>',
    '<!DOCTYPE r [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><robot name="&b;"/>',
    '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
    '<!DOCTYPE r SYSTEM "http://example.com/r.dtd"><robot/>',
])
def test_document_types_and_entities_are_refused(text):
    with pytest.raises(ModelError, match='DOCTYPE') as caught:
        parse(text)
    assert 'remove it' in caught.value.remedy


@pytest.mark.parametrize('text, place', [
    ('<robot>\n<link></robot>', 'mismatched tag at line 2, column 9'),
    ('<robot', 'unclosed token at line 1'),
    ('<robot a="1" a="2"/>', 'duplicate attribute at line 1'),
    ('<robot name="&nbsp;"/>', 'undefined entity at line 1'),
    ('<robot/><robot/>', 'junk after document element'),
    ('<robot name="a\x00"/>', 'not well-formed'),
    ('<!-- nothing -->', 'no element found'),
])
def test_malformed_xml_names_the_place(text, place):
    with pytest.raises(ModelError) as caught:
        parse(text)
    assert place in caught.value.message
    assert caught.value.subject == 'arm.urdf'


def test_lone_surrogate_is_refused():
    with pytest.raises(ModelError, match='invalid character at position 13'):
        parse('<robot name="\udce9"/>')


@pytest.mark.parametrize('tag', ['sdf', 'mujoco', 'html'])
def test_other_formats_are_named(tag):
    with pytest.raises(ModelError, match=f'<{tag}> document'):
        parse(f'<{tag}/>')


@pytest.mark.parametrize('body, leftover', [
    ('<xacro:property name="m" value="1"/><xacro:macro name="arm"><link name="${n}"/>'
     '<xacro:inner/></xacro:macro><xacro:arm/>', '<xacro:arm>'),
    ('<xacro:property name="m" value="1"/>', '<xacro:property>'),
    ('<link name="${prefix}base"/>', '<link name="${prefix}base">'),
    ('<link name="a"><inertial><mass value="${m}"/></inertial></link>',
     '<mass value="${m}"> of link \'a\''),
    ('<joint name="j"><origin xyz="0 0 $(arg z)"/></joint>', "of joint 'j'"),
    ('<link name="a"><xacro:inertia/></link>', '<xacro:inertia>'),
    ('<gazebo><xacro:if value="1"/></gazebo>', '<xacro:if>'),
])
def test_first_leftover_of_xacro(body, leftover):
    assert leftover in parse(f'<robot name="r">{body}</robot>').leftover


def test_leftover_under_another_prefix():
    document = parse('<robot xmlns:x="http://www.ros.org/wiki/xacro"><x:arm/></robot>')
    assert '<x:arm>' in document.leftover


def test_expressions_where_dynamics_does_not_look_are_no_leftover():
    text = ('<robot name="r"><!-- ${comment} --><gazebo><parameters>$(find pkg)</parameters>'
            '<plugin filename="${x}"/></gazebo><link name="a"><visual name="${y}"/></link>'
            '<joint name="j"><safety_controller k_position="${z}"/></joint>'
            '</robot>')
    assert parse(text).leftover == ''


def test_deep_documents_need_no_recursion():
    depth = 200_000
    assert parse('<robot>' + '<a>' * depth + '</a>' * depth + '</robot>').root.children == []
    nested = '<link>' * depth + '</link>' * depth
    assert len(parse(f'<robot>{nested}</robot>').root.children) == 1


@pytest.mark.slow
def test_many_elements_are_refused_within_bounded_memory():
    text = '<robot>' + '<link/>' * 1_300_000 + '</robot>'
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=f'more than {MAX_ELEMENTS}'):
            parse(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200 * 2**20
