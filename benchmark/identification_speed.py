# SPDX-License-Identifier: Apache-2.0
"""A recording of a million samples of a six-joint arm, and how long it takes to identify it."""

from __future__ import annotations

import json
import os
import pickle
import resource
import runpy
import sqlite3
import struct
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

RATE, NOISE = 1000.0, (1e-5, 0.05)
#: Arm of the fleet.
ROBOT = 'puma560'

# The command, in a process of its own, which prints its memory and time at the end.
_CHILD = """
import json, os, resource, sys, time
from robot_dynamics.bringup.cli import main
from robot_dynamics.bringup.ros_environment import one_thread
begin = time.perf_counter()
os.environ.update(one_thread(os.environ))
import scipy.interpolate, scipy.optimize, scipy.signal  # not part of the estimation
from robot_dynamics.bringup.commands import identify as command
identify, spent = command.identify, []
def timed(*given):
    spent.append(-time.process_time())
    found = identify(*given)
    spent[0] += time.process_time()
    return found
command.identify = timed
status = main(sys.argv[2:])
print(json.dumps({'status': status, 'seconds': time.perf_counter() - begin + float(sys.argv[1]),
                  'processor': time.process_time(), 'identify': spent[0],
                  'memory': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def measure_speed(folder: Path, robot: Robot, samples: int, runs: int = 3) -> list[str]:
    """Write a recording of a robot and run the command on it in fresh processes: lines of a table.

    The median run by its seconds counts.
    """
    path = folder / 'run.db3'
    write_recording(path, robot, samples)
    urdf = folder / 'arm.urdf'
    urdf.write_text(robot.to_urdf())
    found = sorted((_run(path, urdf, folder / 'out') for _ in range(runs)),
                   key=lambda one: one['seconds'])[runs // 2]
    lines = ['| | asked for | measured |', '|---|---|---|',
             f'| recording to report, {samples:,} rows of 6 joints | 20 s | '
             f'**{found["seconds"]:.1f} s**, {found["processor"]:.1f} s of processor |',
             f'| of that `identify`, processor | 3 s | **{found["identify"]:.1f} s** |',
             f'| memory | 1000 MB | **{found["memory"]:.0f} MB** |',
             '', 'Stages: ' + ', '.join(f'{stage} {seconds:.2f} s'
                                        for stage, seconds in found['stages'].items())
             + f'. Verdict {found["verdict"]}, predictions with '
               f'{100 * found["validation"]:.2f} % error. Load of the machine '
               f'{os.getloadavg()[0]:.1f}, of {os.cpu_count()} cores: where that is more, others '
               'have delayed it.']
    print('\n'.join(lines))
    return lines


def _run(path: Path, urdf: Path, output: Path) -> dict[str, Any]:
    """Identify the arm by the command, starting Python and compiling nothing included."""
    warm = time.perf_counter()
    subprocess.run([sys.executable, '-c', 'pass'], check=True)
    start = time.perf_counter() - warm
    done = subprocess.run([sys.executable, '-c', _CHILD, str(start), 'identify', str(path),
                           '--robot', str(urdf), '--output', str(output)],
                          capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    result = json.loads((output / 'result.json').read_text(encoding='utf-8'))
    return {**found, 'stages': result['seconds'], 'verdict': result['verdict'],
            'validation': result['validation']['total']}


def measure_fleet(folder: Path, samples: int = 300_000, recordings: int = 4) -> list[str]:
    """Cost of the tasks of examples/identify_fleet.py, without the cluster: lines of a table."""
    tasks = runpy.run_path(str(Path(__file__).parents[1] / 'examples' / 'identify_fleet.py'))
    robot = Robot.from_urdf(resolve_robot(ROBOT))
    (folder / 'arm.urdf').write_text(robot.to_urdf())
    path = folder / 'run.db3'
    write_recording(path, robot, samples)
    # The first task of a worker also imports and compiles.
    done = [tasks['read_recording'](path) for _ in range(recordings + 1)]
    sent = len(pickle.dumps(done[0][0])) / 2**20
    _, costs, arm = tasks['identify_arm'](done[1:])
    reading = float(np.median([seconds for _, seconds in costs]))
    lines = [f'A recording of {samples:,} rows of 6 joints, {samples / RATE / 60:.0f} minutes at '
             f'{RATE:g} Hz, and {recordings} of them for an arm. Seconds are those of the '
             'processor, one core.', '', '| task | seconds | result |', '|---|---|---|',
             f'| a recording, {path.stat().st_size / 2**20:.0f} MiB | {reading:.2f} | '
             f'{sent:.1f} MiB of normal equations |',
             f'| an arm, {recordings} recordings | {arm:.2f} | a model |',
             '', f'A hundred arms with {recordings} such recordings a day take '
             f'{100 * (recordings * reading + arm) / 60:.0f} minutes of one core.']
    print('\n'.join(lines))
    return lines


def write_recording(path: Path, robot: Robot, samples: int) -> None:
    """Write joint states of a simulated motion as rosbag2 stores them, in SQLite."""
    dynamics, n = Dynamics(robot), robot.n
    random = np.random.default_rng(0)
    phases = random.uniform(0, 2 * np.pi, (4, n))
    speeds = 2 * np.pi * np.array([0.11, 0.23, 0.37, 0.53])[:, None] * random.uniform(.8, 1.2,
                                                                                     (4, n))
    size = random.uniform(0.2, 0.4, (4, n))
    head = b'\x00\x01\x00\x00'
    names = b''
    for name in robot.joint_names:
        text = name.encode() + b'\x00'
        names += b'\x00' * (-len(names) % 4) + struct.pack('<I', len(text)) + text
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, '
                           'type TEXT NOT NULL, serialization_format TEXT NOT NULL, '
                           'offered_qos_profiles TEXT NOT NULL)')
        connection.execute('CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT '
                           'NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL)')
        connection.execute("INSERT INTO topics VALUES (1, '/joint_states', "
                           "'sensor_msgs/msg/JointState', 'cdr', '')")
        for start in range(0, samples, 50_000):
            t = np.arange(start, min(start + 50_000, samples)) / RATE
            angle = speeds[:, None] * t[None, :, None] + phases[:, None]
            q = np.sum(size[:, None] * np.sin(angle), axis=0)
            v = np.sum((size * speeds)[:, None] * np.cos(angle), axis=0)
            a = -np.sum((size * speeds ** 2)[:, None] * np.sin(angle), axis=0)
            tau = dynamics.inverse_dynamics(q, v, a) + 2.0 * np.tanh(v / 0.02) + 1.5 * v
            q = q + NOISE[0] * random.normal(size=q.shape)
            tau = tau + NOISE[1] * random.normal(size=tau.shape)
            rows = []
            for k in range(len(t)):
                stamp = round(t[k] * 1e9)
                body = struct.pack('<iII', stamp // 10**9, stamp % 10**9, 1) + b'\x00\x00\x00\x00'
                body += struct.pack('<I', n) + names
                for values in (q[k], v[k], tau[k]):
                    body += b'\x00' * (-len(body) % 4) + struct.pack('<I', n)
                    body += b'\x00' * (-len(body) % 8) + values.tobytes()
                rows.append((1, stamp, head + body))
            connection.executemany('INSERT INTO messages(topic_id, timestamp, data) '
                                   'VALUES (?, ?, ?)', rows)
        connection.commit()
    print(f'{samples} messages written, {path.stat().st_size / 2**20:.0f} MB; '
          f'{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB here')
