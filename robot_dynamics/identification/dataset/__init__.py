# SPDX-License-Identifier: Apache-2.0
"""Recordings of a moving arm, read and cleaned; rows left out are counted by reason."""

from robot_dynamics.identification.dataset.dataset import (
    Dataset,
    Segment,
    dataset_from_arrays,
    joined,
    load_dataset,
)
from robot_dynamics.identification.dataset.settings import DatasetSettings, read_settings

__all__ = ['Dataset', 'DatasetSettings', 'Segment', 'dataset_from_arrays', 'joined',
           'load_dataset', 'read_settings']
