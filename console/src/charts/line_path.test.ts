// SPDX-License-Identifier: MIT
// Paths are recorded as texts: M is a move, L a line; a pixel is one unit of x and y.
import { describe, expect, test } from "vitest";
import type { Series } from "../api/series";
import { bandAround, isLone, lineOver, lineThrough, markPlaces, type Pen } from "./line_path";
import { cellsWithin, nearestCell, shownWithin, traceOf, yExtent, type Trace } from "./trace";

const PLACES = { x: (value: number) => value, y: (value: number) => value };

function record(draw: (pen: Pen) => void): string {
  const marks: string[] = [];
  draw({
    moveTo: (x, y) => marks.push(`M${x},${y}`),
    lineTo: (x, y) => marks.push(`L${x},${y}`),
  });
  return marks.join(" ");
}

function points(x: number[], y: number[], xBase = 0n): Trace {
  const series: Series = {
    run: "",
    key: "loss",
    n: x.length,
    rows: x.length,
    leftOut: 0,
    xBase,
    data: { form: "points", x: Float64Array.from(x), y: Float64Array.from(y) },
  };
  return traceOf(series, "step", 0n);
}

const TWO_CELLS: Trace = {
  key: "loss",
  n: 2,
  rows: 20,
  leftOut: 0,
  isPoints: false,
  x0: Float64Array.of(0, 10),
  x1: Float64Array.of(8, 18),
  first: Float64Array.of(1, 2),
  last: Float64Array.of(3, NaN),
  min: Float64Array.of(-5, 0),
  max: Float64Array.of(9, 4),
  sum: Float64Array.of(10, 12),
  count: Uint32Array.of(10, 9),
  nan: Uint32Array.of(0, 1),
  posInf: new Uint32Array(2),
  negInf: new Uint32Array(2),
};

describe("lines", () => {
  test("a cell is drawn by its first, min, max and last value, so that no spike is lost", () => {
    const path = record((pen) => lineThrough(pen, TWO_CELLS, PLACES, 0, 2));
    expect(path).toBe("M0,1 L4,-5 L4,9 L8,3 L10,2 L14,0 L14,4");
  });

  test("a point between two gaps is drawn as a dot", () => {
    const trace = points([0, 1, 2, 3, 4], [NaN, 1, NaN, 3, 4]);
    expect([0, 1, 2, 3, 4].filter((i) => isLone(trace, i))).toEqual([1]);
    expect(isLone(points([7], [1]), 0)).toBe(true);
  });

  test("a line breaks at NaN and infinities, not where steps are missing", () => {
    const trace = points([0, 1, 2, 3, 100, 101, 102], [1, 2, NaN, 4, 5, Infinity, 7]);
    const path = record((pen) => lineThrough(pen, trace, PLACES, 0, trace.n));
    expect(path).toBe("M0,1 L1,2 M3,4 L100,5 M102,7");
  });

  test("the band goes along the maxima and back along the minima", () => {
    expect(record((pen) => bandAround(pen, TWO_CELLS, PLACES, 0, 2))).toBe("M4,9 L14,4 L14,0 L4,-5");
  });

  test("a smoothed line goes on over what is not finite", () => {
    const trace = points([0, 1, 2], [1, NaN, 3]);
    expect(record((pen) => lineOver(pen, trace, Float64Array.of(1, NaN, 2), PLACES, 0, 3))).toBe("M0,1 L2,2");
  });

  test("marks nearer than their size become one", () => {
    const trace = points([0, 1, 2, 50], [NaN, NaN, NaN, NaN]);
    expect(markPlaces(trace, trace.nan, PLACES, 0, 4, 6)).toEqual([0, 50]);
  });
});

describe("traces", () => {
  test("what is outside of a window leads into it", () => {
    const trace = points([0, 10, 20, 30, 40], [1, 2, 3, 4, 5]);
    expect(cellsWithin(trace, { lo: 15, hi: 25 })).toEqual([1, 4]);
    expect(cellsWithin(trace, { lo: -9, hi: 99 })).toEqual([0, 5]);
  });

  test("the range of y has every finite value of the window, of a log axis the positive ones", () => {
    expect(yExtent(TWO_CELLS, { lo: 0, hi: 20 }, false)).toEqual({ lo: -5, hi: 9 });
    expect(yExtent(TWO_CELLS, { lo: 0, hi: 20 }, true)).toEqual({ lo: 1, hi: 9 });
    expect(yExtent(points([1], [NaN]), { lo: 0, hi: 2 }, false)).toBeUndefined();
  });

  test("rows and cells are counted within the range alone", () => {
    expect(shownWithin(TWO_CELLS, { lo: 9, hi: 30 })).toEqual({
      rows: 10,
      cells: 1,
      nan: 1,
      posInf: 0,
      negInf: 0,
      notPositive: 1,
    });
  });

  test("the nearest cell of an x", () => {
    const trace = points([0, 10, 20], [1, 2, 3]);
    expect([-5, 4, 6, 14, 99].map((x) => nearestCell(trace, x))).toEqual([0, 0, 1, 1, 2]);
    expect(nearestCell(points([], []), 1)).toBe(-1);
  });
});
