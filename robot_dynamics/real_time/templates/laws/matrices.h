/* SPDX-License-Identifier: Apache-2.0
 *
 * Products and factorisations of small matrices, stored row after row; the last as in
 * dynamics/kernels/solve.py.
 */
#ifndef RD_MATRICES_H
#define RD_MATRICES_H

/* Out = X Y, with X of rows by inner entries and Y of inner by columns. */
void rd_multiply(const double *X, const double *Y, int rows, int inner, int columns, double *out);

/* Out = X^T Y, with X of inner by rows entries. */
void rd_multiply_transposed(const double *X, const double *Y, int rows, int inner, int columns,
                            double *out);

/* Overwrite the lower triangle of M, n by n, by L and D of M = L^T D L. Returns 0 where M is not
 * positive definite. */
int rd_factorise(double *M, int n);

/* Solve L^T D L X = B in place. */
void rd_substitute(const double *M, double *B, int n, int columns);

/* Overwrite the diagonal of a symmetric A by its eigenvalues, and V by the eigenvectors. */
void rd_diagonalise(double *A, double *V, int n);

#endif
