# SPDX-License-Identifier: Apache-2.0
"""The tables of the page, as HTML."""

from __future__ import annotations

from html import escape

import numpy as np

from robot_dynamics.identification.friction import UNITS, shares_option
from robot_dynamics.identification.outputs import Outputs
from robot_dynamics.identification.quality import VAGUE
from robot_dynamics.identification.result import Identification
from robot_dynamics.model.robot import effort_units
from robot_dynamics.report.identification.markup import finding_items, items, table
from robot_dynamics.report.identification.text import percent, short


def reasons(found: Identification) -> str:
    """Return why the verdict is what it is."""
    return items(escape(reason) for reason in found.verdict_reasons)


def missing(found: Identification) -> str:
    """Return what the recording does not tell, and which motion would."""
    if not found.missing:
        return ('<p class="note">Nothing: its motion tells every combination that any motion '
                'could.</p>')
    rows = [f'<tr><td>{escape(one.motion)}</td><td class="wide">'
            f'{escape(", ".join(short(name) for name in one.parameters))}</td></tr>'
            for one in found.missing]
    return table(('what would tell it', 'what is not told, and keeps its description'), rows,
                 'facts')


def joints(found: Identification) -> str:
    """Return errors of every joint, of what the fit has not seen and of what it has."""
    kinds = effort_units(found.model.robot)
    worst = max(float(np.max(found.validation.relative)), float(np.max(found.in_sample.relative)),
                1e-12)
    rows = []
    for k, name in enumerate(found.model.robot.joint_names):
        own, other = (float(one.relative[k]) for one in (found.in_sample, found.validation))
        rows.append(
            f'<tr><td>{escape(name)}</td>'
            f'<td class="bars">{_bar(other / worst, "before")}{_bar(own / worst, "after")}</td>'
            f'<td>{found.validation.rmse[k]:.3g} {kinds[k]}</td>'
            f'<td>{found.in_sample.rmse[k]:.3g} {kinds[k]}</td>'
            f'<td>{percent(other)}</td><td>{percent(own)}</td></tr>')
    rows.append('<tr class="total"><td>all joints</td><td></td><td></td><td></td>'
                f'<td>{percent(found.validation.total)}</td>'
                f'<td>{percent(found.in_sample.total)}</td></tr>')
    return table(('joint', '', 'RMS, not seen', 'RMS, fitted', 'relative, not seen',
                  'relative, fitted'), rows)


def choices(found: Identification) -> str:
    """Return what was chosen, and why."""
    return table(('choice', 'taken', 'because'), [
        f'<tr><td>{escape(one.what)}</td><td>{escape(one.value)}</td>'
        f'<td class="wide">{escape(one.reason)}</td></tr>' for one in found.choices], 'facts')


def findings(found: Identification, outputs: Outputs) -> str:
    """Return what a user should know, warnings first."""
    return finding_items((*found.findings, *outputs.findings))


def links(found: Identification, outputs: Outputs) -> str:
    """Return mass and centre of mass of every link, described and identified."""
    before = found.model.robot.inertial_parameters
    after = outputs.robot.inertial_parameters
    deviations = found.standard_deviations
    largest = max(float(np.max(np.abs(before[:, 0]))), float(np.max(np.abs(after[:, 0]))), 1e-12)
    rows = []
    for k, name in enumerate(found.model.robot.body_names):
        rows.append(
            f'<tr><td>{escape(name)}</td>'
            f'<td class="bars">{_bar(before[k, 0] / largest, "before")}'
            f'{_bar(after[k, 0] / largest, "after")}</td>'
            f'<td>{before[k, 0]:.4g}</td><td>{after[k, 0]:.4g}</td>'
            f'<td>{deviations[f"{name}/m"]:.2g}</td>'
            f'<td>{_centre(before[k])}</td><td>{_centre(after[k])}</td></tr>')
    return table(('link', '', 'mass described, kg', 'identified', '± one sd',
                  'centre of mass described, mm', 'identified'), rows)


def base(found: Identification) -> str:
    """Return the base parameters, with how well the recording alone tells them."""
    rows = []
    order = np.argsort(found.relative_deviations)
    for k in order:
        relative = float(found.relative_deviations[k])
        kind = 'before' if relative > VAGUE else 'after'
        rows.append(
            f'<tr><td class="wide">{escape(short(found.base.base_names[k]))}</td>'
            f'<td class="bars">{_bar(_decades(relative), kind)}</td>'
            f'<td>{found.base_values[k]:.4g}</td><td>{found.base_deviations[k]:.2g}</td>'
            f'<td>{percent(relative) if np.isfinite(relative) else "-"}</td></tr>')
    return table(('base parameter', 'relative deviation, 0.01 to 100 %', 'value', '± one sd',
                  'relative'), rows)


def parameters(found: Identification) -> str:
    """Return every inertial parameter of every link."""
    described = found.model.robot.parameters
    deviations, classes = found.standard_deviations, found.classes
    rows = []
    for name, before, after in zip(found.names, described, found.model.inertial, strict=False):
        rows.append(f'<tr><td>{escape(name)}</td><td>{before:.4g}</td><td>{after:.4g}</td>'
                    f'<td>{deviations[name]:.2g}</td><td>{classes[name]}</td></tr>')
    return table(('parameter', 'described', 'identified', '± one sd', 'told'), rows)


def friction(found: Identification) -> str:
    """Return the friction terms of every axis."""
    deviations, model = found.standard_deviations, found.model
    efforts = effort_units(model.robot)
    rows = []
    for name, feature, value in zip(found.names[10 * model.robot.n_bodies:], model.features,
                                    model.friction, strict=True):
        slides = efforts[int(np.argmax(np.abs(model.axes[feature.axis])))] == 'N'
        length = 'm' if slides else 'rad'
        kind = length if shares_option(feature.term) == 'length' else f'{length}/s'
        option = f'{feature.option:.3g} {kind}' if feature.option else ''
        rows.append(f'<tr><td>{escape(name)}</td><td>{value:.4g}</td>'
                    f'<td>{deviations[name]:.2g}</td><td>{UNITS[feature.term][slides]}</td>'
                    f'<td>{option}</td></tr>')
    return table(('term', 'value', '± one sd', 'unit', 'width or length'), rows)


def _centre(ten: np.ndarray) -> str:
    if abs(ten[0]) < 1e-12:
        return '-'
    # Adding zero turns -0 into 0.
    return ', '.join(f'{x:.0f}' for x in np.round(1e3 * ten[1:4] / ten[0]) + 0.0)


def _decades(relative: float) -> float:
    """Return how far a relative deviation is from 0.01 % to 100 %, by decades."""
    return float(np.log10(max(relative, 1e-4)) / 4.0 + 1.0) if np.isfinite(relative) else 1.0


def _bar(share: float, kind: str) -> str:
    width = 100.0 * min(max(share, 0.0), 1.0) if np.isfinite(share) else 100.0
    return f'<span class="bar {kind}" style="width:{width:.1f}%"></span>'
