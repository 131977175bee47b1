# SPDX-License-Identifier: Apache-2.0
"""Chooses friction, the pull towards the description and the tilt of gravity by blocks of time.

A choice is judged by what it predicts: each fold of contiguous blocks is predicted from a fit
to the others, and the squared errors count by the variance of each joint, which is the same
for all candidates. Nothing outside the training blocks is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from robot_dynamics.identification.consistent import fit_consistent, prior_of
from robot_dynamics.identification.friction import FAMILIES, LOADED, shares_option
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.normal_equations import Normal, tangents
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.model.arrays import FloatArray, IntArray

#: Pulls towards the description that are tried, in units of the weighted squared error.
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
#: The pull while other things are chosen.
USUAL_STRENGTH = 10.0
#: Folds of the cross-validation.
FOLDS = 6
#: A richer model has to predict better by this part.
GAIN = 0.01
#: Newton steps for the tilt, the pull towards the description, and the largest tilt believed, rad.
TILT_STEPS, TILT_STRENGTH, LARGEST_TILT = 6, 100.0, 0.3
#: Weights and parameters are computed in turn so many times.
PASSES = 3


@dataclass(frozen=True)
class Choice:
    """What was chosen, and why.

    Parameters
    ----------
    what : str
        What there was to choose.
    value : str
        What was chosen.
    reason : str
        Why, in a sentence with numbers.
    """

    what: str
    value: str
    reason: str


@dataclass(frozen=True, eq=False)
class Chosen:
    """A model of some blocks.

    Parameters
    ----------
    model : Model
        With its parameters.
    family : str
        Name of the set of friction terms.
    strength : float
        Pull towards the description.
    fit : Fit
        The fit.
    score : float
        Cross-validated squared error, by variance.
    tilt : ndarray, shape (2,)
        Angles between gravity and that of the description, about two axes across it, rad.
    features : tuple of int
        Numbers of the features.
    choices : tuple of Choice
        What was chosen and why.
    """

    model: Model
    family: str
    strength: float
    fit: Fit
    score: float
    tilt: FloatArray
    features: tuple[int, ...]
    choices: tuple[Choice, ...]


class Chooser:
    """Chooses models for blocks of a stack.

    Parameters
    ----------
    stack : Stack
        Equations with all columns that may be wanted.
    blocks : int
        Blocks of time.
    always : sequence of str
        Friction terms that every model has, such as armatures.
    doubted : sequence of str
        Those of them that a model has to predict better with, or it does without.
    families : mapping, optional
        Sets of friction terms by name; `FAMILIES` if not given.
    """

    def __init__(self, stack: Stack, blocks: int, always: Sequence[str] = (),
                 families: Mapping[str, tuple[str, ...]] | None = None,
                 doubted: Sequence[str] = ()):
        self.stack, self.always, self.doubted = stack, tuple(always), tuple(doubted)
        self.families = FAMILIES if families is None else families
        self.normal = Normal(stack, blocks)
        self.prior = prior_of(stack.robot.inertial_parameters)
        self._described = stack.robot.gravity
        # Of which loads the columns of load-dependent friction are.
        self._loads: tuple[bytes, bytes] = (b'', b'')

    def choose(self, train: IntArray, families: Sequence[str] | None = None,
               strengths: Sequence[float] = STRENGTHS, tilt: str = 'auto') -> Chosen:
        """Choose a model for some blocks.

        Parameters
        ----------
        train : ndarray of int64
            The blocks that may be looked at.
        families : sequence of str, optional
            Names of families, of which the best is taken; all if not given.
        strengths : sequence of float
            Pulls to try.
        tilt : {'auto', 'estimate', 'known'}
            Whether the direction of gravity is estimated.

        Returns
        -------
        Chosen
            The model with its parameters.
        """
        families = tuple(self.families) if families is None else tuple(families)
        found = []
        for family in families:
            found.append((family, *self._suited(family, train)))
        # All are judged by the variances that the plainest model leaves.
        judge = found[0][3].weights
        scores = [self._scores(features, self._described, train, (USUAL_STRENGTH,), judge)[0]
                  for _, features, _, _ in found] if len(found) > 1 else [1.0]
        best = 0
        for k in range(1, len(scores)):
            if scores[k] < (1.0 - GAIN) * scores[best]:
                best = k
        family, features, loads, fitted = found[best]
        self._load(loads)
        choices = [Choice('friction', family, _compared(families, scores) if len(found) > 1
                          else 'asked for')]
        for term in self.doubted:
            features, note = self._worth(term, features, train, judge)
            choices.append(note)
            fitted = fit(self._products(features, self._described, train), self.prior,
                         USUAL_STRENGTH, self._rows(train))
        strength, scores = self._strength(features, self._described, train, strengths, judge)
        gravity, angles, note = self._described, np.zeros(2), None
        if tilt != 'known' and np.any(self._described):
            tilted, turned = self._tilted(features, train, fitted)
            of_tilted = self._strength(features, tilted, train, strengths, judge)
            taken, note = _tilt_choice(turned, min(scores), min(of_tilted[1]), tilt)
            if taken:
                gravity, angles, (strength, scores) = tilted, turned, of_tilted
        choices += [note] if note else []
        choices.append(Choice('pull towards the description', f'{strength:g}',
                              _compared([f'{s:g}' for s in strengths], scores)))
        final = fit(self._products(features, gravity, train), self.prior, strength,
                    self._rows(train), fitted)
        if any(self.stack.features[k].term in LOADED for k in features):
            loads = final.x[:self.stack.n_rigid]
            self._load(loads, gravity)
            final = fit(self._products(features, gravity, train), self.prior, strength,
                        self._rows(train), final)
        features, final = self._without_negative_rotors(features, gravity, train, strength,
                                                        final)
        return Chosen(self._model(features, gravity, loads, final.x), family, strength, final,
                      min(scores), angles, features, tuple(choices))

    def _worth(self, term: str, features: tuple[int, ...], train: IntArray, judge: FloatArray
               ) -> tuple[tuple[int, ...], Choice]:
        """Return the features without a term, unless it predicts better with it.

        What bodies can say as well is theirs: a term that no description knows would take it.
        """
        plain = tuple(k for k in features if self.stack.features[k].term != term)
        rich, poor = (self._scores(some, self._described, train, (USUAL_STRENGTH,), judge)[0]
                      for some in (features, plain))
        reason = _compared(('with', 'without'), (rich, poor))
        if rich < (1.0 - GAIN) * poor:
            return features, Choice(term, 'estimated', reason)
        return plain, Choice(term, 'none', reason)

    def _without_negative_rotors(self, features: tuple[int, ...], gravity: FloatArray,
                                 train: IntArray, strength: float, found: Fit
                                 ) -> tuple[tuple[int, ...], Fit]:
        """Leave rotor inertias out that come out negative: the bodies already have them."""
        while True:
            values = found.x[self.stack.n_rigid:]
            kept = [not (self.stack.features[k].term == 'armature' and value < 0.0)
                    for k, value in zip(features, values, strict=True)]
            if all(kept):
                return features, found
            features = tuple(k for k, keep in zip(features, kept, strict=True) if keep)
            x = np.append(found.x[:self.stack.n_rigid], values[kept])
            found = fit(self._products(features, gravity, train), self.prior, strength,
                        self._rows(train), replace(found, x=x))

    def products(self, chosen: Chosen) -> FloatArray:
        """Return the products of a model over all blocks, shape (n, p + 1, p + 1)."""
        self._load(chosen.model.loads, chosen.model.gravity)
        return self._products(chosen.features, chosen.model.gravity,
                              np.arange(self.normal.blocks))

    def errors(self, chosen: Chosen, blocks: IntArray
               ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return sums of squares of errors and efforts in some blocks, and rows, each (n,)."""
        self._load(chosen.model.loads, chosen.model.gravity)
        products = self._products(chosen.features, chosen.model.gravity, blocks)
        return (squared_errors(products, chosen.model.parameters), products[:, -1, -1],
                self._rows(blocks))

    def errors_of(self, chosen: Chosen, parameters: FloatArray) -> FloatArray:
        """Return sums of squares of errors of other parameters of a model, shape (n,)."""
        return squared_errors(self.products(chosen), parameters)

    def _model(self, features: tuple[int, ...], gravity: FloatArray, loads: FloatArray,
               x: FloatArray) -> Model:
        stack, rigid = self.stack, self.stack.n_rigid
        return Model(stack.robot, stack.dataset.axes, stack.dataset.axis_names,
                     tuple(stack.features[k] for k in features), gravity, x[:rigid], x[rigid:],
                     loads)

    def _load(self, loads: FloatArray, gravity: FloatArray | None = None) -> None:
        """Compute load-dependent friction of other loads."""
        if any(feature.term in LOADED for feature in self.stack.features):
            new = (loads.tobytes(), self._described.tobytes() if gravity is None
                   else gravity.tobytes())
            if new != self._loads:
                self.stack.with_loads(loads, gravity)
                self.normal.reload()
                self._loads = new

    def _rows(self, train: IntArray) -> FloatArray:
        return self.normal.counts[train].sum(axis=0)

    def _products(self, features: Sequence[int], gravity: FloatArray, train: IntArray,
                  tilted: FloatArray | None = None) -> FloatArray:
        return self.normal.of_model(features, gravity, tilted)[train].sum(axis=0)

    def _suited(self, family: str, train: IntArray) -> tuple[tuple[int, ...], FloatArray, Fit]:
        """Return features of a family with the widths and lengths that suit, loads and fit."""
        terms = tuple(dict.fromkeys((*self.families[family], *self.always)))
        features = self._middle(terms)
        loads = self.stack.robot.parameters
        has_load = any(term in LOADED for term in terms)
        if has_load:
            self._load(loads)
        found = None
        for _ in range(2):
            products = self._products(features, self._described, train)
            found = fit(products, self.prior, USUAL_STRENGTH, self._rows(train), found)
            if has_load:
                loads = found.x[:self.stack.n_rigid]
                self._load(loads)
            features = self._tuned(features, found, train)
        products = self._products(features, self._described, train)
        return features, loads, fit(products, self.prior, USUAL_STRENGTH, self._rows(train),
                                    found)

    def _middle(self, terms: Sequence[str]) -> tuple[int, ...]:
        """Return the features of some terms, each with the middle one of its options."""
        groups: dict[tuple[int, str], list[int]] = {}
        for k, feature in enumerate(self.stack.features):
            if feature.term in terms:
                groups.setdefault((feature.axis, feature.term), []).append(k)
        return tuple(sorted(members[(len(members) - 1) // 2] for members in groups.values()))

    def _tuned(self, features: tuple[int, ...], found: Fit, train: IntArray) -> tuple[int, ...]:
        """Return the features with the widths and lengths that leave least, axis by axis."""
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
        """Return the same terms of an axis with all widths and lengths; one each for an axis."""
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
                strengths: Sequence[float], judge: FloatArray) -> list[float]:
        """Return the squared error of predictions of each fold from the others, by pull."""
        products = self.normal.of_model(features, gravity)
        whole, rows = products[train].sum(axis=0), self._rows(train)
        folds = [(products[fold].sum(axis=0), self._rows(fold))
                 for fold in np.array_split(train, min(FOLDS, len(train)))]
        scores, start = [], None
        for strength in strengths:
            start = fit(whole, self.prior, strength, rows, start)
            lefts = [fit(whole - held, self.prior, strength, rows - some, start, passes=1)
                     for held, some in folds]
            scores.append(sum(float(judge @ squared_errors(held, left.x))
                              for (held, _), left in zip(folds, lefts, strict=True)))
        return scores

    def _strength(self, features: Sequence[int], gravity: FloatArray, train: IntArray,
                  strengths: Sequence[float], judge: FloatArray) -> tuple[float, list[float]]:
        """Return the strongest pull that predicts as well as the best, and what each leaves.

        What a recording does not tell is better taken from the description.
        """
        scores = self._scores(features, gravity, train, strengths, judge)
        good = [one for one, score in zip(strengths, scores, strict=True)
                if score <= (1.0 + GAIN) * min(scores)]
        return max(good), scores

    def _tilted(self, features: Sequence[int], train: IntArray, start: Fit
                ) -> tuple[FloatArray, FloatArray]:
        """Return the gravity that suits best, and its angles to the described one.

        Gauss-Newton steps. The pull towards the description is a firm one, for without it
        the mass of the first link takes part of the tilt.
        """
        strong = float(np.linalg.norm(self._described))
        gravity, found, rows = self._described, start, self._rows(train)
        for _ in range(TILT_STEPS):
            products = self._products(features, gravity, train, found.x[:self.stack.n_rigid])
            wide = replace(found, x=np.append(found.x[:self.stack.n_rigid + len(features)],
                                              (0.0, 0.0)))
            found = fit(products, self.prior, TILT_STRENGTH, rows, wide, passes=1)
            step = found.x[-2:] @ tangents(gravity)
            gravity = gravity + step
            gravity = gravity * strong / np.linalg.norm(gravity)
            if np.linalg.norm(step) < 1e-4 * strong:
                break
        across = tangents(self._described) @ gravity / strong
        return gravity, np.arcsin(np.clip(across, -1.0, 1.0))


def _best_parts(G: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return minima of 1/2 x^T G x - b^T x for several G, the shortest ones, and -b^T x.

    Parameters
    ----------
    G, b : ndarray, shape (k, f, f) and (k, f)
        Positive semi-definite.
    """
    sizes, axes = np.linalg.eigh(G)
    kept = sizes > 1e-10 * np.maximum(sizes[:, -1:], 1e-300)
    along = np.einsum('kij,ki->kj', axes, b)
    x = np.einsum('kij,kj->ki', axes, np.where(kept, along / np.where(kept, sizes, 1.0), 0.0))
    return x, -np.sum(x * b, axis=1)


def _tilt_choice(angles: FloatArray, score: float, new: float, how: str) -> tuple[bool, Choice]:
    """Return whether a tilt is taken, and why."""
    size = float(np.linalg.norm(angles))
    words = f'{np.degrees(size):.2f} deg off the description'
    if how == 'estimate':
        return True, Choice('gravity', words, 'asked for')
    if new < (1.0 - 2.0 * GAIN) * score and size < LARGEST_TILT:
        return True, Choice('gravity', words, 'squared errors of predictions fall by '
                                              f'{100 * (1 - _ratio(new, score)):.0f} %')
    return False, Choice('gravity', 'as described', f'a tilt of {np.degrees(size):.2f} deg would '
                         'change squared errors of predictions by '
                         f'{100 * (_ratio(new, score) - 1):+.1f} %')


def _compared(names: Sequence[str], scores: Sequence[float]) -> str:
    """Return scores in words, relative to the best."""
    best = min(scores)
    return 'error of predictions, by the best: ' + ', '.join(
        f'{name} {np.sqrt(_ratio(score, best)):.3f}'
        for name, score in zip(names, scores, strict=True))


def _ratio(score: float, best: float) -> float:
    """Return a score over another, 1 where both are zero."""
    return (score + 1e-300) / (best + 1e-300)


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters and what is left of the efforts.

    Parameters
    ----------
    x : ndarray, shape (p,)
        Parameters.
    weights : ndarray, shape (n,)
        Inverse variance of the errors of each joint.
    errors : ndarray, shape (n,)
        Sum of their squares, N^2 m^2.
    steps : int
        Newton steps of the last pass.
    """

    x: FloatArray
    weights: FloatArray
    errors: FloatArray
    steps: int


def squared_errors(products: FloatArray, x: FloatArray) -> FloatArray:
    """Return |A x - y|^2 from products [A y]^T [A y] of shape (..., p + 1, p + 1)."""
    z = np.append(x, -1.0)
    return np.maximum(products @ z @ z, 0.0)


def variances(errors: FloatArray, products: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the variance of the errors of each joint, of a floor on.

    A millionth of the effort: a simulated arm without noise has no errors at all.
    """
    return np.maximum(errors, 1e-12 * products[:, -1, -1] + 1e-300) / np.maximum(rows, 1.0)


def fit(products: FloatArray, prior: FloatArray, strength: float, rows: FloatArray,
        start: Fit | None = None, passes: int = PASSES) -> Fit:
    """Fit a model.

    Parameters
    ----------
    products : ndarray, shape (n, p + 1, p + 1)
        Products of each joint.
    prior : ndarray, shape (nb, 4, 4)
        Pseudo-inertias of the description.
    strength : float
        Of the pull towards them.
    rows : ndarray, shape (n,)
        Rows of each joint.
    start : Fit, optional
        Where to begin.
    passes : int
        Times that weights are computed from the errors of the pass before. Those of an
        unconstrained fit would be too high where the motion says little.

    Returns
    -------
    Fit
        The fit.
    """
    x = None if start is None else start.x
    # First all joints by their efforts, so that no unit and no strong joint decides.
    weights = (rows / np.maximum(products[:, -1, -1], 1e-300) * 100.0 if start is None
               else start.weights)
    for _ in range(passes):
        whole = np.tensordot(weights, products, 1)
        found = fit_consistent(whole[:-1, :-1], whole[:-1, -1], prior, strength, x)
        x, errors = found.x, squared_errors(products, found.x)
        weights = 1.0 / variances(errors, products, rows)
    return Fit(x, weights, errors, found.steps)
