# SPDX-License-Identifier: Apache-2.0
"""Compile the C of a controller."""

import shutil
import subprocess

import pytest

#: Warnings are errors, and undefined behaviour ends the program.
STRICT = ('-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-ffp-contract=off',
          '-fsanitize=address,undefined', '-fno-sanitize-recover=all')


def write_core(folder, texts):
    """Write the files of `core_files` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding='utf-8')


def compile_c(target, *sources, options=(*STRICT, '-O1')):
    """Compile and link sources into a program or, by ``-shared``, a library."""
    compiler = shutil.which('cc') or pytest.skip('no C compiler')
    done = subprocess.run([compiler, *options, *map(str, sources), '-o', str(target), '-lm'],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target
