# SPDX-License-Identifier: Apache-2.0
"""The page, the parameter files and the descriptors say what the tables say."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml
from rclpy.parameter import Parameter as RosParameter

from robot_dynamics.errors import ParameterError
from robot_dynamics.nodes.controllers import CONTROLLER_NODES
from robot_dynamics.nodes.documents import policy, views
from robot_dynamics.nodes.documents.parameters import TABLES, documents, parameter_file
from robot_dynamics.nodes.ros.node import NodeParameters
from robot_dynamics.nodes.ros.parameters import Parameter, explanation

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / 'config' / 'parameters'
ROWS = [pytest.param(row, id=f'{node}-{row.name}') for node, table in TABLES.items()
        for row in table]
Type = RosParameter.Type
NUMBERS = (Type.INTEGER, Type.DOUBLE, Type.DOUBLE_ARRAY)


def test_every_document_is_what_the_tables_say():
    assert {path.stem for path in documents()} == {'parameters', *TABLES}
    for path, text in {**documents(), **views.documents(), **policy.documents()}.items():
        assert (ROOT / path).read_text(encoding='utf-8') == text, \
            f'{path}: run python -m robot_dynamics.nodes.documents'
    assert sorted(FOLDER.iterdir()) == sorted(FOLDER / f'{node}.yaml' for node in TABLES)


def test_every_parameter_is_on_the_page():
    page = documents()[Path('docs', 'parameters.md')]
    for table in TABLES.values():
        for row in table:
            assert f'| `{row.name}` |' in page
    titles = [section.splitlines()[0] for section in page.split('\n## ')[1:]]
    assert titles[-len(TABLES):] == list(TABLES)


def test_every_table_has_a_node():
    nodes = {path.stem for path in (ROOT / 'robot_dynamics' / 'nodes').glob('*.py')
             if '\nmain = ' in path.read_text(encoding='utf-8')
             and '__main__' in path.read_text(encoding='utf-8')}
    assert set(TABLES) == nodes
    for table in TABLES.values():
        names = [row.name for row in table]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize('node', TABLES)
def test_a_file_holds_every_parameter_with_what_it_is(node):
    text = (FOLDER / f'{node}.yaml').read_text(encoding='utf-8')
    assert max(map(len, text.splitlines())) <= 99
    (section,) = yaml.safe_load(text).values()
    values = section['ros__parameters']
    assert list(values) == [row.name for row in TABLES[node]]
    paragraphs = text.split('\n\n')[1:]
    for row, paragraph in zip(TABLES[node], paragraphs, strict=True):
        comment = ' '.join(line.strip().removeprefix('# ') for line in paragraph.splitlines()
                           if line.strip().startswith('#'))
        assert comment == explanation(row)
        wanted = list(row.default) if isinstance(row.default, tuple) else row.default
        assert values[row.name] == wanted and type(values[row.name]) is type(wanted)


@pytest.mark.parametrize('node', TABLES)
def test_rcl_reads_the_defaults_from_a_file(make_node, node):
    """In any namespace, with no help of ours, and none of them changed in type."""
    made = make_node(node, '-r', '__ns:=/left/arm', '--params-file',
                     str(FOLDER / f'{node}.yaml'))
    assert set(made._parameter_overrides) == {row.name for row in TABLES[node]}
    for row in TABLES[node]:
        given = made._parameter_overrides[row.name]
        assert given.type_ == row.type or row.default == ()
    values = NodeParameters(made, TABLES[node]).values
    assert values == {row.name: row.default for row in TABLES[node]}


def test_awkward_defaults_are_written_as_rcl_reads_them(make_node, tmp_path):
    table = [Parameter('tiny', 1e-9, 'T.', '', 0.0, 1.0),
             Parameter('huge', 1e30, 'H.', '', 0.0, 1e300), Parameter('text', 'yes', 'Y.'),
             Parameter('colon', 'a: [1', 'C.'), Parameter('digits', '12', 'D.'),
             Parameter('numbers', (1e-9, 1e16, 2.0), 'N.', '', 0.0, 1e300),
             Parameter('many', tuple(f'{k}' for k in range(40)), 'M.', element=str)]
    path = tmp_path / 'node.yaml'
    path.write_text(parameter_file('node', table, 'Nothing.'), encoding='utf-8')
    bare = [Parameter(row.name, type(row.default)(), 'X.', '', row.low, row.high,
                      element=row.element) for row in table]
    made = make_node('node', '--params-file', str(path))
    assert NodeParameters(made, bare).values == {row.name: row.default for row in table}


def test_little_can_change_while_a_node_runs():
    """No topic, joint or limit: another name in here has to be safe at any value, any time.

    A payload is checked against what the arm can hold, and goes over smoothly; so are gains,
    against what was judged. Damping and help against friction have ranges in which an arm stops,
    stiffness and damping of an end effector such in which its loop is stable.
    """
    assert {row.name for name in CONTROLLER_NODES for row in TABLES[name]
            if not row.read_only} == {
        'adapt', 'adapt_after', 'payload.mass', 'payload.com', 'payload.inertia',
        'guiding.damping', 'guiding.friction_help', 'rejected_trajectory',
        'feedback.bandwidth', 'feedback.error_rate', 'feedback.stiffness', 'feedback.damping',
        'adaptation.frequency',
        'impedance.stiffness', 'impedance.rotational_stiffness', 'impedance.damping_ratio',
        'impedance.damping', 'impedance.rotational_damping'}
    assert {row.name for row in TABLES['inverse_dynamics'] if not row.read_only} \
        >= {'regressor_rate'}


@pytest.mark.parametrize('row', ROWS)
def test_a_row_refuses_what_it_must(row):
    wrong = [float('nan'), float('inf'), -float('inf')] if row.type != Type.INTEGER else []
    if row.type in NUMBERS:
        # rqt_reconfigure needs them for its sliders, and we for our peace of mind.
        assert row.low is not None and row.high is not None
        assert math.isfinite(row.low) and math.isfinite(row.high) and row.low < row.high
        step = 1 if row.type == Type.INTEGER else 1e-6 * (row.high - row.low)
        wrong += [row.low - step, row.high + step, 'text', True]
        for good in (row.low, row.high):
            row.convert([good] if isinstance(row.default, tuple) else type(row.default)(good))
    else:
        assert row.low is None and row.high is None
        wrong += [3, 2.5] + (['no such choice'] if row.choices else [])
        for good in row.choices:
            row.convert([good] if isinstance(row.default, tuple) else good)
    for value in wrong:
        with pytest.raises(ParameterError):
            row.convert([value] if isinstance(row.default, tuple) else value)
    assert row.convert(row.default) == row.default


@pytest.mark.parametrize('row', ROWS)
def test_a_descriptor_says_what_the_row_says(row):
    descriptor = row.descriptor()
    assert (descriptor.name, descriptor.type) == (row.name, row.type.value)
    assert descriptor.read_only == row.read_only and not descriptor.dynamic_typing
    assert descriptor.description.startswith(row.text)
    assert not row.unit or row.unit in descriptor.description
    assert all(choice in descriptor.description for choice in row.choices)
    spans = [(span.from_value, span.to_value)
             for span in (*descriptor.floating_point_range, *descriptor.integer_range)]
    assert spans == ([(row.low, row.high)] if row.type in NUMBERS else [])
    assert len(descriptor.integer_range) == (row.type == Type.INTEGER)
