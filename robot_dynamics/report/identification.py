# SPDX-License-Identifier: Apache-2.0
"""An identification as text and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.friction import (
    COULOMB_VELOCITY,
    UNITS,
    PlainFriction,
    columns_of,
    shares_option,
)
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.outputs import Outputs, payload_facts
from robot_dynamics.identification.payload import Payload
from robot_dynamics.identification.quality import VAGUE
from robot_dynamics.identification.result import Identification
from robot_dynamics.identification.signals import Motion, motions_of
from robot_dynamics.identification.validation import Predicted, predicted
from robot_dynamics.model.arrays import FloatArray
from robot_dynamics.model.robot import effort_units
from robot_dynamics.report import page
from robot_dynamics.report.series import rounded, with_gaps
from robot_dynamics.report.words import (
    percent,
    prediction_lines,
    prediction_sentence,
    short,
    signal_facts,
    warnings,
)

#: Length of the part that is drawn in full, s, and its largest number of samples.
STRETCH, SAMPLES = 60.0, 1500
#: Largest number of points of errors over the whole recording, and their shortest window, s.
WINDOWS, SHORTEST_WINDOW = 300, 0.5
#: Largest number of points of a spectrum, and its least drawn value relative to its maximum.
FREQUENCIES, LOWEST = 300, 1e-4
#: Points of a friction curve, bins of the measured friction, and least samples of a bin.
POINTS, BINS, IN_A_BIN = 161, 40, 5


def identification_page(found: Identification, dataset: Dataset, outputs: Outputs,
                        payload: Payload | None = None) -> str:
    """HTML page about an identification.

    Parameters
    ----------
    found, dataset : Identification, Dataset
        The result, and its data.
    outputs : Outputs
        The other files, whose findings are listed too.
    payload : Payload, optional
        A payload that was identified with the arm.

    See Also
    --------
    robot_dynamics.identification.identify : the result that the page shows.

    Examples
    --------
    ``robot-dynamics identify`` writes this page beside its other files:

    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> from robot_dynamics.identification import (EstimateSettings, dataset_from_arrays, identify,
    ...                                            make_outputs)
    >>> from robot_dynamics.report import identification_page
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> t, w = np.arange(0.0, 20.0, 0.01)[:, None], np.array([1.0, 1.7])
    >>> q, v, a = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    >>> tau = Dynamics(robot).inverse_dynamics(q, v, a) + 0.3 * v
    >>> dataset = dataset_from_arrays(robot, t[:, 0], q, tau)
    >>> found = identify(dataset, robot, EstimateSettings(
    ...     friction='coulomb', armature=False, cutoff=5.0, lag=0.0))
    >>> outputs = make_outputs(found, dataset, robot.to_urdf())
    >>> page = identification_page(found, dataset, outputs)
    >>> page.startswith('<!doctype html>') and 'What was identified' in page
    True
    """
    robot = found.model.robot
    missing = sum(len(one.parameters) for one in found.missing)
    return page.Page(robot.name, verdict_sentence(found), _story(found, dataset), [
        page.tiles([
            *page.prediction_tiles(found.validation, found.in_sample),
            page.tile(f'{found.base.condition:.3g}', 'condition number of the base'),
            page.tile(f'all but {missing}' if missing else 'all',
                      'combinations of masses determined'),
            page.tile('yes' if found.is_consistent else 'no',
                      'every body is physically possible')]),
        page.section('Why', page.items(found.verdict_reasons)),
        *([] if payload is None else [page.section(f'Payload on {payload.body}', page.facts(
            payload_facts(payload, robot.joint_names)))]),
        page.section('Every joint',
                     page.key('relative error of held-out data', 'of fitted data'),
                     page.prediction_table('joint', _joints(found), found.validation,
                                           found.in_sample)),
        page.section('What the recording does not determine', page.table(
            ('motion that would determine them', 'parameters that keep their description'),
            [(one.motion, page.wide(', '.join(map(short, one.parameters))))
             for one in found.missing], kind='facts') if found.missing else
            'Nothing: it determines every combination that any motion could.'),
        page.section(
            'Effort: measured, predicted, residual',
            'Low-passed as the equations were: the worst three seconds of the recording and what '
            'is around them. "Held out" is predicted by a fit to the half of the recording that '
            'does not contain this stretch.',
            *effort_charts(),
            page.pair(
                page.chart('friction', 'Friction of the chosen joint over speed',
                           page.titled('Friction', '<span class="unit"></span>, <b>over '
                                                   'speed</b>, <span id="speed-unit"></span>'),
                           is_wide=False),
                spectrum_chart(is_wide=False))),
        overview_section('Prediction error of held-out data'),
        page.section(
            'What was identified', _assumption(found), page.key('described', 'identified'),
            _links(found, outputs),
            page.details('Every inertial parameter, in kg, kg m and kg m²', page.table(
                ('parameter', 'described', 'identified', '± one sd', 'identifiable'),
                [(name, f'{before:.4g}', f'{after:.4g}', f'{found.standard_deviations[name]:.2g}',
                  found.classes[name]) for name, before, after in zip(
                    robot.parameter_names, robot.parameters, found.model.inertial, strict=True)])),
            page.details('Friction, term by term', friction_table(found), is_open=True)),
        page.section('What the recording alone determines',
                     'Base parameters by weighted least squares without any description, the best '
                     'known first. Standard deviations account for correlated errors of '
                     'neighbouring samples.', _base(found)),
        page.section('What was chosen, and why', page.table(
            ('choice', 'value', 'because'),
            [(one.what, one.value, page.wide(one.reason)) for one in found.choices],
            kind='facts')),
        page.section('Remarks and settings',
                     page.finding_items((*found.findings, *outputs.findings)), page.facts([
            *signal_facts(dataset, found.signals, found.estimator),
            ('gravity', ', '.join(f'{x:.4f}' for x in found.model.gravity) + ' m/s² in the base'),
            ('worst three seconds', '; '.join(f'{start:.1f} to {end:.1f} s: {percent(error)}'
                                              for start, end, error in found.worst)),
            ('computed in', ', '.join(f'{stage} {seconds:.2f} s'
                                      for stage, seconds in found.seconds.items()))])),
    ], kind='identification', verdict=found.verdict,
        notice=page.refusal('No URDF was written.', outputs.refused),
    ).render(charts(found, dataset, outputs.friction), 'identification.js')


def effort_charts() -> list[page.Html]:
    """Placeholders of the choice of a joint, its efforts and its residuals."""
    return [page.tabs('Joint'),
            page.chart('effort', 'Measured and predicted effort of the chosen joint over time',
                       page.titled('Effort')),
            page.chart('residual', 'Difference of measured and predicted effort over time',
                       page.titled('Residual'))]


def spectrum_chart(*, is_wide: bool) -> page.Html:
    """Placeholder of the spectra of `spectra`."""
    return page.chart('spectrum', 'Spectra of effort and error of the chosen joint',
                      page.titled('Spectrum', 'effort and error per root Hz, logarithmic; the '
                                              'cut-off is marked'), is_wide=is_wide)


def overview_section(title: str) -> page.Html:
    """Section with the placeholder of the errors of `overview`."""
    return page.section('Over the whole recording', page.chart(
        'overview', 'Error of every joint over the whole recording',
        page.titled(title, 'RMS of a window, N m or N, logarithmic')))


def verdict_sentence(found: Identification) -> str:
    """The verdict in one sentence."""
    return prediction_sentence(found.verdict, 'motion', found.model.robot.joint_names,
                               found.validation, found.in_sample)


def summary_text(found: Identification) -> str:
    """Verdict, errors of the joints and warnings, for a terminal."""
    lines = [verdict_sentence(found), '', *prediction_lines(
        'joint', _joints(found), found.validation, found.in_sample)]
    lines += ['', f'{found.base.rank} base parameters: {found.base.kinds}; condition number '
                  f'{found.base.condition:.3g}', *found.verdict_reasons[1:]]
    lines += [f'missing: {short(", ".join(one.parameters))}; to determine it, {one.motion}'
              for one in found.missing]
    listed = tuple(', '.join(one.parameters[:3]) for one in found.missing)
    return '\n'.join([*lines, *warnings(
        finding for finding in found.findings if not finding.subject.startswith(listed))])


def _joints(found: Identification) -> list[tuple[str, str]]:
    """Name and unit of effort of each joint."""
    robot = found.model.robot
    return list(zip(robot.joint_names, effort_units(robot), strict=True))


def _story(found: Identification, dataset: Dataset) -> str:
    pieces = f' in {len(dataset.segments)} pieces' if len(dataset.segments) > 1 else ''
    return (f'{dataset.count:,} rows, {dataset.duration:.0f} s{pieces}, of '
            f'{len(dataset.joint_names)} joints, from {dataset.source}. "Held out" is each half '
            'of the recording, predicted by a fit to the other half, with every choice made '
            'there.')


def _assumption(found: Identification) -> str:
    """What standard deviations of single parameters assume; empty without a prior."""
    if not found.description_deviation:
        return ''
    return ('Standard deviations assume that the description is right within '
            f'{percent(found.description_deviation)} of each mass (one standard deviation), and '
            'moments and inertias likewise: the recording alone determines only the combinations '
            'below.')


def _links(found: Identification, outputs: Outputs) -> page.Html:
    """Mass and centre of mass of every link, described and identified."""
    before, after = found.model.robot.inertial_parameters, outputs.robot.inertial_parameters
    largest = max(float(np.max(np.abs(before[:, 0]))), float(np.max(np.abs(after[:, 0]))), 1e-12)
    return page.table(
        ('link', '', 'mass described, kg', 'identified', '± one sd',
         'centre of mass described, mm', 'identified'),
        [(name, page.bars((old[0] / largest, 'before'), (new[0] / largest, 'after')),
          f'{old[0]:.4g}', f'{new[0]:.4g}', f'{found.standard_deviations[f"{name}/m"]:.2g}',
          centre_text(old), centre_text(new))
         for name, old, new in zip(found.model.robot.body_names, before, after, strict=True)])


def centre_text(ten: FloatArray) -> str:
    """Centre of mass from ten inertial parameters, in mm."""
    if abs(ten[0]) < 1e-12:
        return '-'
    # Adding zero turns -0 into 0.
    return ', '.join(f'{x:.0f}' for x in np.round(1e3 * ten[1:4] / ten[0]) + 0.0)


def _base(found: Identification) -> page.Html:
    """Base parameters with their standard deviations, estimated without a description."""
    rows = []
    for k in np.argsort(found.relative_deviations):
        relative = float(found.relative_deviations[k])
        is_known = np.isfinite(relative)
        # A bar by decades, from 0.01 % to 100 %.
        share = float(np.log10(max(relative, 1e-4)) / 4.0 + 1.0) if is_known else 1.0
        rows.append((page.wide(short(found.base.base_names[k])),
                     page.bars((share, 'before' if relative > VAGUE else 'after')),
                     f'{found.base_values[k]:.4g}', f'{found.base_deviations[k]:.2g}',
                     percent(relative) if is_known else '-'))
    return page.table(('base parameter', 'relative deviation, 0.01 to 100 %', 'value',
                       '± one sd', 'relative'), rows)


def friction_table(found: Identification) -> page.Html:
    """The friction terms of every axis."""
    model, efforts, rows = found.model, effort_units(found.model.robot), []
    for name, feature, value in zip(found.names[10 * model.robot.n_bodies:], model.features,
                                    model.friction, strict=True):
        slides = efforts[int(np.argmax(np.abs(model.axes[feature.axis])))] == 'N'
        length = 'm' if slides else 'rad'
        unit = length if shares_option(feature.term) == 'length' else f'{length}/s'
        rows.append((name, f'{value:.4g}', f'{found.standard_deviations[name]:.2g}',
                     UNITS[feature.term][slides],
                     f'{feature.option:.3g} {unit}' if feature.option else ''))
    return page.table(('term', 'value', '± one sd', 'unit', 'width or length'), rows)


def charts(found: Identification, dataset: Dataset, plain: PlainFriction) -> dict[str, Any]:
    """The data of the charts of the page, in plain types."""
    motions = motions_of(dataset, found.signals)
    parts = [_held_and_fitted(found, motion) for motion in motions]
    longest = max(motions, key=lambda motion: motion.count)
    names = ('held out', 'predicted')
    return {'joints': list(dataset.joint_names), 'units': list(effort_units(found.model.robot)),
            'efforts': effort_curves(parts, names, found.worst[0][0] if found.worst else None),
            'overview': overview(parts),
            'spectra': spectra(longest, {'error': found.model.efforts(longest)}),
            'friction': friction_curves(found.model, parts, plain),
            'cutoff': found.signals.cutoff}


def _held_and_fitted(found: Identification, motion: Motion) -> Predicted:
    """Efforts predicted by the fit to the other half, and by the identified model."""
    early = motion.time < found.middle
    held = np.where(early[:, np.newaxis], found.halves[1].efforts(motion),
                    found.halves[0].efforts(motion))
    return predicted(motion, (held, found.model.efforts(motion)), found.signals)


def effort_curves(parts: Sequence[Predicted], names: Sequence[str], worst: float | None = None
                  ) -> dict[str, Any]:
    """Measured efforts, and those of the named models with their residuals.

    Around three seconds that begin at the time ``worst``, s, or at the beginning.
    """
    time = np.concatenate([part.motion.time for part in parts])
    curves = [np.concatenate([part.measured for part in parts]),
              *(np.concatenate([part.efforts[k] for part in parts]) for k in range(len(names)))]
    middle = time[0] if worst is None else worst + 1.5
    start = max(time[0], min(middle - 0.5 * STRETCH, time[-1] - STRETCH))
    kept = (time >= start) & (time <= start + STRETCH)
    time, values = with_gaps(time[kept], np.hstack(curves)[kept], SAMPLES)
    measured, *models = np.split(values.T, len(curves))
    return {'time': rounded(time, 7), 'measured': rounded(measured),
            'models': [{'name': name, 'predicted': rounded(one),
                        'residual': rounded(measured - one)}
                       for name, one in zip(names, models, strict=True)]}


def overview(parts: Sequence[Predicted]) -> dict[str, Any]:
    """RMS error of the first model in windows over the whole recording."""
    length = sum(float(one.motion.time[-1] - one.motion.time[0]) for one in parts)
    window = max(SHORTEST_WINDOW, length / WINDOWS)
    times, errors = [], []
    for one in parts:
        place = ((one.motion.time - one.motion.time[0]) / window).astype(int)
        count = np.maximum(np.bincount(place), 1)
        squares = np.stack([np.bincount(place, column)
                            for column in ((one.measured - one.efforts[0]) ** 2).T], axis=1)
        times.append(one.motion.time[0] + window * (np.arange(len(count)) + 0.5))
        errors.append(np.sqrt(squares / count[:, np.newaxis]))
    time, values = np.concatenate(times), np.concatenate(errors)
    time, values = with_gaps(time, values, len(time))
    return {'time': rounded(time, 7), 'window': window, 'errors': rounded(values.T)}


def spectra(motion: Motion, efforts: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Amplitude densities of the measured effort, and of the errors of named predictions."""
    from scipy.signal import welch
    length = min(motion.count, 2 * FREQUENCIES, max(16, motion.count // 4))
    curves = []
    for name, one in (('effort', np.zeros_like(motion.effort)), *efforts.items()):
        frequency, power = welch(motion.effort - one, fs=motion.rate, nperseg=length, axis=0,
                                 detrend='constant')
        density = np.sqrt(power[1:])
        curves.append({'name': name, 'density': rounded(
            np.maximum(density, LOWEST * np.max(density, axis=0)).T)})
    return {'frequency': rounded(frequency[1:], 5), 'curves': curves}


def friction_curves(model: Model, parts: Sequence[Predicted], plain: PlainFriction
                    ) -> list[dict[str, Any]]:
    """Friction over speed of every joint: identified, as in the URDF, and measured.

    Identified friction is at steady speed and median load. Measured friction is the median of the
    efforts minus those of bodies and rotors, ``at`` the speeds.
    """
    speed = np.concatenate([part.motion.v for part in parts])
    beyond = np.concatenate([
        part.measured - part.efforts[-1] + model.without('armature').friction_efforts(part.motion)
        for part in parts])
    loads = [load for part in parts if (load := model.axis_loads(part.motion)) is not None]
    load = np.median(np.abs(np.concatenate(loads)), axis=0) if loads else np.zeros(len(model.axes))
    x = np.linspace(-1.0, 1.0, POINTS)
    out = []
    for j in range(model.axes.shape[1]):
        largest = max(float(np.percentile(np.abs(speed[:, j]), 99.5)), 1e-9)
        # Dense around zero, where friction changes.
        v = largest * np.sign(x) * np.abs(x) ** 2
        identified = np.zeros(POINTS)
        for feature, value in zip(model.features, model.friction, strict=True):
            along = model.axes[feature.axis, j]
            if along and feature.term != 'armature':
                identified += value * along * steady(feature.term, feature.option, along * v,
                                                     float(load[feature.axis]))
        at, measured = _medians(speed[:, j], beyond[:, j], largest)
        out.append({'speed': rounded(v), 'identified': rounded(identified),
                    'urdf': rounded(plain.damping[j] * v
                                    + plain.friction[j] * np.tanh(v / COULOMB_VELOCITY)),
                    'at': rounded(at), 'measured': rounded(measured)})
    return out


def steady(term: str, option: float, speed: FloatArray, load: float) -> FloatArray:
    """Effort of a term per unit of its parameter at a steady speed, shape (N,)."""
    if term in ('dahl', 'load_dahl'):
        return np.sign(speed) * (abs(load) if term == 'load_dahl' else 1.0)
    still = np.zeros_like(speed)
    return columns_of(term, (option,), still, speed, still, np.full_like(speed, load))[:, 0]


def _medians(speed: FloatArray, effort: FloatArray, largest: float
             ) -> tuple[FloatArray, FloatArray]:
    """Medians of speed and effort in bins of speed with enough samples."""
    place = np.clip(((speed / largest + 1.0) * 0.5 * BINS).astype(int), -1, BINS)
    within = np.abs(speed) <= largest
    bins = [inside for k in range(BINS)
            if np.count_nonzero(inside := (place == k) & within) >= IN_A_BIN]
    return (np.array([np.median(speed[inside]) for inside in bins]),
            np.array([np.median(effort[inside]) for inside in bins]))
