# SPDX-License-Identifier: Apache-2.0
"""Keeps linear algebra of this process to one thread: to be imported before numpy is.

Arm-sized matrices gain nothing from BLAS threads. They wait for each other at each of
thousands of small products, busily, which on a machine with other work takes twice as long.
Whoever wants them sets the variables before.
"""

import os

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')
