/* SPDX-License-Identifier: Apache-2.0 */
#include "matrices.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Add k times x to y. */
static void add(double k, const double *restrict x, int count, double *restrict y)
{
    for (int i = 0; i < count; ++i)
        y[i] += k * x[i];
}

void rd_multiply(const double *X, const double *Y, int rows, int inner, int columns, double *out)
{
    memset(out, 0, sizeof *out * (size_t)(rows * columns));
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k < inner; ++k)
            add(X[i * inner + k], Y + k * columns, columns, out + i * columns);
}

void rd_multiply_transposed(const double *X, const double *Y, int rows, int inner, int columns,
                            double *out)
{
    memset(out, 0, sizeof *out * (size_t)(rows * columns));
    for (int k = 0; k < inner; ++k)
        for (int i = 0; i < rows; ++i)
            add(X[k * rows + i], Y + k * columns, columns, out + i * columns);
}

int rd_factorise(double *M, int n)
{
    for (int k = n - 1; k >= 0; --k) {
        double pivot = M[k * n + k];
        const double smallest = n * DBL_EPSILON * pivot;
        for (int i = k + 1; i < n; ++i)
            pivot -= M[i * n + k] * M[i * n + k] * M[i * n + i];
        if (!(pivot > smallest && pivot > 0.0))
            return 0;
        M[k * n + k] = pivot;
        for (int j = 0; j < k; ++j) {
            double entry = M[k * n + j];
            for (int i = k + 1; i < n; ++i)
                entry -= M[i * n + k] * M[i * n + j] * M[i * n + i];
            M[k * n + j] = entry / pivot;
        }
    }
    return 1;
}

void rd_substitute(const double *M, double *B, int n, int columns)
{
    for (int k = n - 1; k >= 0; --k)
        for (int j = 0; j < k; ++j)
            add(-M[k * n + j], B + k * columns, columns, B + j * columns);
    for (int k = 0; k < n; ++k) {
        for (int c = 0; c < columns; ++c)
            B[k * columns + c] /= M[k * n + k];
        for (int j = 0; j < k; ++j)
            add(-M[k * n + j], B + j * columns, columns, B + k * columns);
    }
}

/* Replace x and y by c x - s y and s x + c y. */
static void turn(double *x, double *y, double c, double s)
{
    const double before = *x;
    *x = c * before - s * *y;
    *y = s * before + c * *y;
}

void rd_diagonalise(double *A, double *V, int n)
{
    int turned = 1;

    for (int k = 0; k < n * n; ++k)
        V[k] = k % (n + 1) == 0 ? 1.0 : 0.0;
    for (int sweep = 0; sweep < 12 && turned; ++sweep) {
        turned = 0;
        for (int p = 0; p < n - 1; ++p)
            for (int q = p + 1; q < n; ++q) {
                const double x = A[p * n + p], y = A[q * n + q], entry = A[p * n + q];
                double slope, tangent, cosine;
                if (fabs(entry) <= DBL_EPSILON * sqrt(fabs(x * y)))
                    continue;
                turned = 1;
                slope = 0.5 * (y - x) / entry;
                tangent = copysign(1.0, slope) / (fabs(slope) + hypot(slope, 1.0));
                cosine = 1.0 / hypot(tangent, 1.0);
                for (int k = 0; k < n; ++k) {
                    turn(&A[k * n + p], &A[k * n + q], cosine, tangent * cosine);
                    turn(&V[k * n + p], &V[k * n + q], cosine, tangent * cosine);
                }
                for (int k = 0; k < n; ++k)
                    turn(&A[p * n + k], &A[q * n + k], cosine, tangent * cosine);
            }
    }
}
