# SPDX-License-Identifier: Apache-2.0
"""Views of all controllers, made from those of the adaptive one, which has the most topics."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from robot_dynamics.nodes.controllers import CONTROLLER_NODES

#: Node of the original views, and their files for rqt, PlotJuggler and RViz.
ORIGINAL = 'adaptive_controller'
TEMPLATES = {'perspective': Path('config', 'robot_dynamics.perspective'),
             'xml': Path('config', 'plotjuggler.xml'),
             'rviz': Path('config', 'robot_dynamics.rviz')}
FOLDER = Path('config', 'views')


def documents() -> dict[Path, str]:
    """Views of the other controllers, by path in the repository."""
    return {FOLDER / f'{controller}.{kind}': view(path.read_text(encoding='utf-8'), controller)
            for controller in CONTROLLER_NODES if controller != ORIGINAL
            for kind, path in TEMPLATES.items()}


def view(text: str, controller: str) -> str:
    """A view converted from the adaptive controller, without plots of missing topics."""
    theirs = {f'/{topic}' for topic in CONTROLLER_NODES[controller].all_topics}
    text = text.replace(f'/{ORIGINAL}/', f'/{controller}/')
    shown = set(re.findall(rf'/{controller}/\w+', text))
    return _without(text, shown - theirs) if shown - theirs else text


def _without(text: str, topics: set[str]) -> str:
    """A layout of PlotJuggler without the plots of some topics."""
    head, root = text[:text.index('<root')], ET.fromstring(text)
    tabs: Any = root.find('tabbed_widget')
    for tab in tabs.findall('Tab'):
        for splitter in tab.iter('DockSplitter'):
            for area in splitter.findall('DockArea'):
                if any(curve.attrib['name'].startswith(f'{topic}/') for topic in topics
                       for curve in area.iter('curve')):
                    splitter.remove(area)
            count = len(splitter.findall('DockArea'))
            splitter.set('count', str(count))
            splitter.set('sizes', ';'.join([f'{1.0 / count:.6f}'] * count) if count else '')
        if not list(tab.iter('DockArea')):
            tabs.remove(tab)
    for selected in root.iter('selected_topics'):
        selected.set('value', ';'.join(topic for topic in selected.attrib['value'].split(';')
                                       if topic not in topics))
    return head + ET.tostring(root, encoding='unicode') + '\n'
