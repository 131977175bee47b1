// Puts the run on the page: charts that share a cursor with the moving arm.

const run = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);
const jointColor = i => `--c${i % 9}`;
const dashes = [null, [6, 3], [2, 3]];
const band = run.adaptation === null ? null : [run.error.time[0], run.adaptation];
const mark = run.adaptation === null ? null : { time: run.adaptation, text: 'adaptation on' };

const error = new Chart(byId('error'), byId('error-legend'), {
  time: run.error.time, log: true, band, mark, unit: '',
  series: [
    ...run.joints.map((name, i) => ({
      name, color: jointColor(i), data: run.error.joints[i], width: 1.2, alpha: 0.75,
      dash: dashes[Math.floor(i / 9) % 3],
    })),
    { name: 'all joints', color: '--ink', data: run.error.total, width: 2.6 },
  ],
});

const torqueSeries = joint => [
  ...Object.entries(run.torque.parts).map(([name, joints], i) => ({
    name, color: ['--c2', '--c3', '--c5', '--c6'][i], data: joints[joint], width: 1.4,
  })),
  ...(run.torque.model ? [{ name: 'model, all parts', color: '--c0', data: run.torque.model[joint], width: 2.2, dash: [7, 3] }] : []),
  { name: 'measured', color: '--ink', data: run.torque.measured[joint], width: 1.6 },
];
const torque = new Chart(byId('torque'), byId('torque-legend'), {
  time: run.torque.time, band, mark, unit: 'N m', series: torqueSeries(0),
});
const markTab = makeTabs(byId('torque-tabs'), run.joints, showTorque);
function showTorque(joint) {
  markTab(joint);
  torque.setSeries(torqueSeries(joint));
}

const estimates = run.estimates.names.length === 0 ? null :
  new Chart(byId('estimates'), byId('estimates-legend'), {
    time: run.estimates.time, band, mark, unit: 'kg', floor: 0,
    series: run.estimates.names.flatMap((name, i) => [
      { name, color: jointColor(i), data: run.estimates.values[i], width: 1.8 },
      ...(run.estimates.truth[i] === null ? [] : [{
        quiet: true, name: `${name}, true`, color: jointColor(i), width: 1, dash: [2, 4],
        data: run.estimates.time.map(() => run.estimates.truth[i]),
      }]),
    ]),
  });
if (!estimates) byId('estimates').closest('section').hidden = true;

const loop = new Chart(byId('loop'), byId('loop-legend'), {
  time: run.loop.time, floor: 0, unit: 'ms',
  series: [
    { name: 'period', color: '--c7', data: run.loop.period, width: 1.4 },
    { name: 'latency', color: '--c0', data: run.loop.latency, width: 1.8 },
  ],
});

const charts = [error, torque, loop, ...(estimates ? [estimates] : [])];
const arm = run.arm ? new Arm(byId('arm'), run.arm) : null;
if (!arm) { byId('arm').closest('figure').hidden = true; byId('error').closest('figure').style.gridColumn = '1 / -1'; }

const [begin, end] = error.domain();
const seek = byId('seek');
seek.min = begin; seek.max = end; seek.step = (end - begin) / 2000;
let now = begin, playing = false, last = null;

function show(time) {
  now = time;
  seek.value = time;
  byId('clock').textContent = `${time.toFixed(1)} s`;
  for (const chart of charts) { chart.cursor = time; chart.draw(); }
  if (arm) arm.draw(time);
}

function setPlaying(on) {
  playing = on; last = null;
  byId('play').textContent = on ? '❚❚' : '▶';
  if (on) requestAnimationFrame(step);
}

function step(stamp) {
  if (!playing) return;
  if (last !== null) {
    const time = now + (stamp - last) / 1000 * Number(byId('speed').value);
    show(time > end ? begin : time);
  }
  last = stamp;
  requestAnimationFrame(step);
}

for (const chart of charts) chart.onPick = time => { setPlaying(false); show(time); };
seek.addEventListener('input', () => { setPlaying(false); show(Number(seek.value)); });
byId('play').addEventListener('click', () => setPlaying(!playing));
byId('exaggeration').addEventListener('change', event => {
  if (arm) arm.exaggeration = Number(event.target.value);
  show(now);
});

function redraw() {
  show(now);
  drawHistogram(byId('period'), run.loop.period_histogram, '--c7');
  drawHistogram(byId('latency'), run.loop.latency_histogram, '--c0');
}

showTorque(Math.min(1, run.joints.length - 1));
now = run.adaptation === null ? begin : Math.max(begin, run.adaptation - 3);
followTheme(byId('theme'), redraw);
if (!window.matchMedia('(prefers-reduced-motion: reduce)').matches) setPlaying(true); else setPlaying(false);
