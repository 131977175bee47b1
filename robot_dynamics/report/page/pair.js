// One chosen run in two charts under each other: what was measured and found, and what is left.

function showPair(runs, name, seriesOf, errorsOf) {
  const byId = id => document.getElementById(id);
  const chartOf = (id, series) => new Chart(byId(id), byId(`${id}-legend`),
    { time: runs[0].time, unit: '', series: series(runs[0]) });
  const upper = chartOf(name, seriesOf), lower = chartOf('error', errorsOf);
  const charts = [upper, lower];
  const markTab = makeTabs(byId('tabs'), runs.map(run => run.name), show);

  function show(index) {
    const run = runs[index];
    markTab(index);
    for (const place of document.querySelectorAll('.unit')) place.textContent = run.unit;
    for (const chart of charts) { chart.options.time = run.time; chart.cursor = null; }
    upper.setSeries(seriesOf(run));
    lower.setSeries(errorsOf(run));
  }

  for (const chart of charts)
    chart.onPick = at => { for (const other of charts) { other.cursor = at; other.draw(); } };
  show(0);
  followTheme(byId('theme'), () => { for (const chart of charts) chart.draw(); });
}
