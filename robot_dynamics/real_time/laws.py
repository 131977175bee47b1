# SPDX-License-Identifier: Apache-2.0
"""The laws that can be written as C: their templates, equations and constants.

The C designs nothing: gains, metrics and weights are those of the Python object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.adaptation import gradient, learning, regressor_memory
from robot_dynamics.control.adaptation.estimates_file import SAME
from robot_dynamics.control.adaptation.gradient import Adaptation
from robot_dynamics.control.laws import (
    cartesian_impedance,
    feedforward_lq,
    guiding,
    impedance,
    slotine_li,
)
from robot_dynamics.control.laws.cartesian_impedance import CartesianImpedanceController
from robot_dynamics.control.laws.feedforward_lq import FeedforwardLQController
from robot_dynamics.control.laws.model_based import (
    ComputedTorqueController,
    PDGravityController,
)
from robot_dynamics.control.laws.slotine_li import AdaptiveController
from robot_dynamics.control.lq.rules import DisturbanceRule, RiccatiRule
from robot_dynamics.control.motion import pose_setpoint
from robot_dynamics.dynamics.joint_terms import choice_of
from robot_dynamics.dynamics.kernels import slotine_li as terms
from robot_dynamics.errors import ParameterError
from robot_dynamics.real_time.constants import Constant


@dataclass(frozen=True)
class Law:
    """A law: its class and source, its constants, its equations, and more templates.

    Templates are below ``laws/``; one of them is ``law_state.h``.
    """

    kind: type
    source: str
    constants: Callable[[Any], list[Constant]]
    kernels: Sequence[str]
    files: Sequence[str]


def feedback_constants(law: Any) -> list[Constant]:
    """Gains of the linear feedback of a law, see `LinearFeedback`, and its model."""
    n, values = law.robot.n, law.feedback._now
    return [Constant('damping_rate', law.damping_rate, '1/s'),
            Constant('longest_delay', law.longest_delay, 's'),
            Constant('bandwidth', law.feedback.bandwidth, 'omega_D, 1/s'),
            Constant('error_rate', values[1:1 + n], 'lambda, 1/s'),
            Constant('position_gain', values[1 + n:1 + 2 * n], 'K_P, N m/rad or N/m'),
            Constant('damping_gain', values[1 + 2 * n:], 'K_D, N m s/rad or N s/m'),
            Constant('model', law.model.parameters.ravel(), 'of the arm with its payload')]


def computed_torque_constants(law: ComputedTorqueController) -> list[Constant]:
    """Gains, and the friction of the description."""
    return [*feedback_constants(law),
            Constant('constant_gains', law.feedback.is_constant,
                     'whether K_P and K_D replace omega_D and lambda'),
            Constant('coulomb_velocity', law._epsilon, 'rad/s or m/s'),
            Constant('damping', law.robot.damping, 'N m s/rad or N s/m'),
            Constant('friction', law.robot.friction, 'N m or N')]


def adaptive_constants(law: AdaptiveController) -> list[Constant]:
    """Gains, prior, metric and memory of the adaptive law.

    Raises a ParameterError for an update law that is not written as C.
    """
    gains, adaptation = law.gains, law.adaptation
    if not isinstance(adaptation, Adaptation) or not adaptation.keeps_bodies:
        raise ParameterError(f'cannot be written as C, {gains.law} in {gains.coordinates}',
                             subject='adaptation.law', remedy='choose memory, composite, '
                             'projection or dead_zone, in links')
    if law.known:
        raise ParameterError('cannot be written as C', subject='known parameters',
                             remedy='leave them out: all parameters are then learnt')
    row, bodies = adaptation._constants, 10 * law.robot.n_bodies
    precision = adaptation.precision()
    memory = None if law.learning.memory is None else law.learning.memory._memory
    per_body = {
        'body_gain': (row[:, gradient.GAIN:gradient.TRACE], 'Gamma'),
        'body_trace': (row[:, gradient.TRACE:gradient.METRIC_GAIN], 'weights of tr X'),
        'largest_mass': (row[:, gradient.LARGEST], 'kg'),
        'largest_spread': (row[:, gradient.LARGEST + 1], 'tr Sigma, kg m^2'),
        'mass_way_back': (row[:, gradient.WAY_BACK:gradient.WAY_BACK + 10], ''),
        'spread_way_back': (row[:, gradient.WAY_BACK + 10:gradient.ROOT], ''),
        'body_root': (row[:, gradient.ROOT:gradient.INVERSE], 'L with Q = L L^T'),
        'body_inverse': (row[:, gradient.INVERSE:gradient.METRIC], 'L^-1'),
        'body_precision': (np.array([precision[k:k + 10, k:k + 10]
                                     for k in range(0, bodies, 10)]), 'Gamma^-1'),
    }
    per_term: dict[str, tuple[ArrayLike, str]] = {
        'terms': (choice_of(gains.terms, 1.0)[2:2 + len(gains.terms)], 'codes of joint terms'),
        'term_gain': (adaptation._term_gains, 'diagonal of Gamma'),
        'term_precision': (precision.diagonal()[bodies:], 'of Gamma^-1'),
        'least_term': (adaptation._term_ranges[0], ''),
        'largest_term': (adaptation._term_ranges[1], ''),
    }
    return [
        *feedback_constants(law),
        Constant('estimates', adaptation.prior.size, 'parameters that are learnt'),
        Constant('terms', len(gains.terms), 'of each joint: ' + ', '.join(gains.terms)),
        *(Constant(f'term_{name.lower()}', int(getattr(terms, name)), 'code of a joint term')
          for name in ('VISCOUS', 'COULOMB', 'ARMATURE')),
        Constant('coulomb_velocity', gains.coulomb_velocity, 'rad/s or m/s'),
        Constant('prior', adaptation.prior),
        Constant('initial', law.estimate, 'estimates to start from'),
        Constant('load', law._load[:bodies], 'of the payload'),
        Constant('rotors', law._rotors, 'known rotor inertias, kg m^2 or kg'),
        Constant('body_metric_gain', adaptation.metric.gain, 'gamma, 1/J'),
        *(Constant(name, np.ravel(value), text) for name, (value, text) in per_body.items()),
        # C has no arrays without elements.
        *(Constant(name, np.ravel(value) if np.size(value) else [0.0], text)
          for name, (value, text) in per_term.items()),
        Constant('leakage', adaptation.leakage, 'sigma, 1/s'),
        Constant('dead_zone', gains.dead_zone if gains.parts.has_dead_zone else 0.0,
                 'norm of s below which nothing is learnt'),
        Constant('composite_weight', law.learning._weight, 'of the prediction error'),
        Constant('composite_cutoff', gains.composite_cutoff, 'Hz'),
        Constant('longest_learning_step', gains.longest_step, 's'),
        Constant('largest_sliding', gains.largest_sliding, 'largest plausible entry of s'),
        Constant('rest_after', gains.rest_after, 'without desired motion, s'),
        Constant('rest_sliding', gains.rest_sliding, 'entry of s that ends a rest'),
        Constant('rest_desired_speed', learning.STILL, 'rad/s or m/s'),
        Constant('largest_relative_step', gradient.LARGEST_RELATIVE_STEP),
        Constant('cone_floor', gradient.CONE_FLOOR),
        Constant('noise_fading', learning.FADING, 's'),
        Constant('noise_margin', learning.MARGIN),
        Constant('reference_step', learning.REFERENCE_STEP, 'rad or m'),
        Constant('patience', learning.PATIENCE, 's'),
        Constant('kept', slotine_li.KEPT, 'past estimates'),
        Constant('kept_every', slotine_li.KEPT_EVERY, 's'),
        Constant('same_estimate', SAME),
        Constant('remembers', memory is not None, 'whether past motion is remembered'),
        *([] if memory is None else [
            Constant('memory_time', regressor_memory.MEMORY, 's'),
            Constant('memory_interval', regressor_memory.INTERVAL, 's'),
            Constant('memory_cutoff', regressor_memory.CUTOFF, 'Hz'),
            Constant('contradiction', regressor_memory.CONTRADICTION),
            Constant('negligible', regressor_memory.NEGLIGIBLE),
            Constant('recent', regressor_memory.RECENT, 'samples'),
            Constant('memory_rows', memory._rows_to_take_in, 'of the sums for each sample'),
            Constant('memory_work', memory._work, 'multiplications for each sample'),
            Constant('memory_weight', memory._weights)]),
    ]


def lq_constants(law: FeedforwardLQController) -> list[Constant]:
    """Model, schedule, and rule of the gains, which are computed for the desired motion.

    The cost matrix is that with which the Python object begins.
    """
    schedule, disturbance = law.schedule.schedule, law.disturbance
    rule = law.rule._rule if isinstance(law.rule, DisturbanceRule) else law.rule
    return [
        Constant('damping_rate', law.damping_rate, '1/s'),
        Constant('longest_delay', law.longest_delay, 's'),
        Constant('model', law.model.parameters.ravel(), 'of the arm with its payload'),
        Constant('damping', law.robot.damping, 'N m s/rad or N s/m'),
        Constant('friction', law.robot.friction, 'N m or N'),
        Constant('coulomb_velocity', law.model._coulomb_velocity, 'rad/s or m/s'),
        Constant('time_constant', law.design.time_constant, 't_c, s'),
        *(Constant(name, getattr(schedule, name)) for name in (
            'eps0', 'eps1', 'eps2', 'debounce', 'update_period', 'rescale')),
        Constant('compensates', disturbance is not None, 'whether it compensates unknown torques'),
        Constant('disturbance_rate', law.design.disturbance_rate, '1/s'),
        Constant('largest_disturbance', np.zeros(law.robot.n) if disturbance is None
                 else disturbance._bound, 'N m or N'),
        Constant('longest_gap', feedforward_lq.LONGEST_GAP * law.period, 's'),
        Constant('series_order', rule.order, 'last power of A T'),
        Constant('rule_time', rule.time, 's'),
        Constant('weights', rule.base_weights, 'diagonal of Q'),
        Constant('riccati', isinstance(rule, RiccatiRule), 'or the minimiser of one step'),
        *([Constant('riccati_steps', rule.STEPS, 'for each gain'),
           Constant('cost', rule._cost.ravel(), 'to begin with'),
           Constant('initial_cost', rule._initial.ravel(), 'of double integrators')]
          if isinstance(rule, RiccatiRule) else [
              Constant('cost', np.zeros((2 * law.robot.n)**2), 'not used')]),
    ]


def impedance_constants(law: CartesianImpedanceController) -> list[Constant]:
    """Spring, damper and limits of an end effector."""
    settings, limits, values = law.settings, law.settings.limits, law._impedance.values
    posture = law._given_posture
    return [
        *feedback_constants(law),
        Constant('rate', law.rate, 'R, 1/s'),
        Constant('true_inertia', law._scale**2, 'kg, kg m^2'),
        Constant('stiffness', values[:6], 'N/m, N m/rad'),
        Constant('tip_damping', values[6:12], 'N s/m, N m s/rad'),
        Constant('damping_ratio', values[12]),
        Constant('damping_given', bool(values[13]), 'whether damping replaces its ratio'),
        Constant('largest_force', settings.largest_force, 'of the spring, N'),
        Constant('largest_moment', settings.largest_moment, 'of the spring, N m'),
        Constant('posture_given', posture is not None),
        Constant('posture', np.zeros(law.robot.n) if posture is None else posture, 'rad or m'),
        Constant('posture_rate', settings.posture_rate, 'rad/s'),
        Constant('inner_lower', law._inner[0], 'limits with their margin, rad or m'),
        Constant('inner_upper', law._inner[1]),
        Constant('joint_speed', law._range[2], 'rad/s or m/s'),
        Constant('tip_speed', limits.speed, 'm/s'),
        Constant('turn_rate', limits.turn_rate, 'rad/s'),
        Constant('tip_acceleration', limits.acceleration, 'm/s^2'),
        Constant('turn_acceleration', limits.turn_acceleration, 'rad/s^2'),
        Constant('goal_timeout', limits.timeout, 's'),
        Constant('runaway', guiding.RUNAWAY, 'over the speed limit'),
        *(Constant(name.lower(), getattr(cartesian_impedance, name)) for name in (
            'LIMIT_RATE', 'COUNTED_SPEED', 'POSTURE_SPEED', 'POSTURE_DAMPING')),
        *(Constant(name.lower(), getattr(impedance, name)) for name in (
            'STIFFEST', 'SLOWEST_SHARE', 'LOST', 'LARGEST_SINE', 'SMALLEST_ETA', 'TINY')),
        *(Constant(name.lower(), getattr(pose_setpoint, name)) for name in (
            'APPROACH_RATE', 'QUATERNION_TOLERANCE')),
    ]


_FEEDBACK = ('feedback.h', 'feedback.c', 'matrices.h', 'matrices.c')
#: The laws by the names of their sources, which are those of the controllers.
LAWS = {Path(law.source).stem: law for law in (
    Law(PDGravityController, 'model_based/pd_gravity.c', feedback_constants,
        ('gravity', 'mass_matrix'),
        (*_FEEDBACK, 'without_estimates.c', 'model_based/law_state.h',
         'model_based/model_based.c')),
    Law(ComputedTorqueController, 'model_based/computed_torque.c', computed_torque_constants,
        ('gravity', 'mass_matrix', 'inverse_dynamics'),
        (*_FEEDBACK, 'without_estimates.c', 'model_based/law_state.h',
         'model_based/model_based.c')),
    Law(AdaptiveController, 'adaptive/adaptive.c', adaptive_constants,
        ('gravity', 'mass_matrix', 'regressor', 'adaptive_terms'),
        (*_FEEDBACK, 'adaptive/law_state.h', 'adaptive/estimates.c', 'adaptive/memory.c')),
    Law(FeedforwardLQController, 'feedforward_lq/feedforward_lq.c', lq_constants,
        ('gravity', 'mass_matrix', 'inverse_dynamics', 'effort_change'),
        ('matrices.h', 'matrices.c', 'feedforward_lq/law_state.h', 'feedforward_lq/gain_rule.h',
         'feedforward_lq/gain_rule.c')),
    Law(CartesianImpedanceController, 'cartesian_impedance/cartesian_impedance.c',
        impedance_constants,
        ('gravity', 'mass_matrix', 'coriolis_effort', 'tip_pose', 'tip_jacobian', 'tip_bias'),
        (*_FEEDBACK, 'without_estimates.c', 'cartesian_impedance/law_state.h',
         'cartesian_impedance/impedance.h', 'cartesian_impedance/impedance.c',
         'cartesian_impedance/setpoint.c', 'cartesian_impedance/pose_topics.hpp')),
)}
