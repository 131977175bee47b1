# SPDX-License-Identifier: Apache-2.0
import importlib.util
import sys
import time

import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model import urdf_document as xacro_files
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.urdf_document import MAX_BYTES, parse_source, read_source

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="prefix" default="left_"/>
  <xacro:property name="m" value="1.5"/>
  <xacro:include filename="parts.xacro"/>
  <link name="base"/>
  <xacro:segment name="$(arg prefix)upper" parent="base"/>
</robot>"""
PARTS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="segment" params="name parent">
    <link name="${name}"><inertial><origin xyz="0 0 0.1"/><mass value="${2*m}"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
    <joint name="${name}_joint" type="revolute"><parent link="${parent}"/><child link="${name}"/>
      <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
  </xacro:macro>
</robot>"""


@pytest.fixture
def arm(tmp_path):
    pytest.importorskip('xacro')
    (tmp_path / 'parts.xacro').write_text(PARTS, encoding='utf-8')
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(ARM, encoding='utf-8')
    return path


def test_file_is_expanded(arm, capfd):
    robot = Robot.from_urdf(arm)
    assert robot.joint_names == ('left_upper_joint',)
    assert robot.parameters[0] == 3.0
    assert capfd.readouterr() == ('', '')


def test_text_is_never_expanded(arm):
    for source in (ARM, ARM.encode('utf-8')):
        with pytest.raises(ModelError, match='xacro') as caught:
            Robot.from_urdf(source)
        assert 'path of the file' in caught.value.remedy


def test_arguments_of_xacro(arm):
    assert Robot.from_urdf(arm, xacro_args={'prefix': 'r_'}).joint_names == ('r_upper_joint',)


def test_an_argument_without_a_value_is_named_with_what_gives_it(cases):
    pytest.importorskip('xacro')
    path = cases / 'xacro_required_arg' / 'arm.urdf.xacro'
    with pytest.raises(ModelError, match='needs a value for its argument name, which has no def'
                       ) as caught:
        Robot.from_urdf(path)
    assert caught.value.subject == str(path)
    assert "--xacro-args 'name:=VALUE'" in caught.value.remedy
    assert '`xacro FILE name:=VALUE`' in caught.value.remedy
    robot = Robot.from_urdf(path, xacro_args={'name': 'ur', 'reach': '0.5'})
    assert robot.name == 'ur' and robot.inertial_parameters[0, 1] == 0.5


def test_arguments_for_a_urdf_are_refused(tmp_path):
    path = tmp_path / 'plain.urdf'
    path.write_text('<robot name="plain"><link name="a"/></robot>', encoding='utf-8')
    with pytest.raises(ModelError, match='takes no arguments of xacro'):
        Robot.from_urdf(path, xacro_args={'name': 'ur'})


@pytest.mark.parametrize('prefix', ['/nowhere', ''])
def test_a_package_that_is_not_found_needs_a_workspace(arm, monkeypatch, prefix):
    monkeypatch.setenv('AMENT_PREFIX_PATH', prefix)
    arm.write_text(ARM.replace('filename="parts', 'filename="$(find ur_description)/parts'),
                   encoding='utf-8')
    with pytest.raises(ModelError, match=r'which is not found, for \$\(find') as caught:
        Robot.from_urdf(arm)
    assert 'source the workspace' in caught.value.remedy
    if prefix and importlib.util.find_spec('ament_index_python'):
        assert 'the package ur_description' in caught.value.message


LEFT = ARM[:ARM.index('  <xacro:arg')] + """<link name="base"/>
  <link name="tip"><inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0"
    izz="0.1"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
  <xacro:gripper/>
</robot>"""


def test_an_element_that_readers_of_urdf_ignore_is_a_finding(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(LEFT, encoding='utf-8')
    for source in (LEFT, LEFT.encode(), path):
        (finding,) = Robot.from_urdf(source).findings
        assert '<xacro:gripper>' in finding.message and 'is ignored' in finding.message
    # A file for xacro has to be expanded.
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(LEFT, encoding='utf-8')
    with pytest.raises(ModelError, match='gripper'):
        Robot.from_urdf(path)


def test_reason_of_xacro_is_passed_on(arm, capfd):
    (arm.parent / 'parts.xacro').unlink()
    with pytest.raises(ModelError, match=r'parts\.xacro') as caught:
        Robot.from_urdf(arm)
    assert caught.value.subject == str(arm)
    assert capfd.readouterr() == ('', '')


def test_escaped_expression_is_left(arm):
    arm.write_text(ARM.replace('name="base"', 'name="$${base}"'), encoding='utf-8')
    with pytest.raises(ModelError, match=r'still has <link name="\$\{base\}"> .* after xacro'):
        Robot.from_urdf(arm)


def test_endless_macro_is_an_error(arm):
    arm.write_text('<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
                   '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/></robot>',
                   encoding='utf-8')
    with pytest.raises(ModelError, match='cannot be expanded by xacro'):
        parse_source(read_source(arm))


def test_plain_urdf_with_the_suffix_needs_no_xacro(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    path = tmp_path / 'plain.urdf.xacro'
    path.write_text('<robot name="plain"><link name="a"/></robot>', encoding='utf-8')
    assert parse_source(read_source(path)).root.attributes['name'] == 'plain'


def macro(body):
    return ('<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
            f'<xacro:macro name="m" params="n">{body}</xacro:macro><xacro:m n="1"/></robot>')


ENDLESS = {
    'macro that calls itself twice': macro(
        '<xacro:if value="${n &lt; 100}"><xacro:m n="${n+1}"/><xacro:m n="${n+1}"/></xacro:if>'),
    'endless expression': macro('<link name="${10 ** 10 ** 10}"/>'),
}


@pytest.mark.parametrize('name', ENDLESS)
def test_expansion_without_end(arm, monkeypatch, capfd, name):
    arm.write_text(ENDLESS[name], encoding='utf-8')
    monkeypatch.setattr(xacro_files, 'LONGEST_EXPANSION', 1.5)
    start = time.monotonic()
    with pytest.raises(ModelError, match=r'is not expanded by xacro within 1\.5 s') as caught:
        Robot.from_urdf(arm)
    # It ends, and not by itself.
    assert time.monotonic() - start < 20.0
    assert caught.value.subject == str(arm)
    assert 'calls itself' in caught.value.remedy
    assert capfd.readouterr() == ('', '')


def test_expansion_that_fills_the_memory(arm):
    pytest.importorskip('resource')
    # More than xacro may have, less than the machine has.
    arm.write_text(macro("<link name=\"${'a' * (3 * 10 ** 9)}\"/>"), encoding='utf-8')
    with pytest.raises(ModelError, match='when evaluating expression'):
        Robot.from_urdf(arm)


def test_expansion_to_a_huge_text(arm):
    arm.write_text(macro(f"<link name=\"${{'a' * {MAX_BYTES}}}\"/>"), encoding='utf-8')
    with pytest.raises(ModelError, match='expands to more than 5 MiB'):
        Robot.from_urdf(arm)


def test_what_the_file_prints_is_not_the_description(arm):
    arm.write_text(ARM.replace('<link name="base"/>',
                               '<link name="base"/><xacro:property name="p" '
                               'value="${xacro.message(\'hello\')}"/>${p}'), encoding='utf-8')
    assert Robot.from_urdf(arm).joint_names == ('left_upper_joint',)


def test_names_come_back_in_every_alphabet(arm):
    arm.write_text(ARM.replace('left_', '左_é_'), encoding='utf-8')
    assert Robot.from_urdf(arm).joint_names == ('左_é_upper_joint',)


def test_modules_are_found_where_this_process_finds_them(arm, tmp_path, monkeypatch):
    # Files beside the caller that have the names of modules that xacro needs.
    for name in ('yaml', 'os', 'glob'):
        (tmp_path / f'{name}.py').write_text('raise RuntimeError("not this")', encoding='utf-8')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'path', [entry for entry in sys.path if entry])
    assert Robot.from_urdf(arm).n == 1


def test_without_an_interpreter(arm, monkeypatch):
    monkeypatch.setattr(sys, 'executable', str(arm.parent / 'no_python'))
    with pytest.raises(ModelError, match='xacro does not start') as caught:
        Robot.from_urdf(arm)
    assert 'output of `xacro FILE`' in caught.value.remedy
