# SPDX-License-Identifier: Apache-2.0
"""What is written in each language is read by that language's own programs."""

import ctypes
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from robot_dynamics.closed_form.c_language import c_function
from robot_dynamics.closed_form.quantities import QUANTITIES, derive
from robot_dynamics.closed_form.writers import LANGUAGES, constants_note, document
from robot_dynamics.errors import BackendError, ModelError, ParameterError

COMPILER = shutil.which('cc')
LATEX = shutil.which('pdflatex')
STRICT = ['-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-O1', '-fPIC', '-shared']

needs_compiler = pytest.mark.skipif(COMPILER is None, reason='there is no C compiler')
needs_latex = pytest.mark.skipif(LATEX is None, reason='there is no LaTeX')
everything = pytest.mark.parametrize('what', QUANTITIES)


def in_c(recording, text, folder, values):
    """Compile the text of a recording, strictly, and call it."""
    source, library = folder / 'f.c', folder / 'f.so'
    source.write_text(text)
    subprocess.run([COMPILER, *STRICT, str(source), '-o', str(library), '-lm'], check=True)
    (output,) = recording.outputs
    arrays = [np.ascontiguousarray(values[array.group], float) for array in recording.inputs]
    result = np.full(output.shape, np.nan)
    function = getattr(ctypes.CDLL(str(library)), recording.name)
    function.restype = None
    function(*(ctypes.c_void_p(x.ctypes.data) for x in (*arrays, result)))
    return result


def processor_time():
    """Return what this process and those it has waited for have used so far, in s."""
    return sum(os.times()[:4])


@pytest.mark.parametrize('name', [
    '*/ #error out /*', '*) Quit[] (*', '\\input{/etc/passwd}', '"""; raise SystemExit; """',
    '??/', '\\'])
def test_no_name_of_a_robot_gets_out_of_its_comment(elbow_called, name, tmp_path):
    recording = derive(elbow_called(name), 'M')
    namespace = {}
    exec(document(recording, 'python'), namespace)
    assert callable(namespace[recording.name])
    if COMPILER:
        in_c(recording, document(recording, 'c'), tmp_path, {
            array.group: np.ones(len(array.names)) for array in recording.inputs})
    wolfram = document(recording, 'wolfram')
    assert wolfram.count('(*') == wolfram.count('*)')
    assert 'Quit[]' not in re.sub(r'\(\*.*?\*\)', '', wolfram)
    assert '\\input' not in document(recording, 'latex')


@needs_compiler
@everything
def test_c_compiles_without_a_warning_and_is_right(puma, at_random, tmp_path, what):
    values, expected = at_random(puma)
    recording = derive(puma, what)
    found = in_c(recording, document(recording, 'c'), tmp_path, values)
    assert np.allclose(found, expected[what], rtol=0, atol=1e-12)


@needs_compiler
def test_c_of_a_seven_joint_arm_compiles_in_less_than_five_seconds(arm7, at_random, tmp_path):
    values, expected = at_random(arm7)
    start = processor_time()
    recording = derive(arm7, 'slotine-li')
    found = in_c(recording, document(recording, 'c'), tmp_path, values)
    assert processor_time() - start < 5.0
    assert np.allclose(found, expected['slotine-li'], rtol=0, atol=1e-12)


@needs_compiler
@pytest.mark.parametrize('longest', [1, 7, 100])
def test_c_in_parts_is_the_same(puma, at_random, tmp_path, longest):
    values, expected = at_random(puma)
    recording = derive(puma, 'regressor')
    head = document(recording, 'c').partition('#include <math.h>')[0]
    macro = '#define PART static void\n'
    text = f'{head}#include <math.h>\n{macro}{c_function(recording, longest=longest)}'
    assert text.count('PART regressor_') > 3
    found = in_c(recording, text, tmp_path, values)
    assert np.allclose(found, expected['regressor'], rtol=0, atol=1e-12)


@needs_compiler
def test_c_takes_arrays_that_do_not_matter(rpr, at_random, tmp_path):
    recording = derive(rpr, 'g')
    values = {'q': np.zeros(3), 'pi': np.zeros(30)}
    assert not np.any(in_c(recording, document(recording, 'c'), tmp_path, values))


@everything
def test_python_needs_numpy_alone(puma, at_random, tmp_path, what):
    values, expected = at_random(puma)
    recording = derive(puma, what)
    (tmp_path / 'formulas.py').write_text(document(recording, 'python'))
    names = [array.group for array in recording.inputs]
    np.savez(tmp_path / 'values.npz', **{name: values[name] for name in names})
    call = f'{recording.name}(*(x[k] for k in {names}))'
    script = ('import sys, numpy as np, formulas\n'
              'x = np.load("values.npz")\n'
              f'np.save("found.npy", formulas.{call})\n'
              'assert not [m for m in sys.modules if m.startswith("robot_dynamics")]\n')
    subprocess.run([sys.executable, '-c', script], cwd=tmp_path, check=True)
    assert np.allclose(np.load(tmp_path / 'found.npy'), expected[what], rtol=0, atol=1e-12)


@needs_latex
@pytest.mark.parametrize('is_explicit', [False, True])
def test_latex_compiles(elbow, tmp_path, is_explicit):
    if is_explicit:
        pytest.importorskip('sympy')
    text = document(derive(elbow), 'latex', notes=['50 % of {all} & #1_2'],
                    is_explicit=is_explicit)
    (tmp_path / 'f.tex').write_text(text)
    done = subprocess.run([LATEX, '-interaction=nonstopmode', '-halt-on-error', 'f.tex'],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert 'Overfull' not in done.stdout


@needs_latex
def test_latex_of_a_seven_joint_arm_compiles(arm7, tmp_path):
    (tmp_path / 'f.tex').write_text(document(derive(arm7), 'latex'))
    done = subprocess.run([LATEX, '-interaction=nonstopmode', '-halt-on-error', 'f.tex'],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize('is_explicit', [False, True])
def test_latex_is_set_by_matplotlib(elbow, is_explicit):
    mathtext = pytest.importorskip('matplotlib.mathtext')
    if is_explicit:
        pytest.importorskip('sympy')
    text = document(derive(elbow), 'latex', is_explicit=is_explicit)
    bodies = re.findall(r'\\begin\{align\*\}\n(.*?)\n\\end', text, re.S)
    lines = [line for body in bodies for line in body.split(' \\\\\n')]
    assert len(lines) >= 12
    parser = mathtext.MathTextParser('path')
    for line in lines:
        parser.parse('$' + line.replace('&', '').replace(r'\tfrac', r'\frac') + '$')


def test_latex_names():
    from robot_dynamics.closed_form.languages import latex_name
    assert latex_name('alpha2z') == r'\alpha_{2z}'
    assert latex_name('s3_1x') == 's_{3,1x}'
    assert latex_name('t12') == 't_{12}'
    assert latex_name('g') == 'g'
    assert latex_name('length') == r'\mathrm{length}'


def wolfram_values(text, recording, values):
    """Evaluate a Wolfram function with SymPy's reader of that language."""
    sympy = pytest.importorskip('sympy')
    mathematica = pytest.importorskip('sympy.parsing.mathematica')
    parse = getattr(mathematica, 'parse_mathematica', None)
    if parse is None:
        pytest.skip('this SymPy reads little of the language')
    known = {sympy.Symbol(name): float(value) for array in recording.inputs
             for name, value in zip(array.names, values[array.group], strict=True)}
    body = re.search(r'Module\[\{.*?\},\n(.*)\]\n?$', text, re.S)[1]
    *steps, result = body.split(';\n')
    for step in steps:
        name, _, formula = step.strip().partition(' = ')
        known[sympy.Symbol(name)] = parse(formula).subs(known)
    # A list comes as a tuple of SymPy's.
    return np.array([[float(x.subs(known)) for x in row] for row in parse(result.strip())])


@pytest.mark.parametrize('is_explicit', [False, True])
def test_wolfram_text_is_read_and_right(elbow, is_explicit, evaluated):
    recording = derive(elbow)
    rng = np.random.default_rng(0)
    values = {array.group: rng.uniform(0.5, 1.5, len(array.names)) for array in recording.inputs}
    if is_explicit:
        pytest.importorskip('sympy')
    text = document(recording, 'wolfram', is_explicit=is_explicit)
    assert text.count('[') == text.count(']') and text.count('{') == text.count('}')
    found = wolfram_values(text, recording, values)
    assert np.allclose(found, evaluated(recording, values), rtol=0, atol=1e-12)


def test_wolfram_names_of_its_own_are_refused():
    table = {'convention': 'standard', 'links': [{'a': 'E', 'alpha': 0, 'd': 0}]}
    with pytest.raises(ModelError, match='E is reserved'):
        document(derive(table), 'wolfram')


def test_wolfram_writes_powers_of_ten_its_own_way():
    table = {'convention': 'standard', 'links': [{'a': 1.5e-7, 'alpha': 0, 'd': 0}]}
    text = document(derive(table, 'tau'), 'wolfram')
    assert '1.5*^-7' in text and 'e-07' not in text


def test_text_of_the_elbow(elbow):
    text = document(derive(elbow, 'M'), notes=['a note'])
    lines = text.splitlines()
    assert lines[0] == 'planar_elbow: mass matrix'
    assert lines[1] == 'a note'
    assert 's2 = sin(q2)' in lines
    assert 'M[1, 1] = n1z' in lines


def test_text_written_out(elbow):
    pytest.importorskip('sympy')
    text = document(derive(elbow, 'g'), is_explicit=True)
    assert 'g[2] = -g*my2*sin(q1 + q2) + g*(a2*m2 + mx2)*cos(q1 + q2)' in text.splitlines()


def test_values_of_symbols_are_told(puma):
    (note,) = constants_note(derive(puma, 'g', symbolic=True))
    assert 'g = 9.81' in note


def test_unknown_languages_are_refused(elbow):
    with pytest.raises(ParameterError, match='format must be one of'):
        document(derive(elbow), 'fortran')
    with pytest.raises(ParameterError, match='is not available in c'):
        document(derive(elbow), 'c', is_explicit=True)


@pytest.mark.parametrize('language', LANGUAGES)
def test_sympy_is_asked_for_only_when_entries_are_written_out(elbow, monkeypatch, language):
    monkeypatch.setitem(sys.modules, 'sympy', None)
    assert document(derive(elbow), language)
    with pytest.raises((BackendError, ParameterError), match=r'sympy|explicit'):
        document(derive(elbow), language, is_explicit=True)
