# SPDX-License-Identifier: Apache-2.0
"""Vectors and matrices of scalars: tuples of three, matrices as tuples of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from robot_dynamics.closed_form.tape import Formula, Scalar

Vector: TypeAlias = Sequence[Scalar]
Matrix: TypeAlias = Sequence[Vector]

ZERO: Vector = (0, 0, 0)
IDENTITY: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
NOTHING: Matrix = (ZERO, ZERO, ZERO)


def add(a: Vector, b: Vector) -> Vector:
    """``a + b``."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def subtract(a: Vector, b: Vector) -> Vector:
    """``a - b``."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(a: Vector, k: Scalar) -> Vector:
    """``k a``."""
    return (a[0] * k, a[1] * k, a[2] * k)


def dot(a: Vector, b: Vector) -> Scalar:
    """``a . b``."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """``a x b``."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def skew(a: Vector) -> Matrix:
    """Matrix [a] of the vector product: [a] b = a x b."""
    return ((0, -a[2], a[1]), (a[2], 0, -a[0]), (-a[1], a[0], 0))


def times(A: Matrix, x: Vector) -> Vector:
    """``A x``."""
    return (dot(A[0], x), dot(A[1], x), dot(A[2], x))


def transpose(A: Matrix) -> Matrix:
    """``A^T``."""
    return ((A[0][0], A[1][0], A[2][0]), (A[0][1], A[1][1], A[2][1]), (A[0][2], A[1][2], A[2][2]))


def transpose_times(A: Matrix, x: Vector) -> Vector:
    """``A^T x``."""
    return times(transpose(A), x)


def product(A: Matrix, B: Matrix) -> Matrix:
    """``A B``."""
    columns = transpose(B)
    return (times(columns, A[0]), times(columns, A[1]), times(columns, A[2]))


def add_matrices(A: Matrix, B: Matrix) -> Matrix:
    """``A + B``."""
    return (add(A[0], B[0]), add(A[1], B[1]), add(A[2], B[2]))


def scale_matrix(A: Matrix, k: Scalar) -> Matrix:
    """``k A``."""
    return (scale(A[0], k), scale(A[1], k), scale(A[2], k))


def outer(a: Vector, b: Vector) -> Matrix:
    """``a b^T``."""
    return (scale(b, a[0]), scale(b, a[1]), scale(b, a[2]))


def trace(A: Matrix) -> Scalar:
    """Sum of the diagonal."""
    return A[0][0] + A[1][1] + A[2][2]


def label(name: str, x: Scalar | Vector | Matrix) -> None:
    """Name the intermediates of a scalar, vector or matrix: d2x, L2xy and so on."""
    if isinstance(x, tuple):
        for axis, entry in zip('xyz', x, strict=True):
            label(name + axis, entry)
    elif isinstance(x, Formula):
        x.tape.label(name, x)
