// Puts identified drives on the page: one chosen log in two charts.

const runs = JSON.parse(document.getElementById('data').textContent);

const positions = run => [
  { name: 'goal', color: '--c7', data: run.goal, width: 1, dash: [2, 3] },
  { name: 'measured', color: '--ink', data: run.measured, width: 1.8 },
  { name: 'held out', color: '--before', data: run.held, width: 1.4, dash: [6, 3] },
  { name: 'simulated', color: '--after', data: run.simulated, width: 1.4 },
];
const errors = run => [
  { name: 'held out', color: '--before', data: run.held_error, width: 1.2 },
  { name: 'own fit', color: '--after', data: run.error, width: 1.2 },
];

showPair(runs, 'position', positions, errors);
