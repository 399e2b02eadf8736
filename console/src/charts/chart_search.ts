// SPDX-License-Identifier: MIT
// The settings of charts in an address: x xlog ylog smooth keys lo hi.

import { metricAxis, type XAxis } from "../api/x_axis";
import type { Range } from "./trace";

export interface ChartSearch {
  x?: XAxis | undefined;
  xlog?: boolean | undefined;
  ylog?: boolean | undefined;
  /** A half-life in plot units of x. */
  smooth?: number | undefined;
  keys?: string | undefined;
  /** The zoom, in plot units of x. */
  lo?: number | undefined;
  hi?: number | undefined;
}

const AXES: readonly XAxis[] = ["step", "relative", "time"];

export function chartSearch(search: Record<string, unknown>): ChartSearch {
  const x = axisOf(search["x"]);
  const smooth = numberOf(search["smooth"]);
  const lo = numberOf(search["lo"]);
  const hi = numberOf(search["hi"]);
  const isZoomed = lo !== undefined && hi !== undefined && lo < hi;
  return {
    ...(x ? { x } : {}),
    ...(search["xlog"] === "1" ? { xlog: true } : {}),
    ...(search["ylog"] === "1" ? { ylog: true } : {}),
    ...(smooth !== undefined && smooth > 0 ? { smooth } : {}),
    ...(typeof search["keys"] === "string" && search["keys"] ? { keys: search["keys"] } : {}),
    ...(isZoomed ? { lo, hi } : {}),
  };
}

function axisOf(x: unknown): XAxis | undefined {
  if (typeof x !== "string") return undefined;
  return x.startsWith("metric:") ? metricAxis(x.slice("metric:".length)) : AXES.find((axis) => axis === x);
}

export const zoomOf = ({ lo, hi }: ChartSearch): Range | undefined =>
  lo !== undefined && hi !== undefined ? { lo, hi } : undefined;

function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" ? Number(value) : NaN;
  return Number.isFinite(number) ? number : undefined;
}
