# SPDX-License-Identifier: Apache-2.0
"""The demo as actions of ROS 2's ``launch``: it ends by itself and writes its report."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from robot_dynamics.bringup.arguments import parse_number
from robot_dynamics.bringup.demo import Plan, Watch, make_plan, report
from robot_dynamics.bringup.launching.actions import node_action
from robot_dynamics.bringup.runner import Line
from robot_dynamics.bringup.system import System
from robot_dynamics.errors import BringupError

#: Default and text of the launch arguments of the demo, beside those of a system.
DEMO_ARGUMENTS = {
    'seconds': (f'{make_plan().seconds:g}', 'Time for which the arm follows its reference.'),
    'output': (str(make_plan().output), 'Folder for the recording and the report.'),
}


def demo_actions(system: System, seconds: str, output: str) -> list[Any]:
    """Actions of the demo for a system and the values of `DEMO_ARGUMENTS`."""
    from launch.actions import RegisterEventHandler
    from launch.event_handlers import OnProcessExit, OnProcessIO
    plan = make_plan(robot=system.robot, controller=system.controller, plant=system.plant,
                     rate=system.rate, seed=system.seed, seconds=parse_number('seconds', seconds),
                     output=Path(output))
    recorder_process, *others = plan.processes()
    # It is stopped first here, so that its recording is complete when it is read.
    recorder = node_action(replace(recorder_process, essential=False, output='log'))
    ending = _Ending(plan, recorder, recorder_process)
    return [
        RegisterEventHandler(OnProcessIO(target_action=recorder, on_stdout=ending.on_output)),
        RegisterEventHandler(OnProcessExit(target_action=recorder, on_exit=ending.on_exit)),
        recorder, *(node_action(process) for process in others),
    ]


class _Ending:
    """Stops the recorder at the end of the demo, then writes the report and ends all."""

    def __init__(self, plan: Plan, recorder: Any, process: Any) -> None:
        self._plan, self._recorder, self._process = plan, recorder, process
        self._watch = Watch(plan)
        self._pending = ''
        self._stopping = False

    def on_output(self, event: Any) -> list[Any] | None:
        """Handle output of the recorder: the progress."""
        from launch.actions import EmitEvent, Shutdown
        from launch.events import matches_action
        from launch.events.process import ShutdownProcess
        *lines, self._pending = (self._pending + event.text.decode()).split('\n')
        for text in lines:
            self._watch.on_line(Line(self._process, 'stdout', text))
        try:
            if self._stopping or not self._watch.is_over():
                return None
        except BringupError as error:
            return [Shutdown(reason=str(error))]
        self._stopping = True
        return [EmitEvent(event=ShutdownProcess(process_matcher=matches_action(self._recorder)))]

    def on_exit(self, event: Any, context: Any) -> list[Any]:
        """Write the report when the recorder ended because it was stopped."""
        from launch.actions import OpaqueCoroutine, Shutdown
        if not self._stopping:
            return [Shutdown(reason=f'the recorder ended with status {event.returncode}')]
        return [OpaqueCoroutine(coroutine=self._finish)]

    async def _finish(self, context: Any) -> None:
        from launch.events import Shutdown
        try:
            await asyncio.get_running_loop().run_in_executor(None, report, self._plan)
        finally:
            await context.emit_event(Shutdown(reason='the demo is over'))
