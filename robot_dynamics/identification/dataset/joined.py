# SPDX-License-Identifier: Apache-2.0
"""Several recordings of one arm as one dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.errors import RecordingError
from robot_dynamics.identification.dataset.dataset import Dataset, Segment

#: Sampling periods of recordings that are put together may differ by this part.
SAME_PERIOD = 0.01
# Time between two recordings, s.
_PAUSE = 1.0


def joined(datasets: Sequence[Dataset]) -> Dataset:
    """Put recordings one after the other.

    Parameters
    ----------
    datasets : sequence of Dataset
        Of the same robot, read with the same settings.

    Returns
    -------
    Dataset
        All segments; times of later recordings come after those of earlier ones.

    Raises
    ------
    RecordingError
        Where there is none, or one was sampled at another rate.
    """
    if not datasets:
        raise RecordingError('is missing', subject='recording', remedy='name one or more')
    first = datasets[0]
    segments: list[Segment] = []
    counts: dict[str, int] = {}
    end = 0.0
    for dataset in datasets:
        if abs(dataset.period - first.period) > SAME_PERIOD * first.period:
            raise RecordingError(
                f'has a row every {1e3 * dataset.period:.4g} ms, the first recording every '
                f'{1e3 * first.period:.4g} ms', subject=dataset.source,
                remedy='identify recordings of one rate')
        shift = 0.0 if not segments else end + _PAUSE - float(dataset.segments[0].time[0])
        segments += [replace(segment, time=segment.time + shift) for segment in dataset.segments]
        end = float(segments[-1].time[-1])
        for reason, count in dataset.counts.items():
            counts[reason] = counts.get(reason, 0) + count
    return replace(
        first, segments=tuple(segments), counts=counts,
        has_velocity=all(dataset.has_velocity for dataset in datasets),
        findings=tuple(dict.fromkeys(finding for dataset in datasets
                                     for finding in dataset.findings)),
        source=', '.join(dataset.source for dataset in datasets),
        period=float(np.mean([dataset.period for dataset in datasets])))
