# SPDX-License-Identifier: Apache-2.0
"""An hour of production of a simulated arm, its best blocks, and an excitation run."""

from __future__ import annotations

import time

import numpy as np

from robot_dynamics.control import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.dataset.dataset import Dataset, dataset_from_arrays
from robot_dynamics.identification.rigid import EstimateSettings, identify
from robot_dynamics.identification.signals import Motion
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot

RATE, ROBOT = 125.0, 'puma560'
#: Programs of an hour, poses of a program, and times of a motion and of a rest, s.
PROGRAMS, POSES, MOVE, REST = 6, 6, 1.5, 1.5
#: Encoder noise, rad, and noise of efforts relative to their RMS.
NOISE = 1e-5, 0.02
#: Width of the smooth sign of dry friction, rad/s.
WIDTH = 0.05
#: Length of the excitation run, and of the selection, s.
RUN = 180.0


def production(n: int, seconds: float) -> tuple[np.ndarray, ...]:
    """Positions, velocities and accelerations of programs that repeat: moves and rests."""
    random = np.random.default_rng(1)
    cycle = int((MOVE + REST) * RATE)
    x = np.minimum(np.arange(cycle) / (MOVE * RATE), 1.0)[:, np.newaxis]
    shape = (10 * x**3 - 15 * x**4 + 6 * x**5, (30 * x**2 - 60 * x**3 + 30 * x**4) / MOVE,
             (60 * x - 180 * x**2 + 120 * x**3) / MOVE**2)
    cycles = int(seconds / PROGRAMS / (MOVE + REST))
    pieces = []
    last = np.zeros(n)
    for _ in range(PROGRAMS):
        poses = random.uniform(-0.7, 0.7, (POSES, n))
        for k in range(cycles):
            target = poses[k % POSES]
            pieces.append([last + shape[0] * (target - last), shape[1] * (target - last),
                           shape[2] * (target - last)])
            last = target
    return tuple(np.concatenate([piece[k] for piece in pieces]) for k in range(3))


def excitation(arm: Robot, seconds: float, seed: int) -> tuple[np.ndarray, ...]:
    """Positions, velocities and accelerations of an exciting motion."""
    curve = exciting_fourier(arm, seed=seed)
    return tuple(curve.sample_many(np.arange(0.0, seconds, 1.0 / RATE)))


def log(arm: Robot, motion: tuple[np.ndarray, ...], seed: int) -> Dataset:
    """Dataset of a motion with friction and noise."""
    q, v, a = motion
    random = np.random.default_rng(seed)
    tau = efforts(arm, q, v, a)
    tau = tau + NOISE[1] * np.std(tau, axis=0) * random.normal(size=tau.shape)
    return dataset_from_arrays(arm, np.arange(len(q)) / RATE,
                               q + NOISE[0] * random.normal(size=q.shape), tau)


def efforts(arm: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Efforts with dry and viscous friction."""
    return Dynamics(arm).inverse_dynamics(q, v, a) + 2.0 * np.tanh(v / WIDTH) + 1.5 * v


def measure_blocks(seconds: float = 3600.0) -> list[str]:
    """Identify from each log and predict the efforts of another exciting motion."""
    arm = Robot.from_urdf(resolve_robot(ROBOT))
    wrong = with_scaled_masses(arm, 1.2)
    hour = log(arm, production(arm.n, seconds), 0)
    unseen = excitation(arm, 60.0, 7)
    true = efforts(arm, *unseen)
    motion = Motion(np.arange(len(true)) / RATE, *unseen, true, RATE)
    lines = ['| log | used | condition number | error of unseen efforts | processor |',
             '|---|---|---|---|---|']
    run = log(arm, excitation(arm, RUN, 1), 2)
    given = {'friction': 'coulomb', 'coulomb_width': WIDTH}
    for name, dataset, settings in (
            (f'excitation run, {RUN:.0f} s', run, {}),
            ('an hour of production', hour, {}),
            ('the same, `blocks: best`', hour, {'blocks': 'best'}),
            (f'the first {RUN:.0f} s of it', hour.between(0.0, RUN / seconds), {}),
            ('excitation run, friction terms given', run, given),
            ('the hour, `blocks: best`, friction terms given', hour, {'blocks': 'best', **given})):
        begin = time.process_time()
        found = identify(dataset, wrong, EstimateSettings(**settings))
        spent = time.process_time() - begin
        error = np.linalg.norm(found.model.efforts(motion) - true) / np.linalg.norm(true)
        used = next((one.value for one in found.choices if one.what == 'blocks'), 'all')
        lines.append(f'| {name} | {used} | {found.base.condition:.3g} | {100 * error:.2f} % | '
                     f'{spent:.1f} s |')
    print('\n'.join(lines))
    return lines
