# SPDX-License-Identifier: Apache-2.0
"""How well parameters are known, as an NPZ archive of plain arrays."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.result import Identification

#: Arrays of the archive: names, values and covariance of all parameters, given the pull
#: towards the description; the same of the base parameters, without any description; and B
#: in base = B parameters.
ARRAYS = ('names', 'values', 'covariance', 'base_names', 'base_values', 'base_covariance',
          'base_matrix')


def covariance_file(found: Identification) -> bytes:
    """Return the archive; see `ARRAYS`. Nothing in it is pickled."""
    content = io.BytesIO()
    np.savez_compressed(
        content, names=np.array(found.names), values=found.model.parameters,
        covariance=found.covariance, base_names=np.array(found.base.base_names),
        base_values=found.base_values, base_covariance=found.base_covariance,
        base_matrix=found.base.matrix)
    return content.getvalue()


def read_covariance(path: Path) -> dict[str, NDArray[np.generic]]:
    """Read an archive back.

    Raises
    ------
    RecordingError
        Where it is none.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in ARRAYS}
    # zipfile has exceptions of its own.
    except Exception as error:
        raise RecordingError(f'cannot be read: {error}', subject=str(path),
                             remedy='give covariance.npz of an identification') from error
