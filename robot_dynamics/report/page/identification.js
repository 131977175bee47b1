// Puts an identification on the page: one chosen joint in four charts, all of them in one.

const run = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);

const looks = ['--before', '--after', '--c5', '--c7', '--c3', '--c8'].map((color, i) => (
  { color, width: 1.4, dash: i % 2 ? null : [6, 3] }));
const look = i => looks[i % looks.length];

const efforts = joint => [
  { name: 'measured', color: '--ink', data: run.efforts.measured[joint], width: 1.6 },
  ...run.efforts.models.map((one, i) => ({ name: one.name, data: one.predicted[joint], ...look(i) })),
];
const residuals = joint => run.efforts.models.map(
  (one, i) => ({ name: one.name, data: one.residual[joint], ...look(i) }));
const effort = new Chart(byId('effort'), byId('effort-legend'),
  { time: run.efforts.time, unit: '', series: efforts(0) });
const residual = new Chart(byId('residual'), byId('residual-legend'),
  { time: run.efforts.time, unit: '', series: residuals(0) });
const spectrum = new Chart(byId('spectrum'), byId('spectrum-legend'), {
  time: run.spectra.frequency, log: true, xLog: true, xUnit: ' Hz', unit: '',
  mark: { time: Math.min(run.cutoff, run.spectra.frequency[run.spectra.frequency.length - 1]), text: '' },
  series: [],
});
// A validation has no friction of its own.
const friction = run.friction && new Chart(byId('friction'), byId('friction-legend'),
  { time: [0, 1], unit: '', xUnit: '', series: [] });
const overview = new Chart(byId('overview'), byId('overview-legend'), {
  time: run.overview.time, log: true, unit: '',
  series: run.joints.map((name, i) => ({
    name, color: `--c${i % 9}`, data: run.overview.errors[i], width: 1.4,
    dash: [null, [6, 3], [2, 3]][Math.floor(i / 9) % 3],
  })),
});

const markTab = makeTabs(byId('tabs'), run.joints, showJoint);

function showJoint(joint) {
  markTab(joint);
  for (const place of document.querySelectorAll('.unit')) place.textContent = run.units[joint];
  effort.setSeries(efforts(joint));
  residual.setSeries(residuals(joint));
  spectrum.setSeries(run.spectra.curves.map((one, i) => (
    { name: one.name, color: i ? looks[(i - 1) % looks.length].color : '--ink',
      data: one.density[joint], width: 1.5 })));
  if (!friction) return;
  const curve = run.friction[joint];
  friction.options.time = curve.speed;
  byId('speed-unit').textContent = run.units[joint] === 'N' ? 'm/s' : 'rad/s';
  friction.setSeries([
    { name: 'measured', color: '--c7', time: curve.at, data: curve.measured, points: true, width: 2.5 },
    { name: 'identified', color: '--after', data: curve.identified, width: 2 },
    { name: 'as in the URDF', color: '--before', data: curve.urdf, width: 1.4, dash: [6, 3] },
  ]);
}

const pairs = [[effort, residual], [spectrum], friction ? [friction] : [], [overview]];
for (const group of pairs) for (const chart of group)
  chart.onPick = at => { for (const other of group) { other.cursor = at; other.draw(); } };

function redraw() { for (const chart of pairs.flat()) chart.draw(); }

showJoint(0);
followTheme(byId('theme'), redraw);
