// The arm: points and lines over time, seen in perspective, turned by dragging.

class Arm {
  // frames: {time, points, desired, lines, tip}, points in mm, flat per frame
  constructor(canvas, frames) {
    Object.assign(this, { canvas, frames, turn: -0.9, tilt: 0.32, exaggeration: 5 });
    this.fit();
    let grip = null;
    canvas.addEventListener('pointerdown', event => {
      grip = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointerup', () => { grip = null; });
    canvas.addEventListener('pointermove', event => {
      if (!grip) return;
      this.turn += (event.clientX - grip[0]) * 0.01;
      this.tilt = Math.min(1.4, Math.max(-0.2, this.tilt + (event.clientY - grip[1]) * 0.006));
      grip = [event.clientX, event.clientY];
      this.draw(this.now);
    });
  }

  fit() {
    let reach = 1;
    const low = [0, 0, 0], high = [0, 0, 1];
    const each = visit => {
      for (const points of this.frames.points)
        for (let i = 0; i < points.length; i += 3) visit(points.slice(i, i + 3));
    };
    each(point => {
      reach = Math.max(reach, Math.hypot(point[0], point[1]));
      point.forEach((value, k) => { low[k] = Math.min(low[k], value); high[k] = Math.max(high[k], value); });
    });
    // Seen from all around: turned about the middle of what it reaches, no point leaves the picture.
    const middle = low.map((value, k) => (value + high[k]) / 2);
    let size = 1;
    each(point => { size = Math.max(size, Math.hypot(...point.map((value, k) => value - middle[k]))); });
    Object.assign(this, { reach, low: low[2], middle, size });
  }

  camera(width, height) {
    const cosT = Math.cos(this.turn), sinT = Math.sin(this.turn);
    const cosE = Math.cos(this.tilt), sinE = Math.sin(this.tilt);
    const distance = 4.2 * this.size, scale = 0.47 * Math.min(width, height) * distance / this.size;
    return point => {
      const [px, py, up] = point.map((value, k) => value - this.middle[k]);
      const right = -sinT * px + cosT * py, away = -cosT * px - sinT * py;
      const depth = distance + away * cosE - up * sinE, lift = up * cosE + away * sinE;
      return [width / 2 + scale * right / depth, height / 2 - scale * lift / depth, depth, scale / depth];
    };
  }

  at(time) {
    const t = this.frames.time;
    let index = t.findIndex(value => value > time) - 1;
    if (index < -1) index = t.length - 1;
    return Math.max(0, index);
  }

  pose(flat) {
    const points = [];
    for (let i = 0; i < flat.length; i += 3) points.push([flat[i], flat[i + 1], flat[i + 2]]);
    return points;
  }

  draw(time) {
    this.now = time;
    const { context: c, width, height } = prepare(this.canvas);
    const project = this.camera(width, height), index = this.at(time);
    const points = this.pose(this.frames.points[index]);
    const ghost = this.pose(this.frames.desired[index]).map((p, i) =>
      p.map((value, k) => points[i][k] + this.exaggeration * (value - points[i][k])));
    this.drawFloor(c, project);
    this.drawLines(c, points.map(([x, y]) => [x, y, this.low]), project, '--shadow', 62, 0);
    this.drawTrail(c, index, project);
    this.drawGhost(c, ghost, project);
    this.drawLimbs(c, points, project);
  }

  drawFloor(c, project) {
    c.strokeStyle = cssColor('--grid'); c.lineWidth = 1;
    for (const share of [0.35, 0.7, 1.05]) {
      c.beginPath();
      for (let k = 0; k <= 64; k++) {
        const angle = k / 64 * 2 * Math.PI, r = share * this.reach;
        const [x, y] = project([r * Math.cos(angle), r * Math.sin(angle), this.low]);
        if (k) c.lineTo(x, y); else c.moveTo(x, y);
      }
      c.stroke();
    }
    for (let k = 0; k < 4; k++) {
      const angle = k / 4 * Math.PI, r = 1.05 * this.reach;
      const a = project([r * Math.cos(angle), r * Math.sin(angle), this.low]);
      const b = project([-r * Math.cos(angle), -r * Math.sin(angle), this.low]);
      c.beginPath(); c.moveTo(a[0], a[1]); c.lineTo(b[0], b[1]); c.stroke();
    }
  }

  drawLines(c, points, project, color, millimetres) {
    c.strokeStyle = cssColor(color); c.lineCap = 'round'; c.lineJoin = 'round';
    c.beginPath();
    for (const [from, to] of this.frames.lines) {
      const a = project(points[from]), b = project(points[to]);
      c.lineWidth = millimetres * a[3] * this.reach / 850;
      c.moveTo(a[0], a[1]); c.lineTo(b[0], b[1]);
    }
    c.stroke();
  }

  drawTrail(c, index, project) {
    const tip = this.frames.tip, length = Math.min(index, 60);
    c.lineCap = 'round'; c.lineWidth = 2; c.strokeStyle = cssColor('--accent');
    for (let k = index - length; k < index; k++) {
      const a = project(this.pose(this.frames.points[k])[tip]);
      const b = project(this.pose(this.frames.points[k + 1])[tip]);
      c.globalAlpha = 0.75 * (1 - (index - k) / (length + 1));
      c.beginPath(); c.moveTo(a[0], a[1]); c.lineTo(b[0], b[1]); c.stroke();
    }
    c.globalAlpha = 1;
  }

  drawGhost(c, points, project) {
    this.drawLines(c, points, project, '--before', 30);
    // Hollow: the inside is painted over in the colour of the card.
    this.drawLines(c, points, project, '--card', 24);
  }

  drawLimbs(c, points, project) {
    const unit = this.reach / 850;
    const limbs = this.frames.lines.map(([from, to], k) => ({ a: project(points[from]), b: project(points[to]), k }));
    limbs.sort((one, two) => (two.a[2] + two.b[2]) - (one.a[2] + one.b[2]));
    c.lineCap = 'round';
    for (const { a, b, k } of limbs) {
      const share = 1 - 0.5 * k / limbs.length, wide = 78 * share * unit * (a[3] + b[3]) / 2;
      for (const [color, factor, shift] of [['--limb', 1, 0], ['--limb-light', 0.28, -0.2]]) {
        c.strokeStyle = cssColor(color); c.lineWidth = wide * factor;
        c.beginPath(); c.moveTo(a[0] + shift * wide, a[1] + shift * wide);
        c.lineTo(b[0] + shift * wide, b[1] + shift * wide); c.stroke();
      }
      c.fillStyle = cssColor('--joint'); c.strokeStyle = cssColor('--limb'); c.lineWidth = 1.5;
      c.beginPath(); c.arc(a[0], a[1], wide * 0.36, 0, 2 * Math.PI); c.fill(); c.stroke();
    }
    const tip = project(points[this.frames.tip]);
    c.fillStyle = cssColor('--accent');
    c.beginPath(); c.arc(tip[0], tip[1], 34 * unit * tip[3], 0, 2 * Math.PI); c.fill();
  }
}
