# SPDX-License-Identifier: Apache-2.0
"""What a killed listener does to those who send to it: ``--help``.

A process publishes at 500 Hz, as a controller does; every second one of its three listeners is
killed and another one started. How long does a call of ``publish`` take? Once as the nodes of
this package do it, once limited to this machine and no more, which is by shared memory; and the
listeners, too, have our profile or not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from sections import DOCS, write_section

from robot_dynamics.bringup.processes import child_environment
from robot_dynamics.nodes.ros.transports import PROFILES

PERIOD, KILL_EVERY = 0.002, 1.0
LISTEN = """
import rclpy
from std_msgs.msg import Float64MultiArray
rclpy.init()
node = rclpy.create_node('listener')
node.create_subscription(Float64MultiArray, 'effort_commands', lambda message: None, 1)
rclpy.spin(node)
"""


def publish(seconds: float, *, shared_memory: bool, listeners: Mapping[str, str]) -> list[float]:
    """Publish and kill; return how long each call took. s.

    Parameters
    ----------
    seconds : float
        For how long.
    shared_memory : bool
        Whether the middleware may add it.
    listeners : mapping of str to str
        Environment of the listeners.
    """
    import rclpy
    from std_msgs.msg import Float64MultiArray

    from robot_dynamics.nodes.ros.transports import without_shared_memory

    def listener() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, '-c', LISTEN], env=dict(listeners))

    with nullcontext() if shared_memory else without_shared_memory():
        rclpy.init(args=[])
    node = rclpy.create_node('sender')
    publisher = node.create_publisher(Float64MultiArray, 'effort_commands', 1)
    message = Float64MultiArray(data=[0.0] * 7)
    running = [listener() for _ in range(3)]
    took: list[float] = []
    try:
        end = time.monotonic() + seconds
        kill_at = time.monotonic() + 3.0 * KILL_EVERY
        while (begin := time.monotonic()) < end:
            publisher.publish(message)
            took.append(time.monotonic() - begin)
            if begin > kill_at:
                kill_at = begin + KILL_EVERY
                running[0].kill()
                running.pop(0).wait()
                running.append(listener())
            time.sleep(max(0.0, begin + PERIOD - time.monotonic()))
    finally:
        for process in running:
            process.kill()
            process.wait()
        rclpy.try_shutdown()
    return took


def measured(seconds: float, *, shared_memory: bool, foreign: bool) -> list[float]:
    """Return how long calls took in a process of its own; see `publish`."""
    ours = child_environment()
    plain = {name: value for name, value in ours.items() if name not in PROFILES}
    sender = plain if shared_memory else ours
    arguments = [str(seconds), str(int(shared_memory)), json.dumps(plain if foreign else ours)]
    done = subprocess.run([sys.executable, __file__, '--sender', *arguments], env=sender,
                          check=True, text=True, stdout=subprocess.PIPE)
    return [float(value) for value in json.loads(done.stdout)]


def row(title: str, took: Sequence[float]) -> str:
    """Return a line of the table."""
    ordered = sorted(took)
    late = sum(value > 0.02 for value in ordered)
    return (f'| {title} | {len(ordered)} | {1e3 * ordered[len(ordered) // 2]:.2f} | '
            f'{1e3 * ordered[int(0.999 * len(ordered))]:.1f} | {1e3 * ordered[-1]:.0f} | {late} |')


def main() -> None:
    """Measure and print or write the table."""
    if sys.argv[1:2] == ['--sender']:
        seconds, shared, listeners = sys.argv[2:5]
        print(json.dumps(publish(float(seconds), shared_memory=bool(int(shared)),
                                 listeners=json.loads(listeners))))
        return
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--seconds', type=float, default=60.0, help='for each line (default 60)')
    parser.add_argument('--write', action='store_true', help='put it into docs/reliability.md')
    options = parser.parse_args()
    lines = ['| sender; listeners | calls | median, ms | 99.9 %, ms | worst, ms | above 20 ms |',
             '|---|---:|---:|---:|---:|---:|']
    for title, shared_memory, foreign in [
            ('range of this machine alone; the same', True, True),
            ('as our nodes; the same', False, False),
            ('as our nodes; range of this machine alone', False, True)]:
        lines.append(row(title, measured(options.seconds, shared_memory=shared_memory,
                                         foreign=foreign)))
    lines += ['', 'Made by `python benchmark/killed_listener.py '
                  f'--seconds {options.seconds:g} --write`.']
    text = '\n'.join(lines)
    print(text)
    if options.write:
        write_section(DOCS / 'reliability.md', 'killed listener', text)


if __name__ == '__main__':
    main()
