// The same picture twice: on a canvas to look at, and as SVG to keep.

let ink = {};
const readInk = () => {
  const style = getComputedStyle(document.documentElement);
  const names = ["page", "panel", "ink", "soft", "rule", "band0", "band1", "lane", "hold", "witness", "accent", "violated", "unknown"];
  for (let at = 0; at < 8; at++) names.push("c" + at);
  ink = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
};
const laneInk = (lane) => lane < 0 ? ink.soft : ink["c" + lane % 8];
const face = "system-ui, sans-serif";

class CanvasPainter {
  constructor(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    this.to = canvas.getContext("2d");
    this.to.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.to.clearRect(0, 0, width, height);
    this.to.lineJoin = this.to.lineCap = "round";
  }
  inside(x, y, width, height, draw) {
    this.to.save();
    this.to.beginPath();
    this.to.rect(x, y, width, height);
    this.to.clip();
    draw();
    this.to.restore();
  }
  lines(points, color, width = 1, alpha = 1, dash = []) {
    const to = this.to;
    to.globalAlpha = alpha;
    to.strokeStyle = color;
    to.lineWidth = width;
    to.setLineDash(dash);
    to.beginPath();
    for (let at = 0; at < points.length; at += 4) {
      to.moveTo(points[at], points[at + 1]);
      to.lineTo(points[at + 2], points[at + 3]);
    }
    to.stroke();
    to.setLineDash([]);
    to.globalAlpha = 1;
  }
  bow(x0, y0, x1, y1, x2, y2, color, width, dash) {
    const to = this.to;
    to.strokeStyle = color;
    to.lineWidth = width;
    to.setLineDash(dash);
    to.beginPath();
    to.moveTo(x0, y0);
    to.quadraticCurveTo(x1, y1, x2, y2);
    to.stroke();
    to.setLineDash([]);
  }
  polygon(points, color, alpha = 1) {
    const to = this.to;
    to.globalAlpha = alpha;
    to.fillStyle = color;
    to.beginPath();
    points.forEach(([x, y], at) => at ? to.lineTo(x, y) : to.moveTo(x, y));
    to.closePath();
    to.fill();
    to.globalAlpha = 1;
  }
  box(x, y, width, height, color, alpha = 1) {
    this.to.globalAlpha = alpha;
    this.to.fillStyle = color;
    this.to.fillRect(x, y, width, height);
    this.to.globalAlpha = 1;
  }
  circle(x, y, radius, fill, stroke = "", width = 1.5) {
    const to = this.to;
    to.beginPath();
    to.arc(x, y, radius, 0, 2 * Math.PI);
    if (fill) { to.fillStyle = fill; to.fill(); }
    if (stroke) { to.strokeStyle = stroke; to.lineWidth = width; to.stroke(); }
  }
  text(words, x, y, color, size = 13, anchor = "start", weight = 400) {
    const to = this.to;
    to.font = `${weight} ${size}px ${face}`;
    to.textAlign = anchor === "middle" ? "center" : anchor;
    to.fillStyle = color;
    to.fillText(words, x, y);
  }
}

const escaped = (words) => String(words).replace(/[<>&"']/g, (found) => `&#${found.charCodeAt(0)};`);
class SvgPainter {
  constructor(width, height) {
    this.parts = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${face}">`];
    this.clips = 0;
  }
  inside(x, y, width, height, draw) {
    const id = `clip${this.clips++}`;
    this.parts.push(`<clipPath id="${id}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath><g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }
  lines(points, color, width = 1, alpha = 1, dash = []) {
    let path = "";
    for (let at = 0; at < points.length; at += 4) {
      path += `M${points[at].toFixed(1)} ${points[at + 1].toFixed(1)}L${points[at + 2].toFixed(1)} ${points[at + 3].toFixed(1)}`;
    }
    if (path) this.parts.push(`<path d="${path}" stroke="${color}" stroke-width="${width}" stroke-opacity="${alpha}" stroke-dasharray="${dash}" stroke-linecap="round" fill="none"/>`);
  }
  bow(x0, y0, x1, y1, x2, y2, color, width, dash) {
    this.parts.push(`<path d="M${x0} ${y0}Q${x1} ${y1} ${x2} ${y2}" stroke="${color}" stroke-width="${width}" stroke-dasharray="${dash}" fill="none"/>`);
  }
  polygon(points, color, alpha = 1) {
    this.parts.push(`<path d="M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}Z" fill="${color}" fill-opacity="${alpha}"/>`);
  }
  box(x, y, width, height, color, alpha = 1) {
    this.parts.push(`<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}" fill="${color}" fill-opacity="${alpha}"/>`);
  }
  circle(x, y, radius, fill, stroke = "", width = 1.5) {
    this.parts.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="${fill || "none"}" stroke="${stroke || "none"}" stroke-width="${width}"/>`);
  }
  text(words, x, y, color, size = 13, anchor = "start", weight = 400) {
    this.parts.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${color}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}">${escaped(words)}</text>`);
  }
  done() { return this.parts.join("") + "</svg>"; }
}
