# SPDX-License-Identifier: Apache-2.0
import json
import re

from robot_dynamics.report.page import (
    Html,
    Page,
    bars,
    embedded,
    facts,
    items,
    section,
    table,
    tile,
    wide,
)


def test_plain_text_is_escaped_and_sections_are_not():
    page = Page('<arm>', 'good & well', 'from <x>', [Html('<section>{{title}}</section>')],
                kind='drives', verdict='good', notice=Html('<b>first</b>')).render(
        {'text': '</script>'}, 'arm.js')
    assert page.startswith('<!doctype html>') and page.rstrip().endswith('</html>')
    assert '<title>&lt;arm&gt;: good &amp; well</title>' in page
    assert 'robot_dynamics · drives · &lt;arm&gt;' in page and 'from &lt;x&gt;' in page
    assert 'var(--c2)' in page and '<p class="notice"><b>first</b></p>' in page
    # What is filled in is not a template itself.
    assert '<section>{{title}}</section>' in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1]
    assert json.loads(data) == {'text': '</script>'}


def test_without_verdict_and_kind_nothing_stands_in_their_place():
    page = Page('arm', 'x', '', []).render(None)
    assert 'class="verdict-mark"' not in page and '>robot_dynamics · arm<' in page
    assert embedded(None) == 'null'


def test_texts_in_sections_and_tables_are_escaped_and_markup_is_not():
    assert '<p class="note">a &lt; b</p>' in section('x', 'a < b')
    assert '<h2>&lt;x&gt;</h2>' in section('<x>', Html('<i>y</i>')) and section('x', '') \
        == '<section>\n  <h2>x</h2>\n  \n</section>'
    assert items(['<x>', Html('<b>y</b>')]) == '<ul><li>&lt;x&gt;</li><li><b>y</b></li></ul>'
    assert '&lt;1&gt; <small>kg</small>' in tile('<1>', 'mass', 'kg')
    cells = table(('<a>', ''), [('<x>', wide('<y>')), ('z', bars((0.5, 'after')))],
                  total=('all', '<'))
    assert '<th>&lt;a&gt;</th>' in cells and '<td>&lt;x&gt;</td>' in cells
    assert '<td class="wide">&lt;y&gt;</td>' in cells and 'width:50.0%' in cells
    assert '<tr class="total"><td>all</td><td>&lt;</td></tr>' in cells
    assert '<thead>' not in facts([('a', 'b')])


def test_bars_stay_inside_their_cell():
    cell = bars((2.0, 'before'), (-1.0, 'after'), (float('nan'), 'after'))
    assert re.findall(r'width:([\d.]+)%', cell) == ['100.0', '0.0', '100.0']
