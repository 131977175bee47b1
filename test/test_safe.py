# SPDX-License-Identifier: Apache-2.0
"""Nothing here runs what it reads: no pickle, no unsafe YAML, no code from strings, no shell."""

import ast
from pathlib import Path

import pytest

from robot_dynamics.nodes.documents.parameters import TABLES

PACKAGE = Path(__file__).resolve().parents[1] / 'robot_dynamics'
MODULES = sorted(PACKAGE.rglob('*.py'))

#: Modules that make objects or code of what they read.
FORBIDDEN = {'pickle', 'cPickle', '_pickle', 'dill', 'cloudpickle', 'joblib', 'marshal', 'shelve',
             'jsonpickle', 'xml.etree.ElementTree.parse', 'xmlrpc', 'pdb', 'code', 'imp'}
#: Functions that run text.
RUNNING = {'eval', 'exec', 'compile', '__import__', 'input', 'breakpoint'}
#: Functions of PyYAML that are safe whatever they read.
SAFE_YAML = {'safe_dump', 'compose', 'parse'}
#: Modules that run text of their own making, in which no name of a robot is.
WRITTEN_HERE = {'closed_form/languages.py': {'calls exec', 'calls compile'},
                'dynamics/kernels/equation.py': {'calls exec', 'calls compile'}}


def calls(path):
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def problems(path):
    """Yield what a module does that it must not."""
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ''] + [f'{node.module}.{alias.name}' for alias in node.names]
        else:
            continue
        for name in names:
            if name in FORBIDDEN or name.split('.')[0] in FORBIDDEN:
                yield f'imports {name}'
    for node, function in calls(path):
        keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        if function in RUNNING:
            yield f'calls {function}'
        if function.startswith('yaml.') and function.split('(')[0].split('.')[1] not in SAFE_YAML:
            yield f'calls {function}'
        loader = keywords.get('Loader', '')
        if function in ('yaml.compose', 'yaml.parse') and 'Safe' not in loader \
                and loader != '_LOADER':
            yield 'reads YAML with another loader'
        if keywords.get('allow_pickle', 'False') != 'False' or keywords.get('shell') == 'True':
            yield f'calls {function}({keywords})'
        if function in ('np.load', 'numpy.load') and 'allow_pickle' not in keywords:
            yield 'loads an array that may be a pickle'
        if function in ('os.system', 'os.popen', 'tempfile.mktemp', 'subprocess.getoutput'):
            yield f'calls {function}'


@pytest.mark.parametrize('path', MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_that_is_read_is_run(path):
    allowed = WRITTEN_HERE.get(str(path.relative_to(PACKAGE)), set())
    assert set(problems(path)) <= allowed


@pytest.mark.parametrize('code', [
    'import pickle', 'from pickle import loads', 'import yaml; yaml.load(x)',
    'import yaml; yaml.unsafe_load(x)', 'import yaml; yaml.safe_load(x)', 'eval(x)', 'exec(x)',
    'np.load(x)', 'np.load(x, allow_pickle=True)', 'run(x, shell=True)', 'os.system(x)',
    'yaml.compose(x)'])
def test_what_is_looked_for_is_found(tmp_path, code):
    path = tmp_path / 'module.py'
    path.write_text(code, encoding='utf-8')
    assert list(problems(path))


def test_yaml_is_read_in_one_place():
    """And by the loader of PyYAML that makes no objects."""
    from yaml.constructor import SafeConstructor

    from robot_dynamics.model import dh_fields as dh_source
    from robot_dynamics.model import yaml_text
    users = {str(path.relative_to(PACKAGE)) for path in MODULES
             if any(f'{name}(' in path.read_text(encoding='utf-8')
                    for name in ('get_single_node', 'construct_document', 'get_data'))}
    assert users == {'model/yaml_text.py'}
    for loader in (yaml_text.SafeLoader, dh_source.TextLoader):
        assert issubclass(loader, SafeConstructor)
        assert 'Unsafe' not in ''.join(base.__name__ for base in loader.__mro__)


def test_no_service_can_choose_a_file():
    """Parameters that name files, folders or topics are fixed once a node runs."""
    named = [(node, row.name) for node, table in TABLES.items() for row in table
             if row.topic or row.name in ('output', 'robot', 'file')]
    assert {name for _, name in named} >= {'output', 'robot', 'file', 'topics', 'command_topic'}
    for node, name in named:
        row = next(row for row in TABLES[node] if row.name == name)
        assert row.read_only, (node, name)


#: Looked up among joints and frames of the robot, and used for nothing else.
NAMES_IN_THE_ROBOT = {('simulated_arm', 'fault.joint'), ('simulated_arm', 'push.frame')}


def test_every_text_that_can_be_changed_is_one_of_some():
    """So that none of them can be a path."""
    for node, table in TABLES.items():
        for row in table:
            if isinstance(row.default, str) and not row.read_only \
                    and (node, row.name) not in NAMES_IN_THE_ROBOT:
                assert row.choices, (node, row.name)
