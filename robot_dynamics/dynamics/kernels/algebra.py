# SPDX-License-Identifier: Apache-2.0
"""Vectors and matrices in three dimensions, as tuples that the compiler keeps in registers.

A vector is ``(x, y, z)``. A matrix is the tuple of its three columns, so that the
axes of a frame *are* its rotation matrix.
"""

from robot_dynamics.dynamics.kernels.loading import helper

ZERO = (0.0, 0.0, 0.0)


@helper
def load(array, row, start):
    """Three consecutive entries of a row."""
    return array[row, start], array[row, start + 1], array[row, start + 2]


@helper
def store(array, row, start, x):
    """Write three consecutive entries of a row."""
    array[row, start] = x[0]
    array[row, start + 1] = x[1]
    array[row, start + 2] = x[2]


@helper
def load_matrix(array, row, start):
    """Nine consecutive entries of a row, column after column."""
    return load(array, row, start), load(array, row, start + 3), load(array, row, start + 6)


@helper
def store_matrix(array, row, start, A):
    """Write nine consecutive entries of a row, column after column."""
    store(array, row, start, A[0])
    store(array, row, start + 3, A[1])
    store(array, row, start + 6, A[2])


@helper
def add(x, y):
    """Sum of two vectors."""
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


@helper
def subtract(x, y):
    """Difference of two vectors."""
    return x[0] - y[0], x[1] - y[1], x[2] - y[2]


@helper
def scale(x, k):
    """K x."""
    return k * x[0], k * x[1], k * x[2]


@helper
def add_scaled(x, y, k):
    """X + k y."""
    return x[0] + k * y[0], x[1] + k * y[1], x[2] + k * y[2]


@helper
def dot(x, y):
    """Inner product."""
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


@helper
def cross(x, y):
    """Vector product."""
    return (x[1] * y[2] - x[2] * y[1],
            x[2] * y[0] - x[0] * y[2],
            x[0] * y[1] - x[1] * y[0])


@helper
def times(A, x):
    """A x; for the axes A of a frame, x transformed from its axes to the outer ones."""
    return (A[0][0] * x[0] + A[1][0] * x[1] + A[2][0] * x[2],
            A[0][1] * x[0] + A[1][1] * x[1] + A[2][1] * x[2],
            A[0][2] * x[0] + A[1][2] * x[1] + A[2][2] * x[2])


@helper
def transpose_times(A, x):
    """A^T x; for the axes A of a frame, x transformed from the outer axes to its own."""
    return dot(A[0], x), dot(A[1], x), dot(A[2], x)


@helper
def product(A, B):
    """Matrix product A B."""
    return times(A, B[0]), times(A, B[1]), times(A, B[2])


@helper
def add_matrices(A, B):
    """Sum of two matrices."""
    return add(A[0], B[0]), add(A[1], B[1]), add(A[2], B[2])


@helper
def scale_matrix(A, k):
    """K A."""
    return scale(A[0], k), scale(A[1], k), scale(A[2], k)


@helper
def outer(x, y):
    """X y^T."""
    return scale(x, y[0]), scale(x, y[1]), scale(x, y[2])


@helper
def cross_columns(x, A):
    """[x] A: the vector product of x with each column of A."""
    return cross(x, A[0]), cross(x, A[1]), cross(x, A[2])
