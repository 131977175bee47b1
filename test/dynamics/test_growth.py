# SPDX-License-Identifier: Apache-2.0
"""How the arithmetic of the equations grows with a robot, counted rather than timed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
COUNTER = ROOT / 'benchmark' / 'operations.py'


@pytest.fixture(scope='module')
def counts():
    """Operations of chains and binary trees of some sizes."""
    done = subprocess.run([sys.executable, str(COUNTER), '2', '3', '7', '15', '24'], check=True,
                          capture_output=True, text=True, timeout=120,
                          env={**os.environ, 'PYTHONPATH': str(ROOT)})
    return json.loads(done.stdout)


def formula(counts, name):
    """Operations a robot, a joint, and a pair of a body and one that carries it."""
    features = np.array([[1, entry['joints'], entry['pairs']] for entry in counts], float)
    values = np.array([entry['operations'][name] for entry in counts], float)
    fit = np.linalg.lstsq(features, values, rcond=None)[0]
    # The formula is exact, for chains and trees alike: nothing else makes work.
    np.testing.assert_allclose(features @ fit, values, atol=1e-6)
    return np.rint(fit)


@pytest.mark.slow
def test_shapes_differ_in_their_pairs(counts):
    assert {entry['shape'] for entry in counts} == {'chain', 'binary tree'}
    pairs = {(entry['shape'], entry['joints']): entry['pairs'] for entry in counts}
    assert pairs['chain', 15] == 15 * 16 // 2
    assert pairs['binary tree', 15] == 1 * 1 + 2 * 2 + 4 * 3 + 8 * 4


@pytest.mark.parametrize('name', ['tau', 'Yr pi and Yr^T s'])
def test_efforts_and_adaptive_terms_grow_with_the_joints(counts, name):
    _, of_joints, of_pairs = formula(counts, name)
    assert of_pairs == 0 and 0 < of_joints < 1000


def test_regressors_grow_with_the_pairs(counts):
    _, of_joints, of_pairs = formula(counts, 'Yr')
    # Ten entries a pair, each the product of two twists: six products, five sums.
    assert of_pairs == 110 and 0 < of_joints < 1000


def test_matrices_grow_with_the_pairs(counts):
    _, of_joints, of_pairs = formula(counts, 'M, C and g')
    assert 0 < of_pairs < 110 and 0 < of_joints < 1000
