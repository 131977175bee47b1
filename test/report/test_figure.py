# SPDX-License-Identifier: Apache-2.0
from itertools import pairwise

import pytest

from robot_dynamics.report.run_charts import labels

figures = pytest.importorskip('matplotlib.figure', reason='pictures need matplotlib')
backend = pytest.importorskip('matplotlib.backends.backend_agg')

UR5 = ('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint', 'wrist_1_joint',
       'wrist_2_joint', 'wrist_3_joint')


@pytest.mark.parametrize('names', [
    UR5, tuple(f'joint{k}' for k in range(1, 8)), tuple(f'fr3_joint{k}' for k in range(1, 8)),
    tuple(f'left_arm_wrist_roll_joint_{k}' for k in range(9)), ('onlyone',)])
@pytest.mark.parametrize('inches', [7.5, 12.0])
def test_names_of_joints_stand_side_by_side(names, inches):
    figure = figures.Figure(figsize=(inches, 2.0))
    renderer = backend.FigureCanvasAgg(figure).get_renderer()
    axes = figure.add_axes((0.0, 0.3, 1.0, 0.7))
    axes.bar(range(len(names)), [1.0] * len(names), width=0.76)
    texts, size = labels(names, 72.0 * inches)
    axes.set_xticks(range(len(names)), texts, fontsize=size)
    for label in axes.get_xticklabels():
        label.set_fontweight('bold')
    figure.canvas.draw()
    boxes = [label.get_window_extent(renderer) for label in axes.get_xticklabels()]
    assert [text.replace('\n', '') for text in texts] == list(names)
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_short_names_are_not_broken():
    assert labels(('joint1', 'joint2'), 500.0) == (['joint1', 'joint2'], 9.0)


def test_a_long_name_is_broken_near_its_middle():
    texts, size = labels(UR5, 540.0)
    assert texts[0] == 'shoulder_\npan_joint'
    assert size == 9.0
