# SPDX-License-Identifier: Apache-2.0
"""Make the page of the examples from their docstrings, and their pictures.

    python docs/make_examples.py            # the page
    python docs/make_examples.py all        # and all pictures
    python docs/make_examples.py impedance  # and some pictures

A script has `main`, which prints and returns what `draw(figure, ...)` draws, if there is one.
"""

import ast
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs' / 'examples.md'
PICTURES = ROOT / 'docs' / 'images' / 'examples'
SCRIPTS = sorted((ROOT / 'examples').glob('*.py'))
#: Those with a picture.
DRAWN = [script for script in SCRIPTS if '\ndef draw(' in script.read_text()]
HEAD = """\
# Examples

Each script of [examples/](../examples) shows one task, and runs in some seconds without ROS 2.
`python docs/make_examples.py all` makes this page and its pictures.

Two notebooks go further: [identification of a UR5](../examples/identification_ur5.ipynb) and
[adaptive control](../examples/adaptive_control.ipynb).
"""


def docstring(script: Path) -> str:
    """First docstring of a script."""
    return ast.get_docstring(ast.parse(script.read_text())) or ''


def page() -> str:
    """Text of the page: for each script its docstring, a link, and its picture."""
    parts = [HEAD]
    for script in SCRIPTS:
        title, _, text = docstring(script).partition('\n')
        picture = f'\n![{title}](images/examples/{script.stem}.png)\n' * (script in DRAWN)
        parts.append(f'## {title.rstrip(".")}\n\n[{script.name}](../examples/{script.name})\n\n'
                     f'{text.strip()}\n{picture}')
    return '\n'.join(parts)


def make_picture(script: Path) -> None:
    """Run a script, and draw its result."""
    import matplotlib
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    arguments, sys.argv = sys.argv, [str(script)]
    names = runpy.run_path(str(script))
    figure = plt.figure(figsize=(6.4, 3.0), layout='constrained')
    names['draw'](figure, *names['main']())
    sys.argv = arguments
    PICTURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURES / f'{script.stem}.png', dpi=80, metadata={'Software': None})
    plt.close(figure)


if __name__ == '__main__':
    for each in DRAWN:
        if each.stem in sys.argv[1:] or 'all' in sys.argv[1:]:
            make_picture(each)
    PAGE.write_text(page())
