// SPDX-License-Identifier: MIT
// The binary form is written here by hand, byte for byte as docs/formats/http.md says, and read back.
import { describe, expect, test } from "vitest";
import { ShapeError } from "./check";
import { decodeSeries } from "./series";

type Column = [name: string, type: "f64" | "u32", values: number[]];

function encode(head: Record<string, unknown>, columns: Column[], version = 1, magic = "TSER"): ArrayBuffer {
  const make = (start: number): { header: string; offsets: number[]; size: number } => {
    let at = start;
    const offsets = columns.map(([, type, values]) => {
      const offset = at;
      at += Math.ceil((values.length * (type === "f64" ? 8 : 4)) / 8) * 8;
      return offset;
    });
    const named = columns.map(([name, type], index) => ({ name, type, offset: offsets[index] }));
    return { header: JSON.stringify({ series: [{ ...head, columns: named }] }), offsets, size: at };
  };
  const start = Math.ceil((12 + make(10_000).header.length + 8) / 8) * 8;
  const { header, offsets, size } = make(start);
  const bytes = new ArrayBuffer(size);
  const view = new DataView(bytes);
  new Uint8Array(bytes).set(new TextEncoder().encode(magic));
  view.setUint32(4, version, true);
  view.setUint32(8, start - 12, true);
  new Uint8Array(bytes).set(new TextEncoder().encode(header.padEnd(start - 12)), 12);
  columns.forEach(([, type, values], index) => {
    values.forEach((value, place) => {
      const offset = offsets[index] ?? 0;
      if (type === "f64") view.setFloat64(offset + place * 8, value, true);
      else view.setUint32(offset + place * 4, value, true);
    });
  });
  return bytes;
}

const HEAD = { run: "a".repeat(32), key: "loss", x: "step", rows: 3, left_out: 0, x_base: "0" };
const POINTS = { ...HEAD, form: "points", n: 3 };
const POINT_COLUMNS: Column[] = [
  ["x", "f64", [0, 1, 5]],
  ["y", "f64", [0.5, NaN, -Infinity]],
];

const CELLS: Column[] = [
  ...["x0", "x1", "first", "last", "min", "max", "sum"].map((name, index): Column => [
    name,
    "f64",
    [index, index + 0.5],
  ]),
  ...["count", "nan", "pos_inf", "neg_inf"].map((name, index): Column => [name, "u32", [index, index + 10]]),
];

describe("series", () => {
  test("points keep NaN, infinities and a base beyond 2⁵³", () => {
    const [series] = decodeSeries(encode({ ...POINTS, x_base: "9223372036854775800" }, POINT_COLUMNS));
    expect(series?.xBase).toBe(9223372036854775800n);
    expect(series?.data).toEqual({
      form: "points",
      x: Float64Array.of(0, 1, 5),
      y: Float64Array.of(0.5, NaN, -Infinity),
    });
  });

  test("cells have eleven columns", () => {
    const [series] = decodeSeries(encode({ ...HEAD, form: "cells", n: 2 }, CELLS));
    expect(series?.data).toMatchObject({ x0: Float64Array.of(0, 0.5), sum: Float64Array.of(6, 6.5) });
    expect(series?.data).toMatchObject({ count: Uint32Array.of(0, 10), negInf: Uint32Array.of(3, 13) });
  });

  test("a metric without rows has no columns", () => {
    const [series] = decodeSeries(encode({ ...HEAD, form: "cells", n: 0 }, []));
    expect(series?.data).toEqual({ form: "points", x: new Float64Array(0), y: new Float64Array(0) });
  });

  test("another magic, version, type, or a column over the end is refused", () => {
    const refused = [
      encode(POINTS, POINT_COLUMNS, 1, "HTML"),
      encode(POINTS, POINT_COLUMNS, 2),
      encode({ ...POINTS, n: 4 }, POINT_COLUMNS),
      encode({ ...POINTS, form: "rows" }, POINT_COLUMNS),
      encode(POINTS, [["x", "u32", [1, 2, 3]]]),
      new ArrayBuffer(3),
    ];
    for (const bytes of refused) expect(() => decodeSeries(bytes)).toThrow(ShapeError);
  });
});
