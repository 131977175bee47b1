# SPDX-License-Identifier: Apache-2.0
import pytest

from robot_dynamics.bringup.arguments import ARGUMENTS, launch_text, system_from_texts
from robot_dynamics.bringup.cli import main
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import BringupError


def test_defaults_survive_being_text():
    texts = {name: launch_text(default) for name, (default, _) in ARGUMENTS.items()}
    assert system_from_texts(texts) == System()


def test_the_arguments_that_were_promised_are_there():
    assert set(ARGUMENTS) >= {
        'robot', 'controller', 'plant', 'rate', 'use_sim_time', 'namespace'}


def test_texts_become_values():
    system = system_from_texts({'rate': '250', 'use_sim_time': 'True', 'seed': '3',
                                'namespace': 'left'}, reference='none')
    assert (system.rate, system.use_sim_time, system.seed) == (250.0, True, 3)
    assert system.namespace == 'left' and system.reference == 'none'


@pytest.mark.parametrize(('name', 'text', 'words'), [
    ('rate', 'fast', "rate must be a number, got 'fast'; write e.g. rate:=500.0"),
    ('seed', '1.5', "seed must be a number, got '1.5'"),
    ('use_sim_time', 'yes', 'must be true or false')])
def test_wrong_texts_are_refused(name, text, words):
    with pytest.raises(BringupError, match=words):
        system_from_texts({name: text})


@pytest.mark.parametrize('command', [['doctor'], ['switch', 'gravity'], ['identify']])
@pytest.mark.parametrize('number', ['-1', '233', '300', 'x'])
def test_domains_that_there_are_none_of_are_refused(command, number, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*command, f'--domain={number}'])
    assert caught.value.code == 2
    assert '--domain' in capsys.readouterr().err
