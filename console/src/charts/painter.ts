// SPDX-License-Identifier: MIT
// Draws a trace into the plot area of uPlot: band, line, smoothed line, marks of values that are not finite.

import type uPlot from "uplot";
import type { Colors } from "./colors";
import { bandAround, isLone, lineOver, lineThrough, markPlaces, type Places } from "./line_path";
import { LOG } from "./plot_options";
import { cellsWithin, type Trace } from "./trace";

export interface Drawing {
  trace: Trace;
  smoothed: Float64Array | undefined;
  color: number;
  /** Of the line, in CSS pixels: strokes and gaps. */
  dash: readonly number[];
}

const LINE_PX = 1.5;
const RAW_ALPHA = 0.35;
const BAND_ALPHA = 0.2;
const MARK_PX = 6;
/** With fewer points than one in so many pixels each is drawn as a dot; one between two gaps always is. */
const DOT_EVERY_PX = 16;
const DOT_RADIUS_PX = 2;

export function paint(plot: uPlot, drawing: Drawing, colors: Colors): void {
  const { ctx, bbox } = plot;
  const { trace, smoothed } = drawing;
  const x = plot.scales["x"];
  if (!x || x.min == null || x.max == null || trace.n === 0) return;
  const places = placesOf(plot);
  const [from, to] = cellsWithin(trace, { lo: x.min, hi: x.max });
  const ratio = window.devicePixelRatio;
  const stroke = colors.series[drawing.color] ?? colors.text;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineJoin = "round";
  ctx.lineWidth = LINE_PX * ratio;
  ctx.setLineDash(drawing.dash.map((px) => px * ratio));
  ctx.strokeStyle = ctx.fillStyle = stroke;
  if (!trace.isPoints) {
    const band = new Path2D();
    bandAround(band, trace, places, from, to);
    ctx.globalAlpha = BAND_ALPHA;
    ctx.fill(band);
  }
  ctx.globalAlpha = smoothed ? RAW_ALPHA : 1;
  const line = new Path2D();
  lineThrough(line, trace, places, from, to);
  ctx.stroke(line);
  const isSparse = trace.isPoints && (to - from) * DOT_EVERY_PX * ratio < bbox.width;
  for (let i = from; i < to; i++)
    if (isSparse ? (trace.count[i] ?? 0) > 0 : isLone(trace, i)) dot(ctx, trace, places, i, ratio);
  if (smoothed) {
    ctx.globalAlpha = 1;
    const over = new Path2D();
    lineOver(over, trace, smoothed, places, from, to);
    ctx.stroke(over);
  }
  ctx.restore();
  marks(plot, trace, places, from, to, colors);
}

/** Straight functions instead of uPlot's valToPos, which looks the scale up for each value. */
function placesOf(plot: uPlot): Places {
  const { bbox } = plot;
  const axis = (name: "x" | "y"): ((value: number) => number) => {
    const scale = plot.scales[name];
    const isLog = scale?.distr === LOG;
    const at = isLog ? Math.log10 : (value: number): number => value;
    const lo = at(scale?.min ?? 0);
    const hi = at(scale?.max ?? 1);
    const span = hi - lo || 1;
    return (value) => (isLog && value <= 0 ? 0 : (at(value) - lo) / span);
  };
  const x = axis("x");
  const y = axis("y");
  return {
    x: (value) => bbox.left + x(value) * bbox.width,
    y: (value) => bbox.top + (1 - y(value)) * bbox.height,
  };
}

function dot(ctx: CanvasRenderingContext2D, trace: Trace, places: Places, i: number, ratio: number): void {
  const x = ((trace.x0[i] ?? NaN) + (trace.x1[i] ?? NaN)) / 2;
  ctx.beginPath();
  ctx.arc(places.x(x), places.y(trace.max[i] ?? NaN), DOT_RADIUS_PX * ratio, 0, 2 * Math.PI);
  ctx.fill();
}

/** NaN: × in a strip at the lower edge; +Inf: ▲ at the upper edge; −Inf: ▼ at the lower one. */
function marks(plot: uPlot, trace: Trace, places: Places, from: number, to: number, colors: Colors): void {
  const { ctx, bbox } = plot;
  const ratio = window.devicePixelRatio;
  const size = MARK_PX * ratio;
  const within = (counts: Uint32Array): number[] =>
    markPlaces(trace, counts, places, from, to, size).filter(
      (place) => place >= bbox.left && place <= bbox.left + bbox.width,
    );
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colors.error;
  ctx.lineWidth = LINE_PX * ratio;
  const bottom = bbox.top + bbox.height - size;
  for (const place of within(trace.nan)) {
    ctx.beginPath();
    ctx.moveTo(place - size / 2, bottom - size / 2);
    ctx.lineTo(place + size / 2, bottom + size / 2);
    ctx.moveTo(place + size / 2, bottom - size / 2);
    ctx.lineTo(place - size / 2, bottom + size / 2);
    ctx.stroke();
  }
  for (const place of within(trace.posInf)) triangle(ctx, place, bbox.top + 2 * ratio, size);
  for (const place of within(trace.negInf)) triangle(ctx, place, bbox.top + bbox.height - 2 * ratio, -size);
  ctx.restore();
}

function triangle(ctx: CanvasRenderingContext2D, x: number, tip: number, height: number): void {
  ctx.beginPath();
  ctx.moveTo(x, tip);
  ctx.lineTo(x - height / 2, tip + height);
  ctx.lineTo(x + height / 2, tip + height);
  ctx.closePath();
  ctx.fill();
}
