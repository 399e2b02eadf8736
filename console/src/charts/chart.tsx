// SPDX-License-Identifier: MIT
// One chart: title, value at the pointer, plot, and a line with its number of points.

import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { metricOfAxis, type XAxis } from "../api/x_axis";
import type { SeriesInfo } from "../api/types";
import { texts } from "../texts";
import { formatBytes, formatNumber, formatTime } from "../ui/format";
import { Name } from "../ui/name";
import { ErrorNote, Skeleton } from "../ui/notes";
import { useInView, useWidth } from "../ui/use_element";
import { formatX } from "./axis";
import { colorIndex } from "./colors";
import { Legend, ranksDrawn, styleOf } from "./legend";
import type { Drawing } from "./painter";
import { Plot } from "./plot";
import { added, nearestCell, shownWithin, union, xExtent, type Range, type Trace } from "./trace";
import { useTrace, type Line } from "./use_trace";

export interface ChartView {
  axis: XAxis;
  xLog: boolean;
  yLog: boolean;
  halfLife: number;
  span: number;
  zoom: Range | undefined;
  isLive: boolean;
}

interface ChartProps {
  run: string;
  info: SeriesInfo;
  title: string;
  /** A line of each rank. undefined: one line of all. */
  ranks?: readonly number[] | undefined;
  view: ChartView;
  group: string;
  onZoom: (range: Range | undefined) => void;
  height?: number;
}

export function Chart({ run, info, title, ranks, view, group, onZoom, height = 208 }: ChartProps): ReactNode {
  const figure = useRef<HTMLElement>(null);
  const isSeen = useInView(figure);
  const width = useWidth(figure);
  const readout = useRef<HTMLSpanElement>(null);
  const legend = useRef<HTMLUListElement>(null);
  const [origin, setOrigin] = useState(0n);
  const found = useTrace({
    run,
    metric: info.key,
    ranks: ranks && ranksDrawn(ranks),
    axis: view.axis,
    zoom: view.zoom,
    origin,
    halfLife: view.halfLife,
    span: view.span,
    pixels: width * window.devicePixelRatio,
    isLive: view.isLive,
    enabled: isSeen && width > 0,
  });
  const { lines, query } = found;
  const one = ranks ? undefined : lines[0];
  const extent = union(lines.map(({ trace }) => xExtent(trace)));
  if (found.origin !== origin && lines.length > 0) setOrigin(found.origin);
  const drawings = useMemo(
    () =>
      lines.map(({ rank, trace, smoothed }): Drawing => {
        const style = rank === undefined ? { color: colorIndex(info.key), dash: [] } : styleOf(rank);
        return { trace, smoothed, ...style };
      }),
    [lines, info.key],
  );

  const onPointer = (x: number | undefined): void => {
    if (readout.current)
      readout.current.textContent = ranks
        ? placeText(x, lines, view.axis, found.origin)
        : readoutText(x, one, info, view.axis, found.origin);
    for (const [i, { trace }] of lines.entries()) {
      const value = legend.current?.children[i]?.lastElementChild;
      const cell = x === undefined ? trace.n - 1 : nearestCell(trace, x);
      if (value) value.textContent = cell < 0 ? "–" : formatValue(info.key, trace.last[cell] ?? NaN);
    }
  };
  useEffect(() => {
    onPointer(undefined);
  });

  return (
    <figure
      className="tk-chart"
      ref={figure}
      tabIndex={0}
      aria-label={texts.chart.summary(
        info.key,
        formatMaybe(info.key, info.last),
        formatMaybe(info.key, info.min),
        formatMaybe(info.key, info.max),
      )}
      aria-busy={query.isFetching}
      data-metric={info.key}
      onKeyDown={(event) => {
        onKey(event, view.zoom, extent, onZoom);
      }}
    >
      <figcaption>
        <span className="tk-chart-title">
          <Name value={title} full={info.key} />
        </span>
        <span className="tk-chart-readout" ref={readout} />
      </figcaption>
      <div className="tk-chart-body">
        {query.isError && lines.length === 0 ? (
          <ErrorNote what={info.key} error={query.error} retry={() => void query.refetch()} />
        ) : lines.length > 0 && isSeen && width > 0 ? (
          <Plot
            drawings={drawings}
            axis={view.axis}
            origin={found.origin}
            xLog={view.xLog}
            yLog={view.yLog}
            yBytes={isBytes(info.key)}
            zoom={view.zoom}
            group={group}
            width={Math.max(120, width)}
            height={height}
            onZoom={onZoom}
            onPointer={onPointer}
          />
        ) : (
          <Skeleton />
        )}
      </div>
      {ranks && lines.length > 0 && <Legend lines={lines} values={legend} />}
      <p className="tk-chart-foot">
        {lines.length > 0 ? footText(lines, info, view, ranks?.length ?? 0) : "\u00a0"}
        {lines.length > 0 && query.isError && <span className="tk-tone-warn"> · {texts.chart.old}</span>}
      </p>
    </figure>
  );
}

/** Endings of system series: "memory.used.bytes", "net.sent.bytes_per_s". */
const isBytes = (key: string): boolean => /\bbytes(_per_s)?$/.test(key);

const formatValue = (key: string, value: number | bigint): string =>
  isBytes(key) && Number.isFinite(Number(value)) ? formatBytes(Number(value)) : formatNumber(value);

const formatMaybe = (key: string, value: number | bigint | undefined): string =>
  value === undefined ? "–" : formatValue(key, value);

function placeOf(trace: Trace, index: number, axis: XAxis, origin: bigint): string {
  const format = (x: number): string =>
    axis === "time"
      ? formatTime(x * 1e6)
      : metricOfAxis(axis)
        ? formatNumber(x)
        : formatX(x, axis, origin, 1);
  const from = format(trace.x0[index] ?? NaN);
  const to = format(trace.x1[index] ?? NaN);
  return from === to ? to : `${from} – ${to}`;
}

/** For several lines: the position of the pointer; the legend has the values. */
function placeText(x: number | undefined, lines: readonly Line[], axis: XAxis, origin: bigint): string {
  const trace = lines[0]?.trace;
  const index = x === undefined || !trace ? -1 : nearestCell(trace, x);
  return trace && index >= 0 ? placeOf(trace, index, axis, origin) : "";
}

function readoutText(
  x: number | undefined,
  line: Line | undefined,
  info: SeriesInfo,
  axis: XAxis,
  origin: bigint,
): string {
  const index = x === undefined || !line ? -1 : nearestCell(line.trace, x);
  if (!line || index < 0) return formatMaybe(info.key, info.last);
  const { trace, smoothed } = line;
  const place = placeOf(trace, index, axis, origin);
  const value = trace.last[index] ?? NaN;
  const low = trace.min[index] ?? NaN;
  const high = trace.max[index] ?? NaN;
  const shown = (y: number): string => formatValue(info.key, y);
  const range = low < high ? ` (${shown(low)} … ${shown(high)})` : "";
  const curve = smoothed ? ` ~ ${shown(smoothed[index] ?? NaN)}` : "";
  const at = axis === "step" ? texts.chart.step(place) : metricOfAxis(axis) ? `x ${place}` : place;
  return `${at}: ${shown(value)}${range}${curve}`;
}

/** `ranks`: how many there are; 0 if they are one line. */
function footText(
  lines: readonly Line[],
  info: SeriesInfo,
  { yLog, zoom }: ChartView,
  ranks: number,
): string {
  const parts = lines.map(({ trace }) => shownWithin(trace, zoom ?? { lo: -Infinity, hi: Infinity }));
  const shown = parts.reduce(added);
  const isPoints = lines.every(({ trace }) => trace.isPoints);
  const leftOut = lines.reduce((sum, { trace }) => sum + trace.leftOut, 0);
  return [
    ...(ranks > lines.length ? [texts.chart.someRanks(lines.length, ranks)] : []),
    isPoints || shown.rows === shown.cells
      ? texts.chart.allPoints(shown.rows)
      : texts.chart.asCells(shown.rows, shown.cells),
    ...(leftOut > 0 ? [texts.chart.leftOut(leftOut)] : []),
    ...(shown.nan > 0 ? [`${shown.nan.toLocaleString("en")} × NaN`] : []),
    ...(shown.posInf > 0 ? [`▲ ${shown.posInf.toLocaleString("en")}`] : []),
    ...(shown.negInf > 0 ? [`▼ ${shown.negInf.toLocaleString("en")}`] : []),
    ...(info.dropped > 0 ? [texts.lost(info.dropped)] : []),
    ...(yLog && shown.notPositive > 0 ? [texts.chart.belowZero(shown.notPositive, isPoints)] : []),
  ].join(" · ");
}

function onKey(
  event: KeyboardEvent,
  zoom: Range | undefined,
  all: Range | undefined,
  onZoom: (range: Range | undefined) => void,
): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "0") onZoom(undefined);
  const seen = zoom ?? all;
  if (!seen) return;
  const { lo, hi } = seen;
  const span = hi - lo;
  if (event.key === "+") onZoom({ lo: lo + span / 4, hi: hi - span / 4 });
  else if (event.key === "-" && zoom) onZoom({ lo: lo - span / 2, hi: hi + span / 2 });
  else if (event.shiftKey && event.key === "ArrowLeft" && zoom)
    onZoom({ lo: lo - span / 4, hi: hi - span / 4 });
  else if (event.shiftKey && event.key === "ArrowRight" && zoom)
    onZoom({ lo: lo + span / 4, hi: hi + span / 4 });
}
