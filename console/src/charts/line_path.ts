// SPDX-License-Identifier: MIT
// Converts cells to lines. uPlot's own paths have one y for each x; a cell has four, and all must be drawn.

import type { Trace } from "./trace";

/** What a Path2D does for us, so that tests can record it. */
export interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
}

/** From plot units to canvas pixels. y of a value that a log axis has no place for is the lower edge. */
export interface Places {
  x(value: number): number;
  y(value: number): number;
}

/**
 * The line through the cells [from, to): first, min, max and last of each, so that no spike is lost. It breaks where a
 * row is not finite, not where steps are missing.
 */
export function lineThrough(pen: Pen, trace: Trace, places: Places, from: number, to: number): void {
  let isDown = false;
  const go = (x: number, value: number): void => {
    const y = places.y(value);
    if (isDown) pen.lineTo(x, y);
    else pen.moveTo(x, y);
    isDown = true;
  };
  for (let i = from; i < to; i++) {
    if ((trace.count[i] ?? 0) === 0) {
      isDown = false;
      continue;
    }
    const first = trace.first[i] ?? NaN;
    const last = trace.last[i] ?? NaN;
    const start = places.x(trace.x0[i] ?? NaN);
    if (trace.isPoints) {
      go(start, first);
      continue;
    }
    const end = places.x(trace.x1[i] ?? NaN);
    if (Number.isFinite(first)) go(start, first);
    else isDown = false;
    const middle = (start + end) / 2;
    go(middle, trace.min[i] ?? NaN);
    go(middle, trace.max[i] ?? NaN);
    if (Number.isFinite(last)) go(end, last);
    else isDown = false;
  }
}

/** Whether no line leads to or from this cell's value: its neighbours hold nothing finite, or there are none. */
export function isLone(trace: Trace, i: number): boolean {
  const has = (at: number): boolean => (trace.count[at] ?? 0) > 0;
  return has(i) && !has(i - 1) && !has(i + 1);
}

/** A line through one value a cell, at its end: a smoothed curve. It goes on over cells without a value. */
export function lineOver(
  pen: Pen,
  trace: Trace,
  values: Float64Array,
  places: Places,
  from: number,
  to: number,
): void {
  let isDown = false;
  for (let i = from; i < to; i++) {
    const value = values[i] ?? NaN;
    if (!Number.isFinite(value)) continue;
    const x = places.x(trace.x1[i] ?? NaN);
    if (isDown) pen.lineTo(x, places.y(value));
    else pen.moveTo(x, places.y(value));
    isDown = true;
  }
}

/** The area between min and max of the cells [from, to), a closed shape for each stretch without a gap. */
export function bandAround(pen: Pen, trace: Trace, places: Places, from: number, to: number): void {
  let start = from;
  for (let i = from; i <= to; i++) {
    const isGap = i === to || (trace.count[i] ?? 0) === 0;
    if (!isGap) continue;
    if (i > start) closedShape(pen, trace, places, start, i);
    start = i + 1;
  }
}

function closedShape(pen: Pen, trace: Trace, places: Places, from: number, to: number): void {
  const middle = (i: number): number => ((trace.x0[i] ?? NaN) + (trace.x1[i] ?? NaN)) / 2;
  pen.moveTo(places.x(middle(from)), places.y(trace.max[from] ?? NaN));
  for (let i = from + 1; i < to; i++) pen.lineTo(places.x(middle(i)), places.y(trace.max[i] ?? NaN));
  for (let i = to - 1; i >= from; i--) pen.lineTo(places.x(middle(i)), places.y(trace.min[i] ?? NaN));
}

/** Where marks are drawn for the cells whose count is not 0, at least `apart` pixels from each other. */
export function markPlaces(
  trace: Trace,
  counts: Uint32Array,
  places: Places,
  from: number,
  to: number,
  apart: number,
): number[] {
  const found: number[] = [];
  for (let i = from; i < to; i++) {
    if ((counts[i] ?? 0) === 0) continue;
    const x = places.x(((trace.x0[i] ?? NaN) + (trace.x1[i] ?? NaN)) / 2);
    const before = found.at(-1);
    if (before === undefined || x - before >= apart) found.push(x);
  }
  return found;
}
