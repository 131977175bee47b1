# SPDX-License-Identifier: Apache-2.0
"""What an arm does when a part of its system ends, and what brings it back.

    python -m benchmark.driver_restarts --plugin CLASS [--rate 500] [--priority 50] [--write]

The system is that of `benchmark/driver_stops.py` with brakes, behind the real controller manager.
Each part is stopped while the arm follows a reference, and started again `AWAY` seconds later.
`--write` puts the table into docs/hardware.md.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from controller_manager_msgs.srv import SwitchController
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

from benchmark.driver_stops import (
    CONTROLLER,
    TRIES,
    Bench,
    deactivate,
    descendants,
    kill,
    send,
    to_launch,
)
from benchmark.sections import DOCS, write_section

SECTION = 'restarts'
#: Motion before a part is stopped, time until it is started again, and the longest wait for an arm
#: that follows again. s.
MOVING, AWAY, LONGEST_RETURN = 3.0, 3.0, 30.0

Step = Callable[[Bench], object]


def deactivate_controller(name: str) -> Step:
    """Function that deactivates a controller of the controller manager."""
    return lambda bench: bench.call(
        SwitchController, 'controller_manager/switch_controller', SwitchController.Request(
            deactivate_controllers=[name], strictness=SwitchController.Request.STRICT))


def kill_manager(bench: Bench) -> None:
    """Kill the controller manager."""
    for pid in [*descendants(bench.manager.pid), bench.manager.pid]:
        send(pid, signal.SIGKILL)


def start_manager(bench: Bench) -> None:
    """Start the controller manager and its controllers as at first."""
    bench.manager = bench.start_driver()


def start_launch(bench: Bench) -> None:
    """Start the launch, and wait until it holds the arm."""
    bench.mode = ''
    bench.launch = bench.start_launch()
    if not bench.wait(60.0, lambda: bench.mode == 'holding'):
        raise RuntimeError(f'it does not hold: {bench.mode}')
    bench.wait(0.5)


def activate(bench: Bench) -> None:
    """Activate our controller."""
    bench.call(ChangeState, f'{CONTROLLER}/change_state', ChangeState.Request(
        transition=Transition(id=Transition.TRANSITION_ACTIVATE)))
    bench.wait(0.5)


def wait_for_one_publisher(bench: Bench) -> None:
    """Wait until DDS has forgotten the joint states of a killed process."""
    bench.wait(60.0, lambda: bench.node.count_publishers('joint_states') == 1)


def activate_controller(name: str = 'effort_controller') -> Step:
    """Function that activates a controller of the controller manager."""
    return lambda bench: bench.activate(name)


#: Steps after which the arm follows again, with the words for them.
NOTHING: tuple[str, tuple[Step, ...]] = 'nothing', ()
EFFORTS = ('activate effort_controller', (activate_controller(),))
AGAIN = ('deactivate and activate our controller, activate effort_controller',
         (deactivate, activate, activate_controller()))
LATER = ('wait until the killed publisher of joint_states is forgotten, then as before',
         (wait_for_one_publisher, *AGAIN[1]))
LAUNCH = ('start the launch, activate effort_controller', (start_launch, activate_controller()))
#: What is done, what undoes it, and what may be needed after that, in this order.
CASES: dict[str, tuple[Step, Step, tuple[tuple[str, tuple[Step, ...]], ...]]] = {
    'effort_controller deactivated and activated': (
        deactivate_controller('effort_controller'), activate_controller(), (NOTHING, AGAIN)),
    'joint_state_broadcaster deactivated and activated': (
        deactivate_controller('joint_state_broadcaster'),
        activate_controller('joint_state_broadcaster'), (NOTHING, EFFORTS, AGAIN)),
    'controller_manager killed and started': (kill_manager, start_manager, (LATER,)),
    'controller killed': (kill(CONTROLLER), lambda bench: None, (LAUNCH,)),
    'guard killed': (kill('command_guard'), lambda bench: None, (LAUNCH,)),
    'launch killed': (to_launch(signal.SIGKILL), lambda bench: None, (LAUNCH,)),
    'launch ended by Ctrl-C': (to_launch(signal.SIGINT), lambda bench: None, (LAUNCH,)),
}


def measure(title: str, options: argparse.Namespace) -> str:
    """Row of the table; a system that does not come up on a busy machine is started again."""
    for attempt in range(TRIES):
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(options, Path(folder), brakes=True)
            try:
                return run(title, bench)
            except RuntimeError as error:
                print(f'{title}: {error}', flush=True)
                if attempt + 1 == TRIES:
                    raise
            finally:
                bench.close()
    raise AssertionError


def run(title: str, bench: Bench) -> str:
    """Row of the table."""
    stop, undo, remedies = CASES[title]
    bench.begin()
    if not bench.wait(20.0, lambda: bench.mode == 'tracking') \
            or bench.wait(MOVING, lambda: bench.mode != 'tracking'):
        raise RuntimeError(f'it does not follow: {bench.mode}')
    begin = time.time()
    stop(bench)
    bench.wait(AWAY)
    mode = bench.mode
    undo(bench)
    bench.wait(0.5)
    after = [each.position for each in bench.states() if each.time >= begin]
    moved = f'{max(float(np.abs(each - after[0]).max()) for each in after):.3f}'
    if stop is kill_manager:  # The simulated arm has begun anew, too.
        moved = '-'
    for words, steps in remedies:
        since = time.time()
        for step in steps:
            step(bench)
        if bench.wait(LONGEST_RETURN if words == remedies[-1][0] else 5.0,
                      lambda: bench.mode == 'tracking'):
            break
    else:
        raise RuntimeError(f'it does not come back: {bench.mode}')
    back = time.time() - since
    # It must keep on following.
    if bench.wait(MOVING, lambda: bench.mode != 'tracking'):
        raise RuntimeError(f'it does not go on: {bench.mode}')
    return f'| {title} | {moved} | {mode} | {words} | {back:.1f} |'


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument('--plugin', required=True, help='class of the simulated hardware')
    parser.add_argument('--only', nargs='+', choices=CASES, default=list(CASES))
    parser.add_argument('--rate', type=float, default=500.0)
    parser.add_argument('--priority', type=int, default=0)
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args()
    if options.priority:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(max(options.priority - 1, 1)))
    lines = ['| what was done | motion of the arm, rad | last mode of our controller | what '
             'brings it back | tracking after, s |', '|---|---:|---|---|---:|']
    for title in options.only:
        lines.append(measure(title, options))
        print(lines[-1], flush=True)
    if options.write:
        command = f'python -m benchmark.driver_restarts --plugin CLASS --rate {options.rate:g}' \
            + (f' --priority {options.priority}' if options.priority else '') + ' --write'
        write_section(DOCS / 'hardware.md', SECTION, '\n'.join(lines) + (
            '\n\nBehind the real controller manager, with the brakes above, one run each; the '
            f'part was away for {AWAY:g} s. Made by `{command}`.'))


if __name__ == '__main__':
    main()
