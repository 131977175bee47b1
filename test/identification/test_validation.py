# SPDX-License-Identifier: Apache-2.0
"""Models on recordings to which they were not fitted."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.dataset.dataset import dataset_from_arrays
from robot_dynamics.identification.friction import COULOMB_VELOCITY
from robot_dynamics.identification.outputs import make_outputs
from robot_dynamics.identification.rigid import EstimateSettings, identify
from robot_dynamics.identification.validation import (
    Candidate,
    described_candidate,
    described_model,
    read_identified,
    validate,
)
from robot_dynamics.model.modify import with_scaled_masses
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot


def test_the_error_of_a_description_is_that_of_its_efforts(three):
    t, q, v, a = three.motion(seconds=20.0)
    tau = Dynamics(three.robot).inverse_dynamics(q, v, a)
    dataset = dataset_from_arrays(three.robot, t, q, tau)
    right, heavy = (Candidate(name, described_model(robot)) for name, robot in (
        ('right', three.robot), ('heavy', with_scaled_masses(three.robot, 1.3))))
    found = validate(dataset, [right, heavy])
    # What the filters take from the motion remains. Efforts are linear in masses.
    assert found.residuals[0].total < 5e-3
    np.testing.assert_allclose(found.residuals[1].relative, 0.3, rtol=0.02)
    assert found.verdicts == ('good', 'poor')


def test_joint_terms_of_a_description_count(three):
    robot = replace(three.robot, damping=np.full(3, 2.0), friction=np.full(3, 1.0),
                    armature=np.array([0.5, 0.0, 0.3]))
    t, q, v, a = three.motion(seconds=20.0)
    tau = (Dynamics(three.robot).inverse_dynamics(q, v, a) + 2.0 * v
           + np.tanh(v / COULOMB_VELOCITY) + robot.armature * a)
    found = validate(dataset_from_arrays(robot, t, q, tau),
                     [Candidate('with', described_model(robot)),
                      Candidate('without', described_model(three.robot))])
    assert found.residuals[0].total < 0.01 < 0.05 < found.residuals[1].total


def test_rotors_of_a_description_are_assumed_as_in_the_nodes(three):
    robot = replace(three.robot, armature=np.array([0.5, 0.0, 0.0]))
    robot = replace(robot, limits=replace(robot.limits, effort=np.array([100.0, 50.0, np.inf])))
    assumed = np.array([0.5, 0.15, 0.0])
    t, q, v, a = three.motion(seconds=20.0)
    tau = Dynamics(robot, armature=False).inverse_dynamics(q, v, a) + assumed * a
    found = validate(dataset_from_arrays(robot, t, q, tau), [
        described_candidate('motors', robot),
        described_candidate('torque sensors', robot, has_rotors=False)])
    assert found.residuals[0].relative[1] < 0.005 < 0.05 < found.residuals[1].relative[1]
    finding, = (one for one in found.findings if one.subject == 'motors')
    assert finding.message == 'has assumed rotors as in the nodes: j2 0.15 kg m^2'


def test_late_efforts_are_named_and_moved(three):
    t, q, v, a = three.motion(seconds=20.0)
    tau = Dynamics(three.robot).inverse_dynamics(q, v, a)
    late = np.stack([np.interp(t - 0.3, t, one) for one in tau.T], axis=1)
    found = validate(dataset_from_arrays(three.robot, t, q, late),
                     [Candidate('right', described_model(three.robot))])
    assert found.signals.lag == pytest.approx(0.3, abs=0.011)
    assert found.verdicts == ('good',)
    assert any('comes 300 ms after the positions' in one.message for one in found.findings)


def test_an_identified_folder_predicts_as_the_identification(three, tmp_path):
    dataset = three.log(noise=(0.0, 0.3))
    described = with_scaled_masses(three.robot, 1.2)
    identified = identify(dataset, described, EstimateSettings(
        friction='dahl+load+cbrt', armature=False, cutoff=5.0, lag=0.0))
    outputs = make_outputs(identified, dataset, described.to_urdf())
    for name, content in outputs.files.items():
        (tmp_path / name).write_bytes(content)
    read = read_identified(tmp_path)
    assert read.signals == identified.signals
    np.testing.assert_allclose(read.model.parameters, identified.model.parameters)
    found = validate(dataset, [read])
    np.testing.assert_allclose(found.residuals[0].relative, identified.in_sample.relative,
                               rtol=0.05)
    # Another motion, with noise of another seed.
    other = validate(three.log(seed=3, noise=(0.0, 0.3), noise_seed=1),
                     [read, Candidate('description', described_model(described))])
    assert other.residuals[0].total < 0.05 < 0.15 < other.residuals[1].total


def test_a_recording_of_another_arm_is_refused(three):
    with pytest.raises(ParameterError, match='must have the joints of the recording'):
        validate(three.log(seconds=2.0), [Candidate('other', described_model(
            Robot.from_urdf(resolve_robot('planar_2r'))))])


def test_a_recording_without_motion_is_refused(three):
    """At rest, friction may hold what a wrong model does not: nothing is validated."""
    q = np.zeros((1000, 3))
    still = dataset_from_arrays(three.robot, 0.01 * np.arange(1000), q, q + 1.0)
    with pytest.raises(RecordingError, match='has no motion'):
        validate(still, [Candidate('description', described_model(three.robot))])


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r'has no parameters\.yaml'):
        read_identified(tmp_path)
