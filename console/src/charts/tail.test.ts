// SPDX-License-Identifier: MIT
// The server's rule of cells (docs/formats/http.md, src/query/chart/chart.cc), written a second time: what tails join to is
// compared with what the server would answer for all rows.
import { expect, test } from "vitest";
import type { Cells, Series } from "../api/series";
import { shiftOf, TAIL_PIXELS, tailStart, withTail } from "./tail";

const BASE = 1_000_003;
type Row = [x: number, y: number];

function answer(all: Row[], lo: number, pixels: number): Series {
  const rows = all.filter(([x]) => x >= lo);
  const base = rows[0]?.[0] ?? 0;
  const head = { run: "", key: "loss", rows: rows.length, leftOut: 0, xBase: BigInt(base) };
  const x = rows.map(([at]) => at - base);
  const y = rows.map(([, value]) => value);
  if (rows.length < 2 * pixels) {
    const data = { form: "points" as const, x: Float64Array.from(x), y: Float64Array.from(y) };
    return { ...head, n: rows.length, data };
  }
  const shift = shiftOf(x.at(-1) ?? 0, pixels);
  const groups = new Map<number, Row[]>();
  for (const [at, value] of rows) {
    const place = Math.floor(at / 2 ** shift);
    groups.set(place, [...(groups.get(place) ?? []), [at - base, value]]);
  }
  const cells = [...groups.values()];
  const real = (of: (rows: Row[], finite: number[]) => number): Float64Array =>
    Float64Array.from(cells, (each) =>
      of(
        each,
        each.map(([, value]) => value).filter((value) => Number.isFinite(value)),
      ),
    );
  const count = (is: (value: number) => boolean): Uint32Array =>
    Uint32Array.from(cells, (each) => each.filter(([, value]) => is(value)).length);
  const data: Cells = {
    form: "cells",
    x0: real((each) => each[0]?.[0] ?? NaN),
    x1: real((each) => each.at(-1)?.[0] ?? NaN),
    first: real((each) => each[0]?.[1] ?? NaN),
    last: real((each) => each.at(-1)?.[1] ?? NaN),
    min: real((_, finite) => (finite.length > 0 ? Math.min(...finite) : NaN)),
    max: real((_, finite) => (finite.length > 0 ? Math.max(...finite) : NaN)),
    sum: real((_, finite) => finite.reduce((sum, value) => sum + value, 0)),
    count: count(Number.isFinite),
    nan: count(Number.isNaN),
    posInf: count((value) => value === Infinity),
    negInf: count((value) => value === -Infinity),
  };
  return { ...head, n: cells.length, data };
}

/** Values whose sums are exact, some of them not finite. */
const rows = (n: number): Row[] =>
  Array.from({ length: n }, (_, i) => [
    BASE + 3 * i,
    i % 97 === 0 ? NaN : i % 89 === 0 ? -Infinity : (i * 7) % 64,
  ]);

test.each([
  ["points", 300, 310, 400],
  ["cells by points", 5000, 5040, 400],
  ["cells by finer cells", 5000, 5500, 400],
])("%s joined with a tail equal an answer of all", (_, had, has, pixels) => {
  const before = answer(rows(had), 0, pixels);
  const start = Number(tailStart(before));
  const tail = answer(rows(has), start, TAIL_PIXELS);
  expect(tail.rows).toBeLessThan(has / 2);
  expect(withTail(before, tail, pixels)).toEqual(answer(rows(has), 0, pixels));
});

test("all is asked for again when cells become wider, points become cells, or the last row has gone", () => {
  const joined = (had: number, has: Row[], pixels: number): Series | undefined => {
    const before = answer(rows(had), 0, pixels);
    return withTail(before, answer(has, Number(tailStart(before)), TAIL_PIXELS), pixels);
  };
  expect(joined(4000, rows(8000), 400)).toBeUndefined();
  expect(joined(199, rows(201), 100)).toBeUndefined();
  expect(joined(5000, rows(5040).slice(0, 10), 400)).toBeUndefined();
  expect(tailStart(answer([], 0, 100))).toBeUndefined();
});
