// Line charts and histograms on a canvas: axes, phase band, cursor, legend.

const FONT = '12px system-ui, sans-serif';

const cssColor = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

function niceTicks(low, high, count) {
  const span = high - low || 1, raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * span; k++) ticks.push(k * step);
  return ticks;
}

function label(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  return String(+value.toPrecision(size < 1e-3 ? 2 : 3));
}

class Chart {
  // options: time, series: [{name, color, data, width, dash, alpha, quiet}], log,
  // band: [from, to], mark: {time, text}, unit, floor, xUnit (' s'), xLog. A quiet series has no
  // legend; one with points has dots instead of a line, at its own times if it has any.
  constructor(canvas, legend, options) {
    Object.assign(this, { canvas, legend, options });
    this.margin = { left: 52, right: 14, top: 16, bottom: 30 };
    this.cursor = null;
    this.buildLegend();
    canvas.addEventListener('pointermove', event => this.onPick && this.onPick(this.timeAt(event)));
    canvas.addEventListener('pointerdown', event => this.onPick && this.onPick(this.timeAt(event)));
  }

  setSeries(series) { this.options.series = series; this.buildLegend(); this.draw(); }

  buildLegend() {
    if (!this.legend) return;
    this.legend.replaceChildren(...this.options.series.filter(series => !series.quiet).map(series => {
      const item = document.createElement('span');
      const dash = series.dash ? ` stroke-dasharray="${series.dash.join(' ')}"` : '';
      const mark = series.points
        ? `<circle cx="11" cy="4" r="3" style="fill:var(${series.color})"/>`
        : `<line x1="0" x2="22" y1="4" y2="4" style="stroke:var(${series.color})"
          stroke-width="${series.width || 1.5}"${dash}/>`;
      item.innerHTML = `<svg viewBox="0 0 22 8" aria-hidden="true">${mark}</svg>`;
      const value = document.createElement('b');
      item.append(series.name + ' ', value);
      series.readout = value;
      return item;
    }));
  }

  timeAt(event) {
    const { left, right } = this.margin, box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - left) / (box.width - left - right);
    const [from, to] = this.domain(), part = Math.min(1, Math.max(0, share));
    return this.options.xLog ? from * (to / from) ** part : from + part * (to - from);
  }

  domain() { const t = this.options.time; return [t[0], t[t.length - 1]]; }

  range() {
    let low = Infinity, high = -Infinity;
    for (const { data } of this.options.series) for (const value of data) {
      if (value === null || (this.options.log && value <= 0)) continue;
      low = Math.min(low, value); high = Math.max(high, value);
    }
    if (low > high) return [0, 1];
    if (this.options.log) return [10 ** Math.floor(Math.log10(low * 1.001)), high * 1.4];
    if (this.options.floor !== undefined) low = Math.min(low, this.options.floor);
    const pad = 0.06 * (high - low || 1);
    return [low === this.options.floor ? low : low - pad, high + pad];
  }

  draw() {
    const { context: c, width, height } = prepare(this.canvas), m = this.margin, o = this.options;
    const [t0, t1] = this.domain(), [low, high] = this.range();
    c.font = FONT;
    m.left = this.roomFor(c, this.ticks([low, high]));
    const across = o.xLog ? t => Math.log(t / t0) / Math.log(t1 / t0) : t => (t - t0) / (t1 - t0);
    const x = t => m.left + across(t) * (width - m.left - m.right);
    const share = o.log
      ? v => (Math.log10(v) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))
      : v => (v - low) / (high - low);
    const y = v => height - m.bottom - share(v) * (height - m.top - m.bottom);
    this.drawBand(c, x, height);
    this.drawGrid(c, x, y, [low, high], width, height);
    c.save();
    c.beginPath(); c.rect(m.left, m.top - 4, width - m.left - m.right, height - m.top - m.bottom + 4); c.clip();
    for (const series of o.series) this.drawLine(c, series, x, y);
    c.restore();
    this.drawMark(c, x, height);
    this.drawCursor(c, x, y, height);
  }

  drawBand(c, x, height) {
    if (!this.options.band) return;
    const [from, to] = this.options.band, m = this.margin;
    c.fillStyle = cssColor('--band');
    c.fillRect(x(from), m.top - 4, x(to) - x(from), height - m.top - m.bottom + 4);
  }

  drawGrid(c, x, y, [low, high], width, height) {
    const m = this.margin;
    c.lineWidth = 1; c.strokeStyle = cssColor('--grid'); c.fillStyle = cssColor('--soft');
    c.textAlign = 'right'; c.textBaseline = 'middle';
    for (const tick of this.ticks([low, high])) {
      c.beginPath(); c.moveTo(m.left, y(tick)); c.lineTo(width - m.right, y(tick)); c.stroke();
      c.fillText(label(tick), m.left - 8, y(tick));
    }
    c.textAlign = 'center'; c.textBaseline = 'top';
    const [t0, t1] = this.domain(), unit = this.options.xUnit ?? ' s';
    const times = this.options.xLog ? this.decades(t0, t1) : niceTicks(t0, t1, Math.max(3, width / 110));
    times.forEach((tick, i) => {
      const text = label(tick) + (i === times.length - 1 ? unit : '');
      const half = 0.5 * c.measureText(text).width;
      c.fillText(text, Math.min(x(tick), width - half), height - m.bottom + 8);
    });
  }

  ticks([low, high]) { return this.options.log ? this.decades(low, high) : niceTicks(low, high, 5); }

  // Charts below each other keep the same margin unless a label needs more.
  roomFor(c, ticks) {
    return Math.max(52, 12 + Math.ceil(Math.max(0, ...ticks.map(tick => c.measureText(label(tick)).width))));
  }

  decades(low, high) {
    const ticks = [], wide = Math.log10(high / low) > 2.6;
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++)
      for (const factor of wide ? [1] : [1, 3]) {
        const tick = factor * 10 ** power;
        if (tick >= low * 0.999 && tick <= high) ticks.push(tick);
      }
    return ticks;
  }

  drawLine(c, series, x, y) {
    const { time, log } = this.options;
    if (series.points) { this.drawPoints(c, series, x, y); return; }
    c.strokeStyle = cssColor(series.color); c.lineWidth = series.width || 1.5;
    c.globalAlpha = series.alpha || 1; c.lineJoin = 'round'; c.setLineDash(series.dash || []);
    c.beginPath();
    let pen = false;
    series.data.forEach((value, i) => {
      if (value === null || (log && value <= 0)) { pen = false; return; }
      if (pen) c.lineTo(x(time[i]), y(value)); else c.moveTo(x(time[i]), y(value));
      pen = true;
    });
    c.stroke(); c.setLineDash([]); c.globalAlpha = 1;
  }

  drawPoints(c, series, x, y) {
    c.fillStyle = cssColor(series.color); c.globalAlpha = series.alpha || 1;
    (series.time || this.options.time).forEach((t, i) => {
      c.beginPath(); c.arc(x(t), y(series.data[i]), series.width || 2, 0, 2 * Math.PI); c.fill();
    });
    c.globalAlpha = 1;
  }

  drawMark(c, x, height) {
    const { mark } = this.options, m = this.margin;
    if (!mark) return;
    c.strokeStyle = cssColor('--ink'); c.lineWidth = 1; c.setLineDash([3, 3]);
    c.beginPath(); c.moveTo(x(mark.time), m.top - 6); c.lineTo(x(mark.time), height - m.bottom); c.stroke();
    c.setLineDash([]); c.fillStyle = cssColor('--ink'); c.textAlign = 'left'; c.textBaseline = 'top';
    c.fillText(mark.text, x(mark.time) + 6, m.top - 6);
  }

  drawCursor(c, x, y, height) {
    if (this.cursor === null) return;
    const { time, series: all, unit } = this.options;
    let index = time.findIndex(t => t > this.cursor) - 1;
    if (index < -1) index = time.length - 1;
    index = Math.max(0, index);
    c.strokeStyle = cssColor('--soft'); c.lineWidth = 1;
    c.beginPath(); c.moveTo(x(this.cursor), this.margin.top); c.lineTo(x(this.cursor), height - this.margin.bottom); c.stroke();
    for (const series of all) {
      if (series.points) continue;
      const value = series.data[index];
      if (series.readout) series.readout.textContent = value === null ? '' : `${label(value)}${unit ? ' ' + unit : ''}`;
      if (value === null || (this.options.log && value <= 0)) continue;
      c.fillStyle = cssColor(series.color);
      c.beginPath(); c.arc(x(this.cursor), y(value), 3, 0, 2 * Math.PI); c.fill();
    }
  }
}

function drawHistogram(canvas, { edges, counts }, color) {
  const { context: c, width, height } = prepare(canvas);
  if (!counts.length) return;
  const left = 14, right = 14, bottom = 28, top = 10, last = edges[edges.length - 1];
  const x = v => left + v / last * (width - left - right);
  // Square root: a single late cycle among thousands stays visible.
  const y = n => height - bottom - Math.sqrt(n / Math.max(...counts)) * (height - top - bottom);
  c.fillStyle = cssColor(color);
  counts.forEach((count, i) => {
    if (count) c.fillRect(x(edges[i]) + 0.5, y(count), Math.max(1, x(edges[i + 1]) - x(edges[i]) - 1), height - bottom - y(count));
  });
  c.font = FONT; c.fillStyle = cssColor('--soft');
  c.textAlign = 'center'; c.textBaseline = 'top';
  for (const tick of niceTicks(0, last, 6)) c.fillText(label(tick), x(tick), height - bottom + 8);
  c.strokeStyle = cssColor('--line');
  c.beginPath(); c.moveTo(left, height - bottom + 0.5); c.lineTo(width - right, height - bottom + 0.5); c.stroke();
}
