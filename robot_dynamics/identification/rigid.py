# SPDX-License-Identifier: Apache-2.0
"""``identify``: from a dataset to an `Identification`, with the reason of every selection."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.dynamics.base_parameters import (
    METHODS,
    BaseParameters,
    base_parameters,
    structural_base,
)
from robot_dynamics.errors import ParameterError, RecordingError
from robot_dynamics.identification.blocks import best_blocks
from robot_dynamics.identification.checks.plausibility import (
    driving_friction,
    late_efforts,
    plausibility,
    still_joints,
)
from robot_dynamics.identification.closed_loop.estimators import (
    CLOSED_LOOP,
    INSTRUMENTAL,
    OUTPUT_ERROR,
    refined,
    simulated_stack,
)
from robot_dynamics.identification.consistent import fit_consistent, posterior_covariance
from robot_dynamics.identification.dataset.dataset import Dataset
from robot_dynamics.identification.dataset.settings import (
    read_estimate,
    require_bool,
    require_choice,
    require_number,
)
from robot_dynamics.identification.friction import FAMILIES, TERMS, check_terms
from robot_dynamics.identification.least_squares import (
    CORRELATION,
    ESTIMATORS,
    LinearFit,
    essential,
    estimate,
    triangles,
)
from robot_dynamics.identification.model import Model
from robot_dynamics.identification.model_selection import (
    PRIOR_WEIGHTS,
    USUAL_PRIOR_WEIGHT,
    Choice,
    Chosen,
    ModelSelector,
    model_equations,
)
from robot_dynamics.identification.normal_equations import selection
from robot_dynamics.identification.observation_matrix import Stack
from robot_dynamics.identification.quality import (
    missing_motion,
    reading_noise,
    reference_efforts,
    verdict_of,
    worst_pieces,
)
from robot_dynamics.identification.result import Identification, Residuals
from robot_dynamics.identification.signal_selection import SignalSelector
from robot_dynamics.identification.signals import WIDER, SignalSettings
from robot_dynamics.identification.stops import stop_findings
from robot_dynamics.model.arrays import FloatArray, IntArray
from robot_dynamics.model.robot import Robot

#: Number of blocks of time; each half of the validation has half of them.
BLOCKS = 12
#: Relative residual below which a column of a recording is dependent.
RECORDED_TOLERANCE = 1e-5
#: Least motion of a moving arm, rad or m.
LEAST_MOTION = 1e-3
#: Cut-off of instruments relative to that of the motion.
INSTRUMENTS = 1.0 / WIDER
#: Estimators of consistent bodies.
CONSISTENT = ('consistent', *CLOSED_LOOP)
#: Least ratio of errors at a stop to the others.
STRANGE = 3.0
# Fewest equations for the usual error, and blocks of time of the fit.
_FEWEST, _BLOCKS = 16, 2


@dataclass(frozen=True)
class EstimateSettings:
    """Settings of `identify`; those not given are selected by cross-validation.

    Parameters
    ----------
    estimator : str
        ``consistent`` (physically consistent bodies with the description as prior);
        ``output_error`` or ``instrumental``, the same with an arm simulated in its control loop
        (`robot_dynamics.identification.closed_loop.estimators`); or one of
        `robot_dynamics.identification.least_squares.ESTIMATORS`.
    friction : str or sequence of str
        ``auto``, the name of a family, or terms; see `robot_dynamics.identification.friction`.
    armature : bool or 'auto'
        Whether efforts include the acceleration of rotors: True for efforts of motors, False for
        torque sensors behind the gears.
    gravity : {'auto', 'estimate', 'known'}
        Whether the direction of gravity in the base frame is estimated.
    strength : float, optional
        Prior weight of the description.
    cutoff : float, optional
        Cut-off of the equations, Hz.
    order : int
        Order of the filters.
    derivative : str
        Method of differentiation; see `robot_dynamics.identification.signals.derivative`.
    lag : float, optional
        Lag of efforts, s; ``0`` for none.
    coulomb_width : float, optional
        Width of the smooth sign of Coulomb friction, rad/s or m/s.
    velocity_threshold : float
        Rows of a slower joint are left out, rad/s or m/s: presliding and standstill.
    base : {'qr', 'gauss_jordan'}
        Base of the recording: the best determined columns, or the first independent ones as in
        L. Zollo et al. 2015, eqs. (39)-(41).
    essential : bool
        Whether to find the essential parameters too.
    blocks : {'all', 'best'}
        Blocks of time to use: of a long recording of a robot in production, ``best`` takes those
        with most information.

    Examples
    --------
    >>> from robot_dynamics.identification import EstimateSettings
    >>> EstimateSettings(friction='coulomb', cutoff=8.0).estimator
    'consistent'
    """

    estimator: str = 'consistent'
    friction: Any = 'auto'
    armature: bool | str = 'auto'
    gravity: str = 'auto'
    strength: float | None = None
    cutoff: float | None = None
    order: int = 4
    derivative: str = 'central'
    lag: float | None = None
    coulomb_width: float | None = None
    velocity_threshold: float = 0.0
    base: str = 'qr'
    essential: bool = False
    blocks: str = 'all'

    def __post_init__(self) -> None:
        require_choice('estimator', self.estimator, (*CONSISTENT, *ESTIMATORS))
        require_choice('base', self.base, tuple(METHODS))
        require_choice('blocks', self.blocks, ('all', 'best'))
        require_choice('gravity', self.gravity, ('auto', 'estimate', 'known'))
        require_bool('armature', self.armature, 'auto')
        require_bool('essential', self.essential)
        if self.friction != 'auto':
            check_terms(self.friction)
        for name in ('strength', 'cutoff', 'coulomb_width'):
            if getattr(self, name) is not None:
                require_number(name, getattr(self, name), 'give a positive number', closed=False)
        require_number('velocity_threshold', self.velocity_threshold, 'give rad/s or m/s')


def estimate_settings(content: Mapping[str, Any]) -> EstimateSettings:
    """Settings from the ``estimate`` section of the content of a YAML file.

    Parameters
    ----------
    content : mapping
        Content of the YAML file.

    Examples
    --------
    >>> from robot_dynamics.identification import estimate_settings
    >>> estimate_settings({'estimate': {'friction': 'coulomb', 'cutoff': 8.0}}).cutoff
    8.0
    """
    return read_estimate(EstimateSettings, content)


def identify(dataset: Dataset, robot: Robot, settings: EstimateSettings | None = None
             ) -> Identification:
    """Identify the inertial parameters and the friction of a robot.

    Parameters
    ----------
    dataset : Dataset
        A log of its joints.
    robot : Robot
        Its description, with correct kinematics.
    settings : EstimateSettings, optional
        Settings; those not given are selected from the data.

    Returns
    -------
    Identification
        Parameters, covariance, validation and verdict.

    See Also
    --------
    load_dataset, dataset_from_arrays, robot_dynamics.identification.outputs.make_outputs

    Examples
    --------
    >>> import numpy as np
    >>> from robot_dynamics import Dynamics, Robot
    >>> from robot_dynamics.identification import EstimateSettings, dataset_from_arrays, identify
    >>> robot = Robot.from_urdf('urdf/planar_2r.urdf')
    >>> t = np.arange(0.0, 20.0, 0.01)[:, None]
    >>> w = np.array([1.0, 1.7])
    >>> q, v, a = np.sin(w * t), w * np.cos(w * t), -w**2 * np.sin(w * t)
    >>> tau = Dynamics(robot).inverse_dynamics(q, v, a) + 0.3 * v
    >>> settings = EstimateSettings(friction='coulomb', armature=False, cutoff=5.0, lag=0.0)
    >>> found = identify(dataset_from_arrays(robot, t[:, 0], q, tau), robot, settings)
    >>> found.verdict, [round(x, 2) for x in found.friction('viscous').values()]
    ('good', [0.3, 0.3])
    """
    settings = EstimateSettings() if settings is None else settings
    robot.require_single_coordinates('identification')
    if dataset.joint_names != robot.joint_names:
        raise ParameterError('must have the joints of the robot, got other joints: '
                             + ', '.join(dataset.joint_names), subject=dataset.source,
                             remedy='load it with this robot')
    require_motion(dataset)
    if dataset.is_gravity_compensated:
        robot = robot.with_gravity((0.0, 0.0, 0.0))
    always: tuple[str, ...] = ('armature',) if settings.armature else ()
    clock = _Clock()
    of_blocks: tuple[Choice, ...] = ()
    if settings.blocks == 'best':
        dataset, choice = best_blocks(dataset, robot)
        of_blocks = (choice,)
        clock.tick('choice of blocks')
    signals, choices = SignalSelector(robot, dataset, always).choose(
        SignalSettings(settings.cutoff or 1.0, settings.order, settings.derivative),
        settings.cutoff, dataset.velocity_source, settings.lag)
    clock.tick('choice of signals')
    families = _families(settings)
    terms = tuple(dict.fromkeys(term for one in families.values() for term in (*one, *always)))
    stack = Stack(robot, dataset, signals, terms,
                  velocity_threshold=settings.velocity_threshold,
                  coulomb_width=settings.coulomb_width)
    take_back(stack, always, families)
    doubted = ('armature',) if settings.armature == 'auto' else ()
    selector = ModelSelector(stack, BLOCKS, always, families, doubted)
    if np.min(np.sum(selector.normal.counts, axis=1)) < 1.0:
        raise RecordingError(f'has {len(stack.time)} equations per joint, and none in some of its '
                             f'{BLOCKS} parts', subject=dataset.source,
                             remedy='record longer, or lower velocity_threshold')
    clock.tick('equations')
    prior_weights = PRIOR_WEIGHTS if settings.strength is None else (settings.strength,)

    def chosen(train: IntArray) -> Chosen:
        return selector.choose(train, tuple(families), prior_weights, settings.gravity)

    def estimated(train: IntArray) -> Chosen:
        model = chosen(train)
        return refined(selector, model, train, settings.estimator) \
            if settings.estimator in CLOSED_LOOP else model

    halves, validation = _validate(selector, estimated)
    if settings.estimator in CLOSED_LOOP:
        choices += (_compared(settings.estimator, validation, _validate(selector, chosen)[1]),)
    clock.tick('validation')
    whole = estimated(np.arange(BLOCKS))
    errors, squares, rows = selector.errors(whole, np.arange(BLOCKS))
    base, linear = base_estimate(stack, whole, settings.estimator, signals, terms, settings.base)
    model, covariance, of_description = _parameters(selector, whole, base, linear,
                                                    settings.estimator)
    if settings.estimator != 'consistent':
        errors = selector.errors_of(whole, model.parameters)
    in_sample = Residuals.of(errors, squares, rows)
    fewer = None
    if settings.essential:
        equations = model_equations(stack, whole)
        fewer = essential(replace(equations, W=equations.W[:, base.independent]),
                          CORRELATION * stack.rate)
    clock.tick('estimation')
    # Terms that were not kept are not required of a motion.
    always = tuple(term for term in always if term not in doubted
                   or any(feature.term == term for feature in whole.model.features))
    structural = structural_base(Dynamics(robot.with_gravity(whole.model.gravity)), always)
    missing = missing_motion(whole.model, base, structural, always)
    findings = (*dataset.findings, *plausibility(dataset, robot, signals.lag),
                *late_efforts(signals),
                *stop_findings(dataset, stack.on_stops),
                *driving_friction(stack, model))
    clock.tick('plausibility')
    reference = reference_efforts(robot, dataset)
    verdict, reasons, more = verdict_of(in_sample, validation, base, structural, missing, model,
                                        linear, reference,
                                        reading_noise(dataset, signals), findings,
                                        still_joints(dataset))
    return Identification(
        model, covariance, base, linear.x, linear.covariance, structural.rank,
        settings.estimator, in_sample, validation, signals, whole.tilt,
        (*of_blocks, *choices, *whole.choices), findings + more, verdict, reasons,
        worst_pieces(stack, linear.residual, np.nonzero(stack.used.T)[1]), halves,
        float(stack.time[selector.normal.first_row(BLOCKS // 2)]), missing, clock.seconds, fewer,
        reference, of_description)


def _compared(estimator: str, ours: Residuals, other: Residuals) -> Choice:
    """Comparison of an estimator with ``consistent`` on held-out data."""
    which = 'less' if ours.total < other.total else 'not less'
    return Choice('estimator', estimator, f'requested; {100 * ours.total:.3g} % error in held-out '
                  f'data, {which} than {100 * other.total:.3g} % of consistent')


def require_motion(dataset: Dataset, driven: Collection[str] | None = None) -> None:
    """Raise RecordingError without motion, or for ``driven`` joints that move without efforts."""
    low, high = dataset.extremes
    moved = high - low
    weakest, strongest = dataset.effort_extremes
    if np.max(moved) < LEAST_MOTION:
        raise RecordingError('has no motion', subject=dataset.source,
                             remedy='record it while it moves')
    constant = [(name, effort) for name, size, low, effort in zip(
        dataset.joint_names, moved, weakest, strongest, strict=True)
        if size >= LEAST_MOTION and not effort > low]
    idle = [name for name, effort in constant
            if effort == 0.0 and (driven is None or name in driven)]
    if idle:
        raise RecordingError('moves, but all its efforts are zero', subject=', '.join(idle),
                             remedy='record its effort or current, or leave it out of joints')
    stuck = [name for name, effort in constant if effort != 0.0]
    if stuck:
        raise RecordingError('moves, but its effort is constant', subject=', '.join(stuck),
                             remedy='record the effort or current that moves it, or leave it out '
                                    'of joints')


class _Clock:
    """Durations of stages."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()

    def tick(self, stage: str) -> None:
        """End a stage."""
        now = perf_counter()
        self.seconds[stage], self._last = now - self._last, now


def _families(settings: EstimateSettings) -> dict[str, tuple[str, ...]]:
    """Sets of friction terms to select from, by name."""
    if settings.friction == 'auto':
        return dict(FAMILIES)
    terms = check_terms(settings.friction)
    name = settings.friction if isinstance(settings.friction, str) else '+'.join(terms)
    return {name: tuple(term for term in TERMS if term in terms)}


def _validate(selector: ModelSelector, chosen: Callable[[IntArray], Chosen]
              ) -> tuple[tuple[Model, Model], Residuals]:
    """Models of both halves, and the errors of each half predicted from the other."""
    first, second = np.arange(BLOCKS // 2), np.arange(BLOCKS // 2, BLOCKS)
    models = [chosen(first), chosen(second)]
    parts = [selector.errors(models[0], second), selector.errors(models[1], first)]
    return ((models[0].model, models[1].model),
            Residuals.of(*(one + other for one, other in zip(*parts, strict=True))))


def base_estimate(stack: Stack, chosen: Chosen, estimator: str, signals: SignalSettings,
                  terms: tuple[str, ...], method: str = 'qr'
                  ) -> tuple[BaseParameters, LinearFit]:
    """Base parameters of a recording and their least-squares estimate, without a prior.

    An estimator other than `ESTIMATORS` counts as weighted least squares. The base is computed
    with the weights of the selected model.
    """
    equations = model_equations(stack, chosen)
    R, owner = triangles(equations.W, equations.joint)
    weighted = R * np.sqrt(chosen.fit.weights)[owner, np.newaxis]
    base = base_parameters(np.linalg.qr(weighted, mode='r'), chosen.model.names, method=method,
                           tolerance=RECORDED_TOLERANCE)
    Z: FloatArray | None = None
    name = 'iv' if estimator == INSTRUMENTAL else estimator if estimator in ESTIMATORS else 'wls'
    if estimator == OUTPUT_ERROR:
        W = model_equations(simulated_stack(stack, chosen), chosen).W[:, base.independent]
        return base, estimate(name, replace(equations, W=W), correlation=CORRELATION * stack.rate)
    if estimator == INSTRUMENTAL:
        Z = model_equations(simulated_stack(stack, chosen), chosen).W[:, base.independent]
    elif name == 'iv':
        low = SignalSettings(signals.cutoff, signals.order, signals.derivative, signals.velocity,
                             signals.wider * INSTRUMENTS, signals.lag)
        other = Stack(stack.robot, stack.dataset, low, terms, like=stack,
                      loads=chosen.model.loads)
        Z = model_equations(other, chosen).W[:, base.independent]
    equations = replace(equations, W=equations.W[:, base.independent], Z=Z)
    return base, estimate(name, equations, correlation=CORRELATION * stack.rate)


def _parameters(selector: ModelSelector, chosen: Chosen, base: BaseParameters, linear: LinearFit,
                estimator: str) -> tuple[Model, FloatArray, float]:
    """Model, covariance of its parameters, and the assumed deviation of the description."""
    products = selector.products(chosen)
    weighted = np.tensordot(chosen.fit.weights, products, 1)
    H, h = weighted[:-1, :-1], weighted[:-1, -1]
    found = fit_consistent(H, h, selector.prior, chosen.prior_weight or USUAL_PRIOR_WEIGHT,
                           chosen.fit.x)
    covariance, described = posterior_covariance(
        found, H, selector.prior, chosen.prior_weight or USUAL_PRIOR_WEIGHT, linear.growth)
    if estimator in CONSISTENT:
        return chosen.model, covariance, described
    # The parameters nearest to the description with these base parameters.
    start = np.concatenate([selector.stack.robot.parameters, np.zeros(len(chosen.features))])
    # The difference is assigned to friction and rotors, which the description does not contain.
    freedom = np.ones(len(start))
    freedom[selector.stack.n_rigid:] = 1e3
    B = base.matrix
    back = freedom[:, np.newaxis] * np.linalg.pinv(B * freedom)
    parameters = start + back @ (linear.x - B @ start)
    return (chosen.model.with_parameters(parameters), back @ linear.covariance @ back.T, 0.0)


def take_back(stack: Stack, always: Sequence[str], families: Mapping[str, tuple[str, ...]]
              ) -> None:
    """Use the equations near limits that agree with the model fitted to all other equations.

    Such joints are held near a limit by their motors, or reverse there. The first family of
    friction terms is used.
    """
    if not np.any(stack.on_stops):
        return
    name = next(iter(families))
    chosen = ModelSelector(stack, _BLOCKS, always, {name: families[name]}).choose(
        np.arange(_BLOCKS), (name,), (USUAL_PRIOR_WEIGHT,), 'known')
    for j, rows in enumerate(stack.joints):
        lying, free = stack.on_stops[:, j], stack.used[:, j]
        if not np.any(lying) or np.count_nonzero(free) < _FEWEST:
            continue
        T, where = selection(stack, rows.columns, chosen.features, chosen.model.gravity)
        errors = rows.y - rows.A @ (T @ chosen.fit.x[where])
        if _size(errors[lying]) < STRANGE * _size(errors[free]):
            stack.take_back(j)


def _size(errors: FloatArray) -> float:
    return float(np.sqrt(np.mean(errors ** 2)))
