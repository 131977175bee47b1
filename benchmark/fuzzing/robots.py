# SPDX-License-Identifier: Apache-2.0
"""Descriptions of robots: URDF as it comes from topics and files, xacro, DH tables."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzing import mutate_bytes, mutate_data, mutate_xml, odd, seeds
from fuzzing.judge import ACCEPTED
from fuzzing.kind import Mutated
from fuzzing.usable import check_robot
from robot_dynamics.model import urdf_document as xacro_files
from robot_dynamics.model.robot import Robot

#: xacro gets this long here. s.
_LONGEST_EXPANSION = 1.0

_XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="mass" value="1.5"/>
<xacro:macro name="arm" params="prefix n:=2">
  <link name="${prefix}l"><inertial><mass value="${mass}"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="${prefix}j" type="revolute"><parent link="base"/><child link="${prefix}l"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="${10 * n}"/></joint>
</xacro:macro>
<link name="base"/>
<xacro:arm prefix="a_"/>
</robot>
"""
_EXPRESSIONS = (
    '${mass}', '${9**9**9}', "${'a' * 10**10}", '${[0] * 10**12}', '${1/0}', '${open}',
    '${exit()}', "${__import__('os').system('true')}", '${().__class__.__bases__}',
    '$(find nowhere)', '$(arg x)', '$(env HOME)', '$(eval 1+1)', "${load_yaml('/etc/passwd')}",
    '${xacro}', '${', '$(', '${}', '$${x}', "${''.join(str(i) for i in range(10**9))}",
    "${'%s' % ('x' * 3000)}", '${1 if', '\x0b')
_SNIPPETS = (
    '<xacro:arm prefix="b_"/>', '<xacro:nothing/>', '<xacro:include filename="/dev/zero"/>',
    '<xacro:include filename="input.xacro"/>', '<xacro:include filename="/etc/passwd"/>',
    '<xacro:macro name="m" params=""><xacro:m/><xacro:m/></xacro:macro><xacro:m/>',
    '<xacro:if value="maybe"/>', '<xacro:insert_block name="x"/>', '<xacro:property name="mass"/>',
    '<xacro:property name="p" value="${p}"/><link name="${p}"/>', '<xacro:call macro="arm"/>',
    '<xacro:element xacro:name="${9**9}"/>', '<xacro:macro name="m" params="**x *y z:=^">')


class Urdfs(Mutated):
    """URDF as bytes, mutated in structure and bytes."""

    name = 'urdf'
    text = 'URDF'
    share = 5000

    def mutant(self, random: Random) -> tuple[bytes, int]:
        """Return a description and a seed."""
        content = random.choice(seeds.descriptions())
        mutator = mutate_xml.mutate if random.random() < 0.8 else mutate_bytes.mutate
        return mutator(content, random), random.getrandbits(32)

    def run(self, item: tuple[bytes, int]) -> str:
        """Read it; use what is accepted."""
        content, seed = item
        check_robot(Robot.from_urdf(content), seed)
        return ACCEPTED

    def shown(self, item: tuple[bytes, int]) -> bytes:
        """Return the description."""
        return item[0]


class XacroFiles(Mutated):
    """xacro files, which a process of its own expands."""

    name = 'xacro'
    text = 'xacro files'
    share = 50

    def mutant(self, random: Random) -> bytes:
        """Return the content of a file."""
        text = _XACRO
        for _ in range(random.randint(1, 2)):
            kind = random.random()
            if kind < 0.4:
                text = text.replace('${mass}', random.choice(_EXPRESSIONS), 1)
            elif kind < 0.8:
                text = text.replace('</robot>', f'{random.choice(_SNIPPETS)}</robot>')
            else:
                text = text.replace('"1.5"', f'"{odd.number(random)}"')
        content = text.encode()
        return mutate_bytes.mutate(content, random, 1) if random.random() < 0.3 else content

    def run(self, item: bytes) -> str:
        """Expand and read it."""
        path = self.scratch / 'input.xacro'
        path.write_bytes(item)
        xacro_files.LONGEST_EXPANSION = _LONGEST_EXPANSION
        check_robot(Robot.from_urdf(path), 0)
        return ACCEPTED


class DhTables(Mutated):
    """DH tables as mappings, mutated, and as the YAML or JSON they are written as."""

    name = 'dh'
    text = 'DH tables'
    share = 5000

    def mutant(self, random: Random) -> tuple[Any, int]:
        """Return a table, as a mapping or as bytes, and a seed."""
        raw = random.choice(seeds.dh_tables())
        if random.random() < 0.15:
            return mutate_bytes.mutate(raw, random), 0
        table = mutate_data.mutate(seeds.parsed(raw), random)
        if random.random() < 0.1 and isinstance(table, dict):
            return table, random.getrandbits(32)
        return mutate_data.text(table, random), random.getrandbits(32)

    def run(self, item: tuple[Any, int]) -> str:
        """Read it; use what is accepted."""
        source, seed = item
        check_robot(Robot.from_dh(source), seed)
        return ACCEPTED

    def shown(self, item: tuple[Any, int]) -> bytes:
        """Return the table."""
        return super().shown(item[0])
