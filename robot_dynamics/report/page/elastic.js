// Puts identified springs on the page: the efforts of one link or motor in two charts.

const sides = JSON.parse(document.getElementById('data').textContent);

const efforts = side => [
  { name: 'measured', color: '--ink', data: side.measured, width: 1.8 },
  { name: 'held out', color: '--before', data: side.held, width: 1.4, dash: [6, 3] },
  { name: 'own fit', color: '--after', data: side.fitted, width: 1.4 },
];
const errors = side => [
  { name: 'held out', color: '--before', data: side.held_error, width: 1.2 },
  { name: 'own fit', color: '--after', data: side.error, width: 1.2 },
];

showPair(sides, 'effort', efforts, errors);
