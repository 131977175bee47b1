# SPDX-License-Identifier: Apache-2.0
"""The pictures of the study."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from controllers_parts.conditions import CONDITIONS
from controllers_parts.contenders import CONTENDERS
from controllers_parts.motions import MOTIONS
from controllers_parts.results import Results

COLOURS = ('#7f7f7f', '#b0a070', '#4c72b0', '#8c6bb1', '#9ebcda', '#d678b4', '#dd8452',
           '#55a868', '#2a7f5f', '#c44e52', '#333333')


def draw_errors(results: Results, path: Path) -> None:
    """Draw the RMS error of every controller in every condition, a panel for each motion."""
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(len(MOTIONS), 1, figsize=(11, 10), sharex=True)
    width = 0.85 / len(CONTENDERS)
    for axis, motion in zip(axes, MOTIONS, strict=True):
        for k, (name, colour) in enumerate(zip(CONTENDERS, COLOURS, strict=True)):
            heights = []
            for condition in CONDITIONS:
                entry = results.get(condition.name, motion, name)
                heights.append(list(entry['rms'].values())[-1]
                               if entry is not None and entry['rms'] else np.nan)
            axis.bar(np.arange(len(CONDITIONS)) + (k - 0.5 * len(CONTENDERS)) * width, heights,
                     width, label=name, color=colour)
        axis.set_yscale('log')
        axis.set_ylabel(f'{motion}: RMS error, mrad')
        axis.grid(axis='y', alpha=0.3)
    axes[-1].set_xticks(range(len(CONDITIONS)), [c.name for c in CONDITIONS], rotation=15)
    axes[0].legend(ncols=5, fontsize=8, loc='lower center', bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_learning(results: Results, path: Path) -> None:
    """Draw errors after 10, 20 and 60 s where something is to be learnt."""
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot as plt

    conditions = ('payload', 'masses 30 % off', 'friction', 'mixed')
    figure, axes = plt.subplots(1, len(conditions), figsize=(13, 3.8), sharey=True)
    for axis, condition in zip(axes, conditions, strict=True):
        for name, colour in zip(CONTENDERS, COLOURS, strict=True):
            entry = results.get(condition, 'Fourier', name)
            if entry is not None and len(entry['rms']) > 1:
                axis.loglog([float(t) for t in entry['rms']], list(entry['rms'].values()), 'o-',
                            color=colour, label=name)
        axis.set_title(f'{condition}, Fourier', fontsize=9)
        axis.set_xlabel('after, s')
        axis.set_xticks([10, 20, 60], ['10', '20', '60'])
        axis.set_xticks([], minor=True)
        axis.grid(which='both', alpha=0.3)
    axes[0].set_ylabel('RMS error, mrad')
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=5, fontsize=8, loc='upper center')
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 0.87))
    figure.savefig(path, dpi=110)
    plt.close(figure)
