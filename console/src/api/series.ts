// SPDX-License-Identifier: MIT
// The binary form application/vnd.tracker.series (docs/formats/http.md): a JSON header, then aligned columns, which
// become typed arrays over the answer's own bytes.

import { list, optional, real, shape, ShapeError, text, type Checked } from "./check";

const MAGIC = "TSER";
const VERSION = 1;
const HEADER_START = 12;

const header = shape({
  series: list(
    shape({
      run: text,
      key: text,
      rank: optional(real),
      form: text,
      n: real,
      rows: real,
      left_out: real,
      x: text,
      x_base: text,
      columns: list(shape({ name: text, type: text, offset: real })),
    }),
  ),
});
type Head = Checked<typeof header>["series"][number];

/** Every row of the window: fewer than two for each pixel. */
export interface Points {
  form: "points";
  x: Float64Array;
  y: Float64Array;
}

/** Exact summaries of all rows between x0 and x1, each at most a pixel wide. min, max and sum are of finite values. */
export interface Cells {
  form: "cells";
  x0: Float64Array;
  x1: Float64Array;
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

/** One metric of one run, of one rank if ranks were requested. An x is xBase plus the value of its column, so steps to 2⁶³−1 stay exact. */
export interface Series {
  run: string;
  key: string;
  rank?: number | undefined;
  n: number;
  rows: number;
  leftOut: number;
  xBase: bigint;
  data: Points | Cells;
}

export function decodeSeries(bytes: ArrayBuffer): Series[] {
  const view = new DataView(bytes);
  if (bytes.byteLength < HEADER_START || ascii(bytes, 0, 4) !== MAGIC)
    throw new ShapeError("series", "TSER answer");
  const version = view.getUint32(4, true);
  if (version !== VERSION)
    throw new ShapeError(`series: version ${version}`, "version that this console knows");
  const size = view.getUint32(8, true);
  if (HEADER_START + size > bytes.byteLength) throw new ShapeError("series: its header", "complete one");
  const json: unknown = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, HEADER_START, size)));
  return header(json, "series").series.map((head) => series(bytes, head));
}

function series(bytes: ArrayBuffer, head: Head): Series {
  return {
    run: head.run,
    key: head.key,
    rank: head.rank,
    n: head.n,
    rows: head.rows,
    leftOut: head.left_out,
    xBase: BigInt(head.x_base),
    data: head.form === "cells" && head.n > 0 ? cells(bytes, head) : points(bytes, head),
  };
}

function points(bytes: ArrayBuffer, head: Head): Points {
  if (head.n === 0) return { form: "points", x: new Float64Array(0), y: new Float64Array(0) };
  if (head.form !== "points")
    throw new ShapeError(`series: form ${head.form}`, "form that this console draws");
  return { form: "points", x: reals(bytes, head, "x"), y: reals(bytes, head, "y") };
}

function cells(bytes: ArrayBuffer, head: Head): Cells {
  const f64 = (name: string): Float64Array => reals(bytes, head, name);
  const u32 = (name: string): Uint32Array =>
    new Uint32Array(bytes, offsetOf(bytes, head, name, "u32", 4), head.n);
  return {
    form: "cells",
    x0: f64("x0"),
    x1: f64("x1"),
    first: f64("first"),
    last: f64("last"),
    min: f64("min"),
    max: f64("max"),
    sum: f64("sum"),
    count: u32("count"),
    nan: u32("nan"),
    posInf: u32("pos_inf"),
    negInf: u32("neg_inf"),
  };
}

function reals(bytes: ArrayBuffer, head: Head, name: string): Float64Array {
  return new Float64Array(bytes, offsetOf(bytes, head, name, "f64", 8), head.n);
}

function offsetOf(bytes: ArrayBuffer, head: Head, name: string, type: string, width: number): number {
  const column = head.columns.find((candidate) => candidate.name === name);
  if (column?.type !== type) throw new ShapeError(`series ${head.key}: ${name}`, `column of ${type}`);
  if (column.offset % 8 !== 0 || column.offset + head.n * width > bytes.byteLength) {
    throw new ShapeError(`series ${head.key}: ${name}`, "column within the answer");
  }
  return column.offset;
}

function ascii(bytes: ArrayBuffer, start: number, length: number): string {
  return String.fromCharCode(...new Uint8Array(bytes, start, length));
}
