// SPDX-License-Identifier: MIT
// One metric of one run, ready to be drawn: cells over x in plot units. Points are cells of one row each.

import { isTimeAxis, type XAxis } from "../api/x_axis";
import type { Series } from "../api/series";

/** Plot units of x: steps above an origin, or seconds (since the run's start, or since 1970). */
export interface Trace {
  key: string;
  n: number;
  rows: number;
  leftOut: number;
  isPoints: boolean;
  x0: Float64Array;
  x1: Float64Array;
  /** Of finite values; NaN where a cell has none, and first and last also where that row is not finite. */
  first: Float64Array;
  last: Float64Array;
  min: Float64Array;
  max: Float64Array;
  sum: Float64Array;
  count: Uint32Array;
  nan: Uint32Array;
  posInf: Uint32Array;
  negInf: Uint32Array;
}

const EXACT_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** What plot x counts from: 0, or the base itself where steps are too large for a double. */
export function originOf(series: Series, axis: XAxis): bigint {
  const exact = series.xBase <= EXACT_MAX && series.xBase >= -EXACT_MAX;
  return axis === "step" && !exact ? series.xBase : 0n;
}

export function traceOf(series: Series, axis: XAxis, origin: bigint): Trace {
  const base = Number(series.xBase - origin);
  const scale = isTimeAxis(axis) ? 1e6 : 1;
  const place = (column: Float64Array): Float64Array => column.map((x) => (base + x) / scale);
  const shared = { key: series.key, n: series.n, rows: series.rows, leftOut: series.leftOut };
  if (series.data.form === "cells") {
    const { x0, x1, ...values } = series.data;
    return { ...shared, ...values, isPoints: false, x0: place(x0), x1: place(x1) };
  }
  const { x, y } = series.data;
  const finite = y.map((value) => (Number.isFinite(value) ? value : NaN));
  const places = place(x);
  const flags = (test: (value: number) => boolean): Uint32Array =>
    Uint32Array.from(y, (v) => (test(v) ? 1 : 0));
  return {
    ...shared,
    isPoints: true,
    x0: places,
    x1: places,
    first: finite,
    last: finite,
    min: finite,
    max: finite,
    sum: finite,
    count: flags(Number.isFinite),
    nan: flags(Number.isNaN),
    posInf: flags((v) => v === Infinity),
    negInf: flags((v) => v === -Infinity),
  };
}

export interface Range {
  lo: number;
  hi: number;
}

/** The first and the last x; undefined without rows. */
export function xExtent(trace: Trace): Range | undefined {
  const lo = trace.x0[0];
  const hi = trace.x1[trace.n - 1];
  return lo === undefined || hi === undefined ? undefined : { lo, hi };
}

/** From the lowest to the highest; undefined where none is known. */
export function union(ranges: readonly (Range | undefined)[]): Range | undefined {
  const known = ranges.filter((range) => range !== undefined);
  if (known.length === 0) return undefined;
  return {
    lo: Math.min(...known.map((range) => range.lo)),
    hi: Math.max(...known.map((range) => range.hi)),
  };
}

/** Indices [from, to) of the cells that touch the range, and one more on each side, to which lines lead. */
export function cellsWithin(trace: Trace, range: Range): [from: number, to: number] {
  const from = lowerBound(trace.x1, range.lo, trace.n);
  const to = lowerBound(trace.x0, range.hi, trace.n, true);
  return [Math.max(0, from - 1), Math.min(trace.n, to + 1)];
}

/** The cell whose end is nearest to x, or -1. */
export function nearestCell(trace: Trace, x: number): number {
  const after = Math.min(trace.n - 1, lowerBound(trace.x1, x, trace.n));
  if (after <= 0) return after;
  const distance = (index: number): number => Math.abs((trace.x1[index] ?? NaN) - x);
  return distance(after - 1) < distance(after) ? after - 1 : after;
}

function lowerBound(sorted: Float64Array, x: number, n: number, after = false): number {
  let low = 0;
  let high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    const value = sorted[middle] ?? NaN;
    if (value < x || (after && value === x)) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Shown {
  rows: number;
  cells: number;
  nan: number;
  posInf: number;
  negInf: number;
  /** Cells with a value of 0 or below, for which a log axis has no place. */
  notPositive: number;
}

export const added = (a: Shown, b: Shown): Shown => ({
  rows: a.rows + b.rows,
  cells: a.cells + b.cells,
  nan: a.nan + b.nan,
  posInf: a.posInf + b.posInf,
  negInf: a.negInf + b.negInf,
  notPositive: a.notPositive + b.notPositive,
});

/** What of the trace touches the range: a query reaches over its ends. */
export function shownWithin(trace: Trace, range: Range): Shown {
  const [from, to] = cellsWithin(trace, range);
  const shown = { rows: 0, cells: 0, nan: 0, posInf: 0, negInf: 0, notPositive: 0 };
  for (let i = from; i < to; i++) {
    if ((trace.x1[i] ?? NaN) < range.lo || (trace.x0[i] ?? NaN) > range.hi) continue;
    const [nan, posInf, negInf] = [trace.nan[i] ?? 0, trace.posInf[i] ?? 0, trace.negInf[i] ?? 0];
    shown.cells += 1;
    shown.rows += (trace.count[i] ?? 0) + nan + posInf + negInf;
    shown.nan += nan;
    shown.posInf += posInf;
    shown.negInf += negInf;
    shown.notPositive += (trace.min[i] ?? NaN) <= 0 ? 1 : 0;
  }
  return shown;
}

/** Every finite value within the range of x; with `positive` only values above 0 (for a log axis). */
export function yExtent(trace: Trace, range: Range, positive: boolean): Range | undefined {
  const [from, to] = cellsWithin(trace, range);
  let lo = Infinity;
  let hi = -Infinity;
  for (let i = from; i < to; i++) {
    if ((trace.x1[i] ?? NaN) < range.lo || (trace.x0[i] ?? NaN) > range.hi) continue;
    for (const value of [trace.min[i], trace.max[i], trace.first[i], trace.last[i]]) {
      if (value === undefined || !Number.isFinite(value) || (positive && value <= 0)) continue;
      if (value < lo) lo = value;
      if (value > hi) hi = value;
    }
  }
  return lo <= hi ? { lo, hi } : undefined;
}
