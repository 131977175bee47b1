# SPDX-License-Identifier: Apache-2.0
"""Other arms with drives that their descriptions lack, against the gains of practice."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from closed_loop import run_closed_loop

from controllers_parts.conditions import LATE, NOISE
from controllers_parts.contenders import DELAY, PERIOD
from controllers_parts.motions import fourier
from controllers_parts.results import Results
from robot_dynamics.control.feedback.drives import COULOMB_SHARE, assumed_rotors, with_rotors
from robot_dynamics.control.feedback.gains import AdaptationGains
from robot_dynamics.control.feedback.linear_feedback import JointGains
from robot_dynamics.control.feedback.protocol import TrackingController
from robot_dynamics.control.feedback.typical_motions import mass_matrices, typical_motions
from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
from robot_dynamics.control.laws.model_based import ComputedTorqueController, PDGravityController
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.motion.references import exciting_fourier
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.modify import with_payload, with_scaled_masses
from robot_dynamics.model.robot import Robot, arm_length
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.simulation.sensors import JointSensors

_EXAMPLES = Path(sysconfig.get_path('purelib'),
                 'cmeel.prefix/share/example-robot-data/robots')
_SHARED = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'urdf'
#: URDF of each arm, and the number of joints that are not of its hand.
ARMS: dict[str, tuple[Path, int]] = {
    'Panda': (_EXAMPLES / 'panda_description/urdf/panda.urdf', 7),
    'UR5e': (_SHARED / 'ur5e_unbound_prefix.urdf', 6),
    'UR10': (_EXAMPLES / 'ur_description/urdf/ur10_joint_limited_robot.urdf', 6),
    'Gen3': (_SHARED / 'gen3_robotiq.urdf', 7),
    'xArm7': (_EXAMPLES / 'xarm_description/urdf/xarm7.urdf', 7),
    'SO-101': (_EXAMPLES / 'so_arm_description/urdf/so101.urdf', 6),
}
#: A heavy arm: that of the table with this mass, and effort limits in proportion. kg.
HEAVY, HEAVY_MASS = 'UR10', 100.0

#: True rotors over the assumed ones, in turn from joint to joint.
ROTORS = (2.0, 0.5)
#: Viscous friction, as a share of the effort limit per rad/s.
VISCOUS_SHARE = 0.002
#: Payload that no model knows: so much, or this share of the mass of the arm if that is less. kg.
PAYLOAD, PAYLOAD_SHARE = 2.0, 0.1
EFFORT_GAIN = 1.07

#: Stiffness per effort limit, 1/rad, and damping ratio. The joint impedance example for the Panda
#: has 4 to 21 times the effort limit; its damping is unstable at 2 ms of delay.
STIFFNESS_SHARE, DAMPING_RATIO = 5.0, 0.7

PRACTICE = 'practice'
SECONDS = 20.0
#: When the first and the last errors are taken. s.
FIRST, LAST = (0.0, 5.0), (16.0, 20.0)


def practice(robot: Robot) -> JointGains:
    """Gains that a lab would use: a stiffness per effort limit, and its damping."""
    stiffness = STIFFNESS_SHARE * robot.limits.effort
    masses = mass_matrices(Dynamics(robot), typical_motions(robot).q)
    inertia = np.diagonal(masses, axis1=1, axis2=2).mean(axis=0)
    damping = 2.0 * DAMPING_RATIO * np.sqrt(stiffness * inertia)
    return JointGains(tuple(stiffness), tuple(damping))


def adaptive(robot: Robot) -> AdaptiveController:
    """The adaptive law as its node makes it."""
    gains = AdaptationGains(terms=('viscous', 'coulomb', 'armature'))
    return AdaptiveController(robot, adaptation=gains, period=PERIOD, delay=DELAY)


CONTENDERS: dict[str, Callable[[Robot], TrackingController]] = {
    PRACTICE: lambda robot: PDGravityController(robot, feedback=practice(robot), period=PERIOD,
                                                delay=DELAY),
    'PD + gravity': lambda robot: PDGravityController(robot, period=PERIOD, delay=DELAY),
    'computed torque': lambda robot: ComputedTorqueController(robot, period=PERIOD, delay=DELAY),
    'Riccati LQ': lambda robot: FeedforwardLQController(robot, period=PERIOD, delay=DELAY),
    'adaptive': adaptive,
}


def load(name: str) -> Robot:
    """Links of an arm, without friction or rotors."""
    path, joints = ARMS[name]
    text = re.sub(r'<mimic\s[^>]*>', '', path.read_text(encoding='utf-8'))
    robot = Robot.from_urdf(text)
    names = robot.joint_names[:joints]
    robot = Robot.from_urdf(text, joints=names)
    zeros = np.zeros(robot.n)
    return replace(robot, damping=zeros, friction=zeros, armature=zeros)


def arms(names: Sequence[str]) -> tuple[dict[str, Robot], list[str]]:
    """Arms by name with the heavy one, and a reason for each that is missing."""
    found, missing = {}, []
    for name in names:
        if ARMS[name][0].exists():
            found[name] = load(name)
        else:
            missing.append(f'{name} was skipped: {ARMS[name][0].name} is not installed.')
    if HEAVY in found:
        robot = found[HEAVY]
        scale = HEAVY_MASS / float(robot.inertial_parameters[:, 0].sum())
        limits = replace(robot.limits, effort=scale * robot.limits.effort)
        found[f'{HEAVY} of {HEAVY_MASS:g} kg'] = replace(with_scaled_masses(robot, scale),
                                                         limits=limits)
    return found, missing


def true_arm(model: Robot) -> Robot:
    """The arm as it is: rotors, friction and a payload that its description lacks."""
    limits, n = model.limits.effort, model.n
    robot = with_rotors(model, assumed_rotors(model) * np.resize(ROTORS, n))
    robot = replace(robot, friction=COULOMB_SHARE * limits, damping=VISCOUS_SHARE * limits)
    mass = min(PAYLOAD, PAYLOAD_SHARE * float(model.inertial_parameters[:, 0].sum()))
    tip = int(np.setdiff1d(np.arange(model.n_bodies), model.parents)[-1])
    return with_payload(robot, mass, (0.02, 0.0, 0.15 * arm_length(model)),
                        frame=model.body_names[tip])


def run(model: Robot, contender: str) -> dict[str, object]:
    """RMS and peak of the errors of one run, mrad, of all joints and of each."""
    plant = Plant(true_arm(model), effort_gain=EFFORT_GAIN)
    plant.reset(exciting_fourier(model, 0).start)
    try:
        controller = CONTENDERS[contender](with_rotors(model))
        record = run_closed_loop(controller, plant, fourier(model, 0), SECONDS, conditions=LATE,
                                 sensors=JointSensors(NOISE, seed=0))
    except RobotDynamicsError as error:
        return {'trouble': str(error)}
    return {'first': 1e3 * record.rms(*FIRST), 'rms': 1e3 * record.rms(*LAST),
            'peak': 1e3 * record.peak(*FIRST), 'saturated': int(record.saturated),
            'joints': (1e3 * record.rms_by_joint(*LAST)).round(3).tolist(), 'trouble': ''}


def measure(results: Results, names: Sequence[str], *, missing: bool) -> list[str]:
    """Make the runs; return reasons for arms that are missing."""
    found, reasons = arms(names)
    for name, model in found.items():
        for contender in CONTENDERS:
            key = ('mixed with drives', name, contender, 0, 0)
            if not (missing and results.get(*key)):
                results.put(*key, entry := run(model, contender))
                print(f'{name}: {contender}: {entry}', flush=True)
    return reasons


def tables(results: Results, names: Sequence[str], reasons: Sequence[str]
           ) -> tuple[dict[str, str], bool]:
    """The table of all arms, that of the ratios to practice, and whether all of them hold."""
    rows = ['| arm | ' + ' | '.join(CONTENDERS) + ' |', '|---' + '|---:' * len(CONTENDERS) + '|']
    ratios = ['| arm | RMS of practice / adaptive at 20 s | peak of the first 5 s, practice / '
              'adaptive | |', '|---|---:|---:|---|']
    good = True
    shown = [*names, *([f'{HEAVY} of {HEAVY_MASS:g} kg'] if HEAVY in names else [])]
    for name in shown:
        entries = {contender: results.get('mixed with drives', name, contender)
                   for contender in CONTENDERS}
        if None in entries.values():
            continue
        rows.append(f'| {name} | ' + ' | '.join(
            entry['trouble'] or f'{entry["rms"]:.3g} ({entry["peak"]:.3g})'
            for entry in entries.values()) + ' |')
        ours, theirs = entries['adaptive'], entries[PRACTICE]
        if ours['trouble'] or theirs['trouble']:
            good = False
            continue
        rms, peak = (theirs[what] / ours[what] for what in ('rms', 'peak'))
        holds = rms >= 3.0 and peak >= 1.0
        good &= holds
        ratios.append(f'| {name} | {rms:.3g} | {peak:.3g} | '
                      f'{"holds" if holds else "**missed**"} |')
    return {'arms': '\n'.join([*rows, *(['', *reasons] if reasons else [])]),
            'arms ratios': '\n'.join(ratios)}, good
