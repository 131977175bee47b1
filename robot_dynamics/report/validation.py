# SPDX-License-Identifier: Apache-2.0
"""A validation of models on a recording, as text and as a page."""

from __future__ import annotations

from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.signals import motions_of
from robot_dynamics.identification.validation import Validation
from robot_dynamics.model.robot import effort_units
from robot_dynamics.report import page
from robot_dynamics.report.identification import (
    centre_text,
    effort_charts,
    effort_curves,
    overview,
    overview_section,
    spectra,
    spectrum_chart,
)
from robot_dynamics.report.words import (
    VERDICT_WORDS,
    columns,
    percent,
    signal_facts,
    warnings,
    worst_joint,
)


def validation_page(found: Validation, dataset: Dataset) -> str:
    """HTML page that compares models on a recording.

    Parameters
    ----------
    found, dataset : Validation, Dataset
        The result, and its data.

    See Also
    --------
    robot_dynamics.identification.validation.validate : the result that the page shows.

    Examples
    --------
    ``robot-dynamics validate`` writes this page:

    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> from robot_dynamics.identification import dataset_from_arrays
    >>> from robot_dynamics.identification.validation import Candidate, described_model, validate
    >>> from robot_dynamics.report import validation_page
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> t, w = np.arange(0.0, 20.0, 0.01)[:, None], np.array([1.0, 1.7])
    >>> q, v, a = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    >>> dataset = dataset_from_arrays(robot, t[:, 0], q, Dynamics(robot).inverse_dynamics(q, v, a))
    >>> found = validate(dataset, [Candidate('planar_2r', described_model(robot))])
    >>> 'Every joint' in validation_page(found, dataset)
    True
    """
    names = [one.name for one in found.candidates]
    robots = [one.model.robot for one in found.candidates]
    units = effort_units(robots[0])
    longest = max(motions_of(dataset, found.signals), key=lambda motion: motion.count)
    data = {'joints': list(dataset.joint_names), 'units': list(units),
            'efforts': effort_curves(found.parts, names), 'overview': overview(found.parts),
            'spectra': spectra(longest, {one.name: one.model.efforts(longest)
                                         for one in found.candidates}),
            'cutoff': found.signals.cutoff}
    heads = [text for name in names for text in (f'RMS, {name}', 'relative')]
    inertials = [one.model.inertial.reshape(-1, 10) for one in found.candidates]
    return page.Page(robots[0].name, validation_sentence(found), (
        f'{dataset.count:,} rows, {dataset.duration:.0f} s, of {dataset.n} joints, from '
        f'{dataset.source}. No model was fitted to this recording here.'), [
        page.tiles(page.tile(percent(one.total), f'error of {name}')
                   for name, one in zip(names, found.residuals, strict=True)),
        page.section('Every joint', page.table(
            ('joint', *heads),
            [(joint, *(text for one in found.residuals for text in (
                f'{one.rmse[k]:.3g} {units[k]}', percent(one.relative[k]))))
             for k, joint in enumerate(dataset.joint_names)],
            total=('all', *(text for one in found.residuals
                            for text in ('', percent(one.total)))))),
        page.section('Effort: measured, predicted, residual',
                     f'Low-passed at {found.signals.cutoff:.3g} Hz, for all models alike.',
                     *effort_charts(), spectrum_chart(is_wide=True)),
        overview_section(f'Prediction error of {names[0]}'),
        page.section('Bodies of the models', page.table(
            ('link', *(text for name in names
                       for text in (f'mass, kg, {name}', 'centre of mass, mm'))),
            [(body, *(text for inertial in inertials
                      for text in (f'{inertial[k, 0]:.4g}', centre_text(inertial[k]))))
             for k, body in enumerate(robots[0].body_names)])),
        page.section('Remarks and settings', page.finding_items(found.findings), page.facts([
            ('models', ', '.join(names)),
            *signal_facts(dataset, found.signals, 'none')])),
    ], kind='validation', verdict=found.verdicts[0]).render(data, 'identification.js')


def validation_sentence(found: Validation) -> str:
    """The verdict on the first model, and the errors of the others, in one sentence."""
    first, *others = found.residuals
    names = [one.name for one in found.candidates]
    joints = found.candidates[0].model.robot.joint_names
    rest = ''.join(f'; {name}: {percent(one.total)}'
                   for name, one in zip(names[1:], others, strict=True))
    return (f'{VERDICT_WORDS[found.verdicts[0]]}: {names[0]} predicts this recording with '
            f'{percent(first.total)} error'
            + worst_joint(len(joints), joints[first.worst], first.relative[first.worst]) + rest
            + '.')


def validation_text(found: Validation) -> str:
    """Verdicts, errors of the joints and warnings, for a terminal."""
    joints = found.candidates[0].model.robot.joint_names
    rows = [(joint, *(percent(one.relative[k]) for one in found.residuals))
            for k, joint in enumerate(joints)]
    return '\n'.join([
        validation_sentence(found), '',
        *columns(('joint', *(one.name for one in found.candidates)),
                 [*rows, ('all', *(percent(one.total) for one in found.residuals)),
                  ('verdict', *found.verdicts)]),
        *warnings(found.findings)])
