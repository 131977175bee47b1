// Puts identified springs on the page: the efforts of one link or motor in two charts.

const sides = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);

const efforts = side => [
  { name: 'measured', color: '--ink', data: side.measured, width: 1.8 },
  { name: 'not seen', color: '--before', data: side.held, width: 1.4, dash: [6, 3] },
  { name: 'own fit', color: '--after', data: side.fitted, width: 1.4 },
];
const errors = side => [
  { name: 'not seen', color: '--before', data: side.held_error, width: 1.2 },
  { name: 'own fit', color: '--after', data: side.error, width: 1.2 },
];
const effort = new Chart(byId('effort'), byId('effort-legend'),
  { time: sides[0].time, unit: '', series: efforts(sides[0]) });
const error = new Chart(byId('error'), byId('error-legend'),
  { time: sides[0].time, unit: '', series: errors(sides[0]) });
const charts = [effort, error];

const markTab = makeTabs(byId('tabs'), sides.map(side => side.name), showSide);

function showSide(index) {
  const side = sides[index];
  markTab(index);
  for (const place of document.querySelectorAll('.unit')) place.textContent = side.unit;
  for (const chart of charts) { chart.options.time = side.time; chart.cursor = null; }
  effort.setSeries(efforts(side));
  error.setSeries(errors(side));
}

for (const chart of charts)
  chart.onPick = at => { for (const other of charts) { other.cursor = at; other.draw(); } };

function redraw() { for (const chart of charts) chart.draw(); }

const dark = window.matchMedia('(prefers-color-scheme: dark)');
function setTheme(name) { document.documentElement.dataset.theme = name; redraw(); }
byId('theme').addEventListener('click', () =>
  setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
dark.addEventListener('change', event => setTheme(event.matches ? 'dark' : 'light'));
window.addEventListener('resize', redraw);

showSide(0);
setTheme(dark.matches ? 'dark' : 'light');
