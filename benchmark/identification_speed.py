# SPDX-License-Identifier: Apache-2.0
"""A recording of a million samples of a six-joint arm, and how long it takes to identify it."""

from __future__ import annotations

import resource
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

RATE, ROBOT, NOISE = 1000.0, 'puma560', (1e-5, 0.05)

_CHILD = """
import resource, sys, time
t0 = time.perf_counter()
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.identification.dataset import load_dataset
from robot_dynamics.identification import identify as steps
from robot_dynamics.identification.identify import EstimateSettings, identify
robot = Robot.from_urdf(resolve_robot({robot!r}))
t1 = time.perf_counter()
dataset = load_dataset({path!r}, robot)
t2 = time.perf_counter()
found = identify(dataset, robot, EstimateSettings())
t3 = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f'{{dataset.count}} samples: imports {{t1 - t0:.1f}} s, bag {{t2 - t1:.1f}} s, '
      f'signals to result {{t3 - t2:.1f}} s, in all {{t3 - t0:.1f}} s '
      f'({{time.process_time():.1f}} s of processor); memory {{peak:.0f}} MB; '
      f'verdict {{found.verdict}}, predictions {{100 * found.validation.total:.2f}} %')
print('stages: ' + ', '.join(f'{{k}} {{v:.2f}} s' for k, v in found.seconds.items()))
"""


def measure_speed(folder: Path, samples: int) -> str:
    """Write a recording, identify the arm in a fresh process; return what it took."""
    path = folder / 'run.db3'
    write_recording(path, samples)
    done = subprocess.run([sys.executable, '-c', _CHILD.format(robot=ROBOT, path=str(path))],
                          capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def write_recording(path: Path, samples: int) -> None:
    """Write joint states of a simulated motion as rosbag2 stores them, in SQLite."""
    robot = Robot.from_urdf(resolve_robot(ROBOT))
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
