# SPDX-License-Identifier: Apache-2.0
"""Nightly identification of a fleet on a dask cluster: a task per recording, and one per arm.

    python examples/identify_fleet.py [FLEET_FOLDER] [--scheduler tcp://HOST:8786]

FLEET_FOLDER has a folder per arm with `arm.urdf` and its recordings of the day, which all workers
can read. A recording becomes normal equations of some megabytes where it is read, and these add
up. Without arguments, two simulated arms run on a cluster of this machine. It prints the mass of
all links in kg, the error of predicted efforts, and costs. `pip install distributed`

    arm0: ... kg, ... % error; 3 recordings, ... rows: ... s, the arm ... s of processor
    arm1: 7.0... kg, ... % error; 3 recordings, ... rows: ... s, the arm ... s of processor
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from robot_dynamics import Dynamics, Robot, load_dataset
from robot_dynamics.control import exciting_fourier
from robot_dynamics.identification import SignalSettings, identify_shared, recording_equations

SUFFIXES = ('.mcap', '.db3', '.csv', '.npz', '.jsonl')
#: As `identify` chose them when the arms were commissioned.
SIGNALS, FRICTION = SignalSettings(cutoff=6.0), 'coulomb'


def read_recording(path: Path):
    """Normal equations of a recording, its rows, and seconds of processor."""
    begin = time.process_time()
    robot = Robot.from_urdf(path.parent / 'arm.urdf')
    dataset = load_dataset(path, robot)
    return (recording_equations(dataset, robot, SIGNALS, FRICTION), dataset.count,
            time.process_time() - begin)


def identify_arm(recordings):
    """Identification of an arm from its recordings, their costs, and seconds of processor."""
    begin = time.process_time()
    found = identify_shared([equations for equations, _, _ in recordings])
    return found, [cost for _, *cost in recordings], time.process_time() - begin


def identify_fleet(folder: Path, client):
    """Results of all arms by name; every recording and every arm is a task of the cluster."""
    results = {}
    for arm in sorted(path for path in folder.iterdir() if (path / 'arm.urdf').is_file()):
        recordings = sorted(path for path in arm.iterdir() if path.suffix in SUFFIXES)
        parts = client.map(read_recording, recordings, retries=1)
        results[arm.name] = client.submit(identify_arm, parts)
    return client.gather(results)


def simulate_fleet(folder: Path, arms: int = 2, recordings: int = 3, seconds: float = 20.0):
    """Write recordings of `planar_2r` with noise, as if each arm carried another tool."""
    random = np.random.default_rng(0)
    for k in range(arms):
        arm = Robot.from_urdf('planar_2r')
        (folder / f'arm{k}').mkdir()
        (folder / f'arm{k}' / 'arm.urdf').write_text(arm.to_urdf())
        arm = arm.with_parameters((1.0 + 0.1 * k) * arm.parameters)
        for n in range(recordings):
            t = np.arange(0.0, seconds, 0.005)
            q, v, a = exciting_fourier(arm, seed=n).sample_many(t)
            tau = Dynamics(arm).inverse_dynamics(q, v, a) + 0.4 * v
            np.savez(folder / f'arm{k}' / f'{n}.npz', time=t, position=q,
                     effort=tau + 0.02 * random.normal(size=tau.shape))


def main() -> None:
    from distributed import Client
    parser = argparse.ArgumentParser()
    parser.add_argument('folder', nargs='?', type=Path)
    parser.add_argument('--scheduler')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        if options.folder is None:
            simulate_fleet(Path(temporary))
        # Without a scheduler, the client starts a LocalCluster of two processes.
        local = {} if options.scheduler else {'n_workers': 2, 'threads_per_worker': 1,
                                              'dashboard_address': None}
        with Client(options.scheduler, **local) as client:
            results = identify_fleet(options.folder or Path(temporary), client)
    for name, (found, costs, seconds) in results.items():
        mass = found.model.inertial[::10].sum()
        rows, processor = np.sum(costs, axis=0)
        print(f'{name}: {mass:.2f} kg, {100 * found.validation.total:.2f} % error; '
              f'{len(costs)} recordings, {rows:,.0f} rows: {processor:.1f} s, the arm '
              f'{seconds:.1f} s of processor')


if __name__ == '__main__':
    main()
