# SPDX-License-Identifier: Apache-2.0
"""Packages of controllers."""

import pytest

from robot_dynamics import Robot
from robot_dynamics.control import (
    ControlSession,
    GuidingController,
    PDGravityController,
    SessionSettings,
)
from robot_dynamics.errors import ParameterError
from robot_dynamics.real_time.generate import core_files, write_package
from test.real_time.compiling import STRICT, compile_c, write_core

ROBOT = Robot.from_urdf('arm7')


def make_session(law=PDGravityController):
    return ControlSession(ROBOT, law(ROBOT, period=0.002), SessionSettings(period=0.002))


def test_the_core_compiles_without_a_warning(tmp_path):
    write_core(tmp_path, core_files(make_session()))
    compile_c(tmp_path / 'core.so', *sorted(tmp_path.glob('*.c')),
              options=(*STRICT, '-O2', '-shared', '-fPIC'))


def test_a_law_that_is_not_written_as_c_is_refused():
    with pytest.raises(ParameterError, match='cannot be written as C, GuidingController'):
        core_files(make_session(GuidingController))


def test_headers_and_sources_have_their_folders(tmp_path):
    write_package(tmp_path, 'my_arm', make_session())
    assert (tmp_path / 'include/my_arm/controller.h').is_file()
    assert '#define RD_N 7' in (tmp_path / 'include/my_arm/robot.h').read_text()
    assert (tmp_path / 'src/session.c').is_file()
