// Puts identified drives on the page: one chosen log in two charts.

const runs = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);

const positions = run => [
  { name: 'goal', color: '--c7', data: run.goal, width: 1, dash: [2, 3] },
  { name: 'measured', color: '--ink', data: run.measured, width: 1.8 },
  { name: 'not seen', color: '--before', data: run.held, width: 1.4, dash: [6, 3] },
  { name: 'simulated', color: '--after', data: run.simulated, width: 1.4 },
];
const errors = run => [
  { name: 'not seen', color: '--before', data: run.held_error, width: 1.2 },
  { name: 'own fit', color: '--after', data: run.error, width: 1.2 },
];
const position = new Chart(byId('position'), byId('position-legend'),
  { time: runs[0].time, unit: '', series: positions(runs[0]) });
const error = new Chart(byId('error'), byId('error-legend'),
  { time: runs[0].time, unit: '', series: errors(runs[0]) });
const charts = [position, error];

const markTab = makeTabs(byId('tabs'), runs.map(run => run.name), showRun);

function showRun(index) {
  const run = runs[index];
  markTab(index);
  for (const place of document.querySelectorAll('.unit')) place.textContent = run.unit;
  for (const chart of charts) { chart.options.time = run.time; chart.cursor = null; }
  position.setSeries(positions(run));
  error.setSeries(errors(run));
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

showRun(0);
setTheme(dark.matches ? 'dark' : 'light');
