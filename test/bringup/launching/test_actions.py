# SPDX-License-Identifier: Apache-2.0
import pytest

from robot_dynamics.bringup.launching.actions import check_arguments
from robot_dynamics.errors import BringupError

FILE = 'adaptive.launch.py'
NAMES = ('robot', 'controller', 'rate')


@pytest.mark.parametrize('command', [
    ['ros2', 'launch', 'robot_dynamics', FILE, 'controller:=gravity', 'rate:=250'],
    ['ros2', 'launch', f'install/share/robot_dynamics/launch/{FILE}', '--debug', 'robot:=a:=b'],
    # The arguments are those of a file that includes ours.
    ['ros2', 'launch', 'my_robot', 'all.launch.py', 'arms:=2'],
    ['python', '-m', 'pytest']])
def test_known_arguments_and_those_of_other_files_are_accepted(command):
    check_arguments(command, FILE, NAMES)


def test_an_unknown_argument_is_named_with_the_most_similar_one():
    with pytest.raises(BringupError, match=f'controler is not an argument of {FILE}; did you mean '
                                           r'controller\? use one of: robot, controller, rate'):
        check_arguments(['ros2', 'launch', 'robot_dynamics', FILE, 'controler:=pid'], FILE, NAMES)
