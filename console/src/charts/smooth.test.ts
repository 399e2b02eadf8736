// SPDX-License-Identifier: MIT
// The formula of docs/reading.md, written a second time, and values that a person can check.
import { expect, test } from "vitest";
import type { Series } from "../api/series";
import { halfLifeAt, pixelsFor, positionOf, timeWeightedAverage } from "./smooth";
import { traceOf, type Trace } from "./trace";

function points(x: number[], y: number[]): Trace {
  const data = { form: "points" as const, x: Float64Array.from(x), y: Float64Array.from(y) };
  const series: Series = { run: "", key: "loss", n: x.length, rows: x.length, leftOut: 0, xBase: 0n, data };
  return traceOf(series, "step", 0n);
}

test("each half-life halves a weight; the start has no bias; what is not finite is skipped", () => {
  const smoothed = timeWeightedAverage(points([0, 1, 2, 5, 6, 9], [4, 2, NaN, 8, Infinity, 1]), 2);
  const expected: number[] = [];
  let s = 0;
  let w = 0;
  let before = 0;
  for (const [x, y] of [
    [0, 4],
    [1, 2],
    [5, 8],
    [9, 1],
  ] as const) {
    const d = Math.pow(2, -(x - before) / 2);
    s = s * d + y;
    w = w * d + 1;
    before = x;
    expected.push(s / w);
  }
  expect(smoothed[0]).toBe(4);
  expect(smoothed[2]).toBeNaN();
  expect(smoothed[4]).toBeNaN();
  [smoothed[0], smoothed[1], smoothed[3], smoothed[5]].forEach((value, index) => {
    expect(value).toBeCloseTo(expected[index] ?? NaN, 12);
  });
  expect(smoothed[1]).toBeCloseTo(2.8284271247461903, 12); // (4·2^−½ + 2) / (2^−½ + 1)
});

test("a constant stays what it is, at any distance of steps", () => {
  const smoothed = timeWeightedAverage(points([0, 1, 50, 51, 400], [3, 3, 3, 3, 3]), 10);
  for (const value of smoothed) expect(value).toBeCloseTo(3, 12);
});

test("a cell counts as often as it has rows", () => {
  const trace = { ...points([0, 1], [2, 8]), sum: Float64Array.of(6, 8), count: Uint32Array.of(3, 1) };
  expect(timeWeightedAverage(trace, 1)[1]).toBeCloseTo((6 * 0.5 + 8) / (3 * 0.5 + 1), 12);
});

test("the slider is off at 0 and logarithmic from a thousandth of the range to half of it", () => {
  expect(halfLifeAt(0, 1000)).toBe(0);
  expect(halfLifeAt(1, 1000)).toBe(1);
  expect(halfLifeAt(100, 1000)).toBe(500);
  for (const position of [0, 1, 20, 50, 99, 100]) {
    expect(Math.abs(positionOf(halfLifeAt(position, 12_345), 12_345) - position)).toBeLessThanOrEqual(1);
  }
});

test("a half-life gets at least four cells", () => {
  expect(pixelsFor(800, 1000, 100)).toBe(800);
  expect(pixelsFor(800, 1000, 1)).toBe(4000);
  expect(pixelsFor(800, 1e9, 1)).toBe(20_000);
});
