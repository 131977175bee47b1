# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_of_the_page_runs(tmp_path):
    (example,) = re.findall(r'```python\n(.*?)```', (ROOT / 'docs/closed_form.md').read_text(),
                            re.S)
    done = subprocess.run([sys.executable, '-c', example], cwd=tmp_path, check=True, text=True,
                          capture_output=True, env={'PYTHONPATH': str(ROOT)})
    assert 'M[1, 1] = n1z' in done.stdout.splitlines()
