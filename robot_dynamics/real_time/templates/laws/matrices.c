/* SPDX-License-Identifier: Apache-2.0 */
#include "matrices.h"

#include <float.h>
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
