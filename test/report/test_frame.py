# SPDX-License-Identifier: Apache-2.0
import json
import re

from robot_dynamics.report.frame import Heading, embedded, framed, notice


def test_plain_text_is_escaped_and_sections_are_not():
    heading = Heading('<arm>', 'good & well', 'from <x>', kind='drives', colour='--good',
                      notice=notice('<b>first</b>'))
    page = framed(heading, '<section>{{title}}</section>', style='p { color: red }',
                  scripts=('arm.js',), data={'text': '</script>'})
    assert page.startswith('<!doctype html>') and page.rstrip().endswith('</html>')
    assert '<title>&lt;arm&gt;: good &amp; well</title>' in page
    assert 'robot_dynamics · drives · &lt;arm&gt;' in page and 'from &lt;x&gt;' in page
    assert 'var(--good)' in page and '<p class="notice"><b>first</b></p>' in page
    # What is filled in is not a template itself.
    assert '<section>{{title}}</section>' in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1]
    assert json.loads(data) == {'text': '</script>'}


def test_without_verdict_and_kind_nothing_stands_in_their_place():
    page = framed(Heading('arm', 'x', ''), '', style='', scripts=(), data=None)
    assert 'verdict-mark' not in page and '>robot_dynamics · arm<' in page
    assert embedded(None) == 'null'
