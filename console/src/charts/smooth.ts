// SPDX-License-Identifier: MIT
// The time-weighted moving average, as in docs/reading.md (smooth="ema") and src/query/chart/smooth.cc.

import type { Trace } from "./trace";

/**
 * For each cell s ← s·d + sum, w ← w·d + count, s / w with d = 2^(−Δx / halfLife), x the cell's end. A cell without a
 * finite value counts for nothing and gets NaN. Dividing by w takes away the bias of the start.
 */
export function timeWeightedAverage(trace: Trace, halfLife: number): Float64Array {
  const result = new Float64Array(trace.n).fill(NaN);
  let sum = 0;
  let weight = 0;
  let before = 0;
  for (let i = 0; i < trace.n; i++) {
    const count = trace.count[i] ?? 0;
    if (count === 0) continue;
    const x = trace.x1[i] ?? NaN;
    const decay = weight > 0 ? 2 ** (-(x - before) / halfLife) : 1;
    before = x;
    sum = sum * decay + (trace.sum[i] ?? 0);
    weight = weight * decay + count;
    result[i] = sum / weight;
  }
  return result;
}

/** How far left of the window the query reaches: 2⁻¹⁰ of the weight remains there. */
export const HALF_LIVES_BEFORE = 10;
/** With fewer cells in a half-life the cells' own width would show in the curve. */
const CELLS_IN_HALF_LIFE = 4;
const PIXELS_MAX = 20_000;

/** How many pixels to ask for, so that a half-life has enough cells in it. */
export function pixelsFor(pixels: number, span: number, halfLife: number): number {
  const needed = Math.ceil((CELLS_IN_HALF_LIFE * span) / halfLife);
  return Math.max(pixels, Math.min(PIXELS_MAX, needed));
}

// The slider: 0 is off, 1 to 100 are half-lives from a thousandth of the range of x to half of it.
const SMALLEST_PART = 1e-3;
const LARGEST_PART = 0.5;

export function halfLifeAt(position: number, span: number): number {
  if (position <= 0 || span <= 0) return 0;
  const part = SMALLEST_PART * (LARGEST_PART / SMALLEST_PART) ** ((position - 1) / 99);
  return Number((part * span).toPrecision(2));
}

export function positionOf(halfLife: number, span: number): number {
  if (halfLife <= 0 || span <= 0) return 0;
  const part = Math.log(halfLife / span / SMALLEST_PART) / Math.log(LARGEST_PART / SMALLEST_PART);
  return Math.min(100, Math.max(1, Math.round(1 + 99 * part)));
}
