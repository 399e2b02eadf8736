// SPDX-License-Identifier: MIT
// The data of one chart: requested for its width, and again after a zoom; the present data stays until then.

import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { isTimeAxis, metricOfAxis, type XAxis } from "../api/x_axis";
import type { Series } from "../api/series";
import { loadSeries, type SeriesRequest } from "./series_loader";
import { HALF_LIVES_BEFORE, pixelsFor, timeWeightedAverage } from "./smooth";
import { TAIL_PIXELS, tailStart, withTail } from "./tail";
import { originOf, traceOf, type Range, type Trace } from "./trace";

export interface TraceQuery {
  run: string;
  metric: string;
  /** A line of each of them; undefined: one line of the resolved rows. */
  ranks: readonly number[] | undefined;
  axis: XAxis;
  zoom: Range | undefined;
  origin: bigint;
  /** In plot units of x; 0 for no smoothing. */
  halfLife: number;
  /** The range of x of the whole metric in plot units, where it is known; it decides how fine cells are. */
  span: number;
  pixels: number;
  /** New rows come at its end; what is there stays. */
  isLive: boolean;
  enabled: boolean;
}

/** Widths are rounded up, so that a few pixels more or less ask for nothing new. */
const PIXELS_STEP = 100;
/** A window reaches so far over its ends that lines lead out of the picture. */
const MARGIN_PART = 0.05;

export interface Line {
  rank: number | undefined;
  trace: Trace;
  smoothed: Float64Array | undefined;
}

export interface TraceResult {
  /** Empty before the data is there. Of ranks those with rows, but one at least. */
  lines: Line[];
  origin: bigint;
  query: UseQueryResult<Series[]>;
}

export function useTrace(wanted: TraceQuery): TraceResult {
  const { axis, halfLife } = wanted;
  const request = requestOf(wanted);
  const ranks = wanted.ranks ?? [undefined];
  const query = useQuery({
    queryKey: ["run", wanted.run, "lines", request, ranks],
    queryFn: ({ signal, client, queryKey }) => {
      const before = wanted.isLive ? client.getQueryData<Series[]>(queryKey) : undefined;
      return Promise.all(ranks.map((rank, i) => loadNew({ ...request, rank }, before?.[i], signal)));
    },
    placeholderData: keepPreviousData,
    structuralSharing: false, // loadedMs does not know a copy
    enabled: wanted.enabled,
  });
  const data = query.data;
  return useMemo(() => {
    const origin = data?.map((series) => originOf(series, axis)).find((each) => each !== 0n) ?? 0n;
    const all = (data ?? []).map((series): Line => {
      const trace = traceOf(series, axis, origin);
      const smoothed = halfLife > 0 ? timeWeightedAverage(trace, halfLife) : undefined;
      return { rank: series.rank, trace, smoothed };
    });
    const withRows = all.filter(({ trace }) => trace.n > 0);
    return { lines: withRows.length > 0 ? withRows : all.slice(0, 1), origin, query };
  }, [data, axis, halfLife, query]);
}

/** Series by when all of them was asked for, in ms. */
const loadedMs = new WeakMap<Series, number>();
/** Rows may come before the end too (other ranks, a step logged late): all is asked for again after so long. */
const WHOLE_EVERY_MS = 30_000;

/** Of a series that is there only what is new at its end, where that goes. */
async function loadNew(
  request: SeriesRequest,
  before: Series | undefined,
  signal: AbortSignal,
): Promise<Series> {
  const loaded = before && loadedMs.get(before);
  const isTail = request.lo === null && (request.x === "step" || request.x === "time");
  const start = before && isTail ? tailStart(before) : undefined;
  if (before && loaded !== undefined && start !== undefined && Date.now() - loaded < WHOLE_EVERY_MS) {
    const tail = await loadSeries({ ...request, lo: String(start), pixels: TAIL_PIXELS }, signal);
    const joined = withTail(before, tail, request.pixels);
    if (joined) {
      loadedMs.set(joined, loaded);
      return joined;
    }
  }
  const whole = await loadSeries(request, signal);
  loadedMs.set(whole, Date.now());
  return whole;
}

function requestOf({ run, metric, axis, zoom, origin, halfLife, span, pixels }: TraceQuery): SeriesRequest {
  const rounded = Math.max(PIXELS_STEP, Math.ceil(pixels / PIXELS_STEP) * PIXELS_STEP);
  const shared = { run, key: metric, x: axis };
  if (!zoom) {
    const fine = halfLife > 0 && span > 0 ? pixelsFor(rounded, span, halfLife) : rounded;
    return { ...shared, lo: null, hi: null, pixels: fine };
  }
  const width = zoom.hi - zoom.lo;
  const before = Math.max(MARGIN_PART * width, HALF_LIVES_BEFORE * halfLife);
  const lo = zoom.lo - before;
  const hi = zoom.hi + MARGIN_PART * width;
  const asked = Math.ceil((rounded * (hi - lo)) / width);
  const fine = halfLife > 0 ? pixelsFor(asked, hi - lo, halfLife) : asked;
  if (metricOfAxis(axis) !== undefined) return { ...shared, lo: String(lo), hi: String(hi), pixels: fine };
  return {
    ...shared,
    lo: toServer(Math.floor(lo * unitsOf(axis)), origin),
    hi: toServer(Math.ceil(hi * unitsOf(axis)), origin),
    pixels: fine,
  };
}

const unitsOf = (axis: XAxis): number => (isTimeAxis(axis) ? 1e6 : 1);

const STEP_MIN = -(2n ** 63n);
const STEP_MAX = 2n ** 63n - 1n;

function toServer(value: number, origin: bigint): string {
  const exact = BigInt(value) + origin;
  return String(exact < STEP_MIN ? STEP_MIN : exact > STEP_MAX ? STEP_MAX : exact);
}
