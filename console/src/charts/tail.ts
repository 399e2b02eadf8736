// SPDX-License-Identifier: MIT
// New rows of a live chart: only those after the last known row are requested and joined to the present cells. Cells
// are on a grid of powers of two, so finer cells and points can be added to coarser ones exactly.

import type { Cells, Points, Series } from "../api/series";

/** A tail is asked for at so many pixels: few rows come as points, many as no more than twice as many cells. */
export const TAIL_PIXELS = 128;

/** The x from which to ask: that of the last row, or the first of the last cell. undefined: ask for everything. */
export function tailStart(series: Series): bigint | undefined {
  if (series.n === 0) return undefined;
  const { data } = series;
  const last = (data.form === "cells" ? data.x0 : data.x)[series.n - 1] ?? NaN;
  const first = Number(series.xBase) + ((data.form === "cells" ? data.x0 : data.x)[0] ?? NaN);
  const exact = Number(series.xBase) + last;
  return Number.isSafeInteger(exact) && Number.isSafeInteger(first) ? series.xBase + BigInt(last) : undefined;
}

/** undefined: what is there does not go together, or is to be coarser now; everything is to be asked for. */
export function withTail(before: Series, tail: Series, pixels: number): Series | undefined {
  if (tail.n === 0 || before.n === 0) return undefined;
  const moved = Number(tail.xBase - before.xBase);
  return before.data.form === "points"
    ? pointsWithTail(before, before.data, tail, moved, pixels)
    : cellsWithTail(before, before.data, tail, moved, pixels);
}

function pointsWithTail(
  before: Series,
  data: Points,
  tail: Series,
  moved: number,
  pixels: number,
): Series | undefined {
  if (tail.data.form !== "points") return undefined;
  const { x, y } = tail.data;
  const start = (x[0] ?? NaN) + moved;
  let kept = before.n;
  while (kept > 0 && (data.x[kept - 1] ?? NaN) >= start) kept -= 1;
  const n = kept + tail.n;
  if (kept < before.n - 1 || n >= 2 * pixels) return undefined;
  const joined: Points = { form: "points", x: new Float64Array(n), y: new Float64Array(n) };
  joined.x.set(data.x.subarray(0, kept));
  joined.x.set(
    x.map((each) => each + moved),
    kept,
  );
  joined.y.set(data.y.subarray(0, kept));
  joined.y.set(y, kept);
  return { ...before, n, rows: n, leftOut: Math.max(before.leftOut, tail.leftOut), data: joined };
}

/** Cells of a window are 2^shift wide, the most that is at most a pixel. */
export function shiftOf(range: number, pixels: number): number {
  let shift = 0;
  while (shift < 62 && Math.floor(range / 2 ** (shift + 1)) >= pixels) shift += 1;
  return shift;
}

const COLUMNS = [
  "x0",
  "x1",
  "first",
  "last",
  "min",
  "max",
  "sum",
  "count",
  "nan",
  "posInf",
  "negInf",
] as const;
type Cell = Record<(typeof COLUMNS)[number], number>;

function cellsWithTail(
  before: Series,
  data: Cells,
  tail: Series,
  moved: number,
  pixels: number,
): Series | undefined {
  const base = Number(before.xBase);
  const first = data.x0[0] ?? NaN;
  const shift = shiftOf((data.x1[before.n - 1] ?? NaN) - first, pixels);
  const added = cellsOf(tail, moved);
  const start = added[0]?.x0 ?? NaN;
  const end = added.at(-1)?.x1 ?? NaN;
  const isFiner = tail.data.form === "points" || shiftOf(end - start, TAIL_PIXELS) <= shift;
  if (shiftOf(end - first, pixels) !== shift || start !== data.x0[before.n - 1] || !isFiner) return undefined;
  const placeOf = (x: number): number => Math.floor((base + x) / 2 ** shift);
  const joined: Cell[] = [];
  for (const cell of added) {
    const last = joined.at(-1);
    if (last && placeOf(last.x0) === placeOf(cell.x0)) addTo(last, cell);
    else joined.push({ ...cell });
  }
  const kept = before.n - 1;
  const n = kept + joined.length;
  const whole = (name: "count" | "nan" | "posInf" | "negInf"): Uint32Array => {
    const column = new Uint32Array(n);
    column.set(data[name].subarray(0, kept));
    joined.forEach((cell, i) => (column[kept + i] = cell[name]));
    return column;
  };
  const real = (
    name: Exclude<(typeof COLUMNS)[number], "count" | "nan" | "posInf" | "negInf">,
  ): Float64Array => {
    const column = new Float64Array(n);
    column.set(data[name].subarray(0, kept));
    joined.forEach((cell, i) => (column[kept + i] = cell[name]));
    return column;
  };
  const rowsOfLast = rowsIn(cellAt(data, kept, 0));
  return {
    ...before,
    n,
    rows: before.rows - rowsOfLast + tail.rows,
    leftOut: Math.max(before.leftOut, tail.leftOut),
    data: {
      form: "cells",
      x0: real("x0"),
      x1: real("x1"),
      first: real("first"),
      last: real("last"),
      min: real("min"),
      max: real("max"),
      sum: real("sum"),
      count: whole("count"),
      nan: whole("nan"),
      posInf: whole("posInf"),
      negInf: whole("negInf"),
    },
  };
}

const rowsIn = (cell: Cell): number => cell.count + cell.nan + cell.posInf + cell.negInf;

function cellAt(data: Cells, index: number, moved: number): Cell {
  const cell = Object.fromEntries(COLUMNS.map((name) => [name, data[name][index] ?? NaN])) as Cell;
  return { ...cell, x0: cell.x0 + moved, x1: cell.x1 + moved };
}

function cellsOf({ data, n }: Series, moved: number): Cell[] {
  const at =
    data.form === "cells"
      ? (index: number): Cell => cellAt(data, index, moved)
      : (index: number): Cell => cellOfPoint((data.x[index] ?? NaN) + moved, data.y[index] ?? NaN);
  return Array.from({ length: n }, (_, index) => at(index));
}

function cellOfPoint(x: number, y: number): Cell {
  const isFinite = Number.isFinite(y);
  return {
    x0: x,
    x1: x,
    first: y,
    last: y,
    min: isFinite ? y : NaN,
    max: isFinite ? y : NaN,
    sum: isFinite ? y : 0,
    count: Number(isFinite),
    nan: Number(Number.isNaN(y)),
    posInf: Number(y === Infinity),
    negInf: Number(y === -Infinity),
  };
}

function addTo(cell: Cell, next: Cell): void {
  cell.x1 = next.x1;
  cell.last = next.last;
  // NaN if a cell has no finite value.
  cell.min = Number.isNaN(cell.min) ? next.min : next.min < cell.min ? next.min : cell.min;
  cell.max = Number.isNaN(cell.max) ? next.max : next.max > cell.max ? next.max : cell.max;
  cell.sum += next.sum;
  cell.count += next.count;
  cell.nan += next.nan;
  cell.posInf += next.posInf;
  cell.negInf += next.negInf;
}
