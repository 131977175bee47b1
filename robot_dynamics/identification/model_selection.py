# SPDX-License-Identifier: Apache-2.0
"""Selection of friction, prior weight and tilt of gravity by blocked cross-validation.

Each fold of contiguous blocks is predicted from a fit to the others. Squared errors are
weighted by the inverse variance of each joint, which is the same for all candidates. Only
the training blocks are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from robot_dynamics.identification.consistent import fit_consistent, prior_of
from robot_dynamics.identification.friction import FAMILIES, LOADED, shares_option
from robot_dynamics.identification.least_squares import Equations
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.normal_equations import (
    NormalEquations,
    selection,
    tangents,
)
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.model.arrays import FloatArray, IntArray

#: Candidate prior weights, in units of the weighted squared error.
PRIOR_WEIGHTS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
#: Prior weight while other settings are selected.
USUAL_PRIOR_WEIGHT = 10.0
#: Folds of the cross-validation.
FOLDS = 6
#: Relative improvement of predictions required of a richer model.
GAIN = 0.01
#: Newton steps for the tilt, their prior weight, and the largest plausible tilt, rad.
TILT_STEPS, TILT_PRIOR_WEIGHT, LARGEST_TILT = 6, 100.0, 0.3
#: Number of alternations between weights and parameters.
PASSES = 3


@dataclass(frozen=True)
class Choice:
    """A selected setting and the reason, a sentence with numbers."""

    what: str
    value: str
    reason: str


@dataclass(frozen=True, eq=False)
class Chosen:
    """Model of some blocks: its prior weight, fit, and cross-validated score.

    ``tilt``, (2,), rad, are the angles of gravity relative to the description, about two axes
    perpendicular to it.
    """

    model: Model
    prior_weight: float
    fit: Fit
    score: float
    tilt: FloatArray
    features: tuple[int, ...]
    choices: tuple[Choice, ...]


def model_equations(stack: Stack, chosen: Chosen) -> Equations:
    """Equations of a selected model, in all its parameters."""
    p = stack.n_rigid + len(chosen.features)
    W, y, joint, order = [], [], [], []
    for j, rows in enumerate(stack.joints):
        T, where = selection(stack, rows.columns, chosen.features, chosen.model.gravity)
        used = stack.used[:, j]
        part = np.zeros((int(used.sum()), p))
        part[:, where] = rows.A[used] @ T
        W.append(part)
        y.append(rows.y[used])
        joint.append(np.full(len(part), j))
        order.append(np.flatnonzero(used))
    return Equations(*(np.concatenate(part) for part in (W, y, joint, order)))


class ModelSelector:
    """Selects models for blocks of time of a stack.

    Friction terms in ``always``, such as armatures, are in every model; those in ``doubted`` only
    if they improve predictions. ``normal`` are the normal equations if they are known.
    """

    def __init__(self, stack: Stack, blocks: int, always: Sequence[str] = (),
                 families: Mapping[str, tuple[str, ...]] | None = None,
                 doubted: Sequence[str] = (), normal: NormalEquations | None = None):
        self.stack, self.always, self.doubted = stack, tuple(always), tuple(doubted)
        self.families = FAMILIES if families is None else families
        self.normal = NormalEquations(stack, blocks) if normal is None else normal
        self.prior = prior_of(stack.robot.inertial_parameters)
        self._described = stack.robot.gravity

    def choose(self, train: IntArray, families: Sequence[str] | None = None,
               prior_weights: Sequence[float] = PRIOR_WEIGHTS, tilt: str = 'auto') -> Chosen:
        """Model of the blocks ``train``, selected among families, prior weights and tilts."""
        families = tuple(self.families) if families is None else tuple(families)
        found = []
        for family in families:
            found.append((family, *self._suited(family, train)))
        # The errors of all candidates are weighted by the variances of the simplest model.
        weights = found[0][3].weights
        scores = [self._scores(features, self._described, train, (USUAL_PRIOR_WEIGHT,), weights)[0]
                  for _, features, _, _ in found] if len(found) > 1 else [1.0]
        best = 0
        for k in range(1, len(scores)):
            if scores[k] < (1.0 - GAIN) * scores[best]:
                best = k
        family, features, loads, fitted = found[best]
        self._load(features, loads)
        choices = [Choice('friction', family, _compared(families, scores) if len(found) > 1
                          else 'requested')]
        for term in self.doubted:
            features, note = self._worth(term, features, train, weights)
            choices.append(note)
            fitted = fit(self._products(features, self._described, train), self.prior,
                         USUAL_PRIOR_WEIGHT, self._rows(train))
        # A single candidate needs no score, except to compare it with a tilted one.
        prior_weight, scores = (prior_weights[0], [1.0]) if len(prior_weights) == 1 \
            and tilt == 'known' else self._prior_weight(features, self._described, train,
                                                        prior_weights, weights)
        gravity, angles = self._described, np.zeros(2)
        of_tilt: Choice | None = None
        if tilt != 'known' and np.any(self._described):
            tilted, turned = self._tilted(features, train, fitted)
            of_tilted = self._prior_weight(features, tilted, train, prior_weights, weights)
            taken, of_tilt = _tilt_choice(turned, min(scores), min(of_tilted[1]), tilt)
            if taken:
                gravity, angles, (prior_weight, scores) = tilted, turned, of_tilted
        choices += [of_tilt] if of_tilt else []
        choices.append(Choice('prior weight', f'{prior_weight:g}',
                              _compared([f'{s:g}' for s in prior_weights], scores)))
        final = fit(self._products(features, gravity, train), self.prior, prior_weight,
                    self._rows(train), fitted)
        if any(self.stack.features[k].term in LOADED for k in features):
            loads = final.x[:self.stack.n_rigid]
            self._load(features, loads, gravity)
            final = fit(self._products(features, gravity, train), self.prior, prior_weight,
                        self._rows(train), final)
        features, final = self._without_negative_rotors(features, gravity, train, prior_weight,
                                                        final)
        return Chosen(self._model(features, gravity, loads, final.x), prior_weight, final,
                      min(scores), angles, features, tuple(choices))

    def _worth(self, term: str, features: tuple[int, ...], train: IntArray, weights: FloatArray
               ) -> tuple[tuple[int, ...], Choice]:
        """Features without a term, unless the term improves predictions.

        A term with effects that the bodies can represent is left out.
        """
        plain = tuple(k for k in features if self.stack.features[k].term != term)
        rich, poor = (self._scores(some, self._described, train, (USUAL_PRIOR_WEIGHT,), weights)[0]
                      for some in (features, plain))
        reason = _compared(('with', 'without'), (rich, poor))
        if rich < (1.0 - GAIN) * poor:
            return features, Choice(term, 'estimated', reason)
        return plain, Choice(term, 'none', reason)

    def _without_negative_rotors(self, features: tuple[int, ...], gravity: FloatArray,
                                 train: IntArray, prior_weight: float, found: Fit
                                 ) -> tuple[tuple[int, ...], Fit]:
        """Leave out rotor inertias with negative estimates: the bodies already contain them."""
        while True:
            values = found.x[self.stack.n_rigid:]
            kept = [not (self.stack.features[k].term == 'armature' and value < 0.0)
                    for k, value in zip(features, values, strict=True)]
            if all(kept):
                return features, found
            features = tuple(k for k, keep in zip(features, kept, strict=True) if keep)
            x = np.append(found.x[:self.stack.n_rigid], values[kept])
            found = fit(self._products(features, gravity, train), self.prior, prior_weight,
                        self._rows(train), replace(found, x=x))

    def products(self, chosen: Chosen) -> FloatArray:
        """Products of a model over all blocks, shape (n, p + 1, p + 1)."""
        self._load(chosen.features, chosen.model.loads, chosen.model.gravity)
        return self._products(chosen.features, chosen.model.gravity,
                              np.arange(self.normal.blocks))

    def errors(self, chosen: Chosen, blocks: IntArray
               ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sums of squares of errors and efforts in some blocks, and numbers of rows, (n,) each."""
        self._load(chosen.features, chosen.model.loads, chosen.model.gravity)
        products = self._products(chosen.features, chosen.model.gravity, blocks)
        return (squared_errors(products, chosen.model.parameters), products[:, -1, -1],
                self._rows(blocks))

    def errors_of(self, chosen: Chosen, parameters: FloatArray) -> FloatArray:
        """Sums of squares of errors of a model with other parameters, shape (n,)."""
        return squared_errors(self.products(chosen), parameters)

    def _model(self, features: tuple[int, ...], gravity: FloatArray, loads: FloatArray,
               x: FloatArray) -> Model:
        stack, rigid = self.stack, self.stack.n_rigid
        return Model(stack.robot, stack.dataset.axes, stack.dataset.axis_names,
                     tuple(stack.features[k] for k in features), gravity, x[:rigid], x[rigid:],
                     loads)

    def _load(self, features: Sequence[int], loads: FloatArray,
              gravity: FloatArray | None = None) -> None:
        """Compute load-dependent features for other loads."""
        changed = self.stack.with_loads(loads, gravity,
                                        {self.stack.features[k].term for k in features})
        if changed:
            self.normal.reload(changed)

    def _rows(self, train: IntArray) -> FloatArray:
        return self.normal.counts[train].sum(axis=0)

    def _products(self, features: Sequence[int], gravity: FloatArray, train: IntArray,
                  tilted: FloatArray | None = None) -> FloatArray:
        return self.normal.of_model(features, gravity, train, tilted)

    def _suited(self, family: str, train: IntArray) -> tuple[tuple[int, ...], FloatArray, Fit]:
        """Features of a family with the best widths and lengths, their loads and their fit."""
        terms = tuple(dict.fromkeys((*self.families[family], *self.always)))
        features = self._middle(terms)
        loads = self.stack.robot.parameters
        self._load(features, loads)
        found = None
        for _ in range(2):
            products = self._products(features, self._described, train)
            found = fit(products, self.prior, USUAL_PRIOR_WEIGHT, self._rows(train), found)
            if any(term in LOADED for term in terms):
                loads = found.x[:self.stack.n_rigid]
                self._load(features, loads)
            features = self._tuned(features, found, train)
        products = self._products(features, self._described, train)
        return features, loads, fit(products, self.prior, USUAL_PRIOR_WEIGHT, self._rows(train),
                                    found)

    def _middle(self, terms: Sequence[str]) -> tuple[int, ...]:
        """Features of some terms, each with the middle one of its options."""
        groups: dict[tuple[int, str], list[int]] = {}
        for k, feature in enumerate(self.stack.features):
            if feature.term in terms:
                groups.setdefault((feature.axis, feature.term), []).append(k)
        return tuple(sorted(members[(len(members) - 1) // 2] for members in groups.values()))

    def _tuned(self, features: tuple[int, ...], found: Fit, train: IntArray) -> tuple[int, ...]:
        """Features with the widths and lengths of the smallest error, axis by axis."""
        every = tuple(range(len(self.stack.features)))
        products = self._products(every, self._described, train)
        rigid = self.stack.n_rigid
        x = np.zeros(rigid + len(every))
        x[:rigid] = found.x[:rigid]
        x[rigid + np.array(features)] = found.x[rigid:]
        chosen = list(features)
        whole = np.tensordot(found.weights, products, 1)
        for axis in range(len(self.stack.dataset.axes)):
            mine = [k for k in chosen if self.stack.features[k].axis == axis]
            if not mine:
                continue
            rest = x.copy()
            rest[rigid + np.array(mine)] = 0.0
            z = np.append(rest, -1.0)
            candidates = np.array(self._alternatives(mine))
            places = rigid + candidates
            parts, left = _best_parts(whole[places[:, :, np.newaxis], places[:, np.newaxis]],
                                      -(whole[places] @ z))
            taken = int(np.argmin(left))
            best, values = candidates[taken].tolist(), parts[taken]
            x[rigid + np.array(mine)] = 0.0
            x[rigid + np.array(best)] = values
            chosen = [k for k in chosen if k not in mine] + list(best)
        return tuple(sorted(chosen))

    def _alternatives(self, mine: Sequence[int]) -> list[list[int]]:
        """The same terms of an axis with all combinations of width and length."""
        features = self.stack.features
        axis = features[mine[0]].axis
        kinds = sorted({shares_option(features[k].term) for k in mine} - {''})
        options = {kind: sorted({f.option for f in features if f.axis == axis
                                 and shares_option(f.term) == kind}) for kind in kinds}
        number = {(f.axis, f.term, f.option): k for k, f in enumerate(features)}
        out = []
        for values in product(*(options[kind] for kind in kinds)):
            of = dict(zip(kinds, values, strict=True))
            out.append([number[axis, features[k].term,
                               of.get(shares_option(features[k].term), features[k].option)]
                        for k in mine])
        return out

    def _scores(self, features: Sequence[int], gravity: FloatArray, train: IntArray,
                prior_weights: Sequence[float], weights: FloatArray) -> list[float]:
        """Squared error of predictions of each fold from the others, for each prior weight."""
        whole, rows = self._products(features, gravity, train), self._rows(train)
        folds = [(self._products(features, gravity, fold), self._rows(fold))
                 for fold in np.array_split(train, min(FOLDS, len(train)))]
        scores, start = [], None
        for prior_weight in prior_weights:
            start = fit(whole, self.prior, prior_weight, rows, start)
            lefts = [fit(whole - held, self.prior, prior_weight, rows - some, start, passes=1)
                     for held, some in folds]
            scores.append(sum(float(weights @ squared_errors(held, left.x))
                              for (held, _), left in zip(folds, lefts, strict=True)))
        return scores

    def _prior_weight(self, features: Sequence[int], gravity: FloatArray, train: IntArray,
                      prior_weights: Sequence[float], weights: FloatArray
                      ) -> tuple[float, list[float]]:
        """Largest prior weight that predicts as well as the best one, and the errors of all.

        Parameters that the recording does not determine then remain near the description.
        """
        scores = self._scores(features, gravity, train, prior_weights, weights)
        good = [one for one, score in zip(prior_weights, scores, strict=True)
                if score <= (1.0 + GAIN) * min(scores)]
        return max(good), scores

    def _tilted(self, features: Sequence[int], train: IntArray, start: Fit
                ) -> tuple[FloatArray, FloatArray]:
        """Best gravity by Gauss-Newton steps, and its angles relative to the described one.

        The prior weight is large, because the mass of the first link would otherwise absorb part
        of the tilt.
        """
        strong = float(np.linalg.norm(self._described))
        gravity, found, rows = self._described, start, self._rows(train)
        for _ in range(TILT_STEPS):
            products = self._products(features, gravity, train, found.x[:self.stack.n_rigid])
            wide = replace(found, x=np.append(found.x[:self.stack.n_rigid + len(features)],
                                              (0.0, 0.0)))
            found = fit(products, self.prior, TILT_PRIOR_WEIGHT, rows, wide, passes=1)
            step = found.x[-2:] @ tangents(gravity)
            gravity = gravity + step
            gravity = gravity * strong / np.linalg.norm(gravity)
            if np.linalg.norm(step) < 1e-4 * strong:
                break
        across = tangents(self._described) @ gravity / strong
        return gravity, np.arcsin(np.clip(across, -1.0, 1.0))


def _best_parts(G: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shortest minima of 1/2 x^T G x - b^T x for several semi-definite G, and -b^T x."""
    sizes, axes = np.linalg.eigh(G)
    kept = sizes > 1e-10 * np.maximum(sizes[:, -1:], 1e-300)
    along = np.einsum('kij,ki->kj', axes, b)
    x = np.einsum('kij,kj->ki', axes, np.where(kept, along / np.where(kept, sizes, 1.0), 0.0))
    return x, -np.sum(x * b, axis=1)


def _tilt_choice(angles: FloatArray, score: float, new: float, how: str) -> tuple[bool, Choice]:
    """Whether a tilt is used, and the reason."""
    size = float(np.linalg.norm(angles))
    words = f'{np.degrees(size):.2f} deg off the description'
    if how == 'estimate':
        return True, Choice('gravity', words, 'requested')
    if new < (1.0 - 2.0 * GAIN) * score and size < LARGEST_TILT:
        return True, Choice('gravity', words, 'squared errors of predictions fall by '
                                              f'{100 * (1 - _ratio(new, score)):.0f} %')
    return False, Choice('gravity', 'as described', f'a tilt of {np.degrees(size):.2f} deg would '
                         'change squared errors of predictions by '
                         f'{100 * (_ratio(new, score) - 1):+.1f} %')


def _compared(names: Sequence[str], scores: Sequence[float]) -> str:
    """Scores relative to the best one, in words."""
    best = min(scores)
    return 'error of predictions, by the best: ' + ', '.join(
        f'{name} {np.sqrt(_ratio(score, best)):.3f}'
        for name, score in zip(names, scores, strict=True))


def _ratio(score: float, best: float) -> float:
    """Ratio of two scores, 1 if both are zero."""
    return (score + 1e-300) / (best + 1e-300)


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters x, (p,), and inverse variances and squared errors of the joints, (n,)."""

    x: FloatArray
    weights: FloatArray
    errors: FloatArray


def squared_errors(products: FloatArray, x: FloatArray) -> FloatArray:
    """|A x - y|^2 from products [A y]^T [A y] of shape (..., p + 1, p + 1)."""
    z = np.append(x, -1.0)
    return np.maximum(products @ z @ z, 0.0)


def variances(errors: FloatArray, products: FloatArray, rows: FloatArray) -> FloatArray:
    """Error variance of each joint, at least a millionth of the effort squared."""
    return np.maximum(errors, 1e-12 * products[:, -1, -1] + 1e-300) / np.maximum(rows, 1.0)


def fit(products: FloatArray, prior: FloatArray, prior_weight: float, rows: FloatArray,
        start: Fit | None = None, passes: int = PASSES) -> Fit:
    """Fit a model by reweighted regularised least squares.

    ``products``, (n, p + 1, p + 1), are those of each joint, ``rows``, (n,), the rows of each,
    and ``prior``, (nb, 4, 4), the pseudo-inertias of the description. Weights are computed
    ``passes`` times from the previous errors.
    """
    x = None if start is None else start.x
    # The first weights are the inverse variances of efforts, so that no unit and no strong joint
    # dominates.
    weights = (rows / np.maximum(products[:, -1, -1], 1e-300) * 100.0 if start is None
               else start.weights)
    for _ in range(passes):
        whole = np.tensordot(weights, products, 1)
        found = fit_consistent(whole[:-1, :-1], whole[:-1, -1], prior, prior_weight, x)
        x, errors = found.x, squared_errors(products, found.x)
        weights = 1.0 / variances(errors, products, rows)
    return Fit(found.x, weights, errors)
