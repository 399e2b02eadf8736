// SPDX-License-Identifier: MIT
// One chart: title, value at the pointer, plot, and a line that says of how many points it is.

import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { metricOfAxis, type XAxis } from "../api/x_axis";
import type { SeriesInfo } from "../api/types";
import { texts } from "../texts";
import { formatBytes, formatNumber, formatTime } from "../ui/format";
import { ErrorNote, Skeleton } from "../ui/notes";
import { useInView, useWidth } from "../ui/use_element";
import { visibleText } from "../ui/visible_text";
import { formatX } from "./axis";
import { colorIndex } from "./colors";
import { Plot } from "./plot";
import { nearestCell, shownWithin, type Range, type Trace } from "./trace";
import { useTrace } from "./use_trace";

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
  view: ChartView;
  group: string;
  onZoom: (range: Range | undefined) => void;
  height?: number;
}

export function Chart({ run, info, title, view, group, onZoom, height = 208 }: ChartProps): ReactNode {
  const figure = useRef<HTMLElement>(null);
  const isSeen = useInView(figure);
  const width = useWidth(figure);
  const readout = useRef<HTMLSpanElement>(null);
  const [origin, setOrigin] = useState(0n);
  const found = useTrace({
    run,
    metric: info.key,
    axis: view.axis,
    zoom: view.zoom,
    origin,
    halfLife: view.halfLife,
    span: view.span,
    pixels: width * window.devicePixelRatio,
    isLive: view.isLive,
    enabled: isSeen && width > 0,
  });
  const { trace, smoothed, query } = found;
  if (found.origin !== origin && trace) setOrigin(found.origin);

  const onPointer = (x: number | undefined): void => {
    if (readout.current)
      readout.current.textContent = readoutText(x, trace, smoothed, info, view.axis, found.origin);
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
        onKey(event, view.zoom, trace, onZoom);
      }}
    >
      <figcaption>
        <span className="tk-chart-title" title={info.key}>
          {visibleText(title)}
        </span>
        <span className="tk-chart-readout" ref={readout} />
      </figcaption>
      <div className="tk-chart-body">
        {query.isError ? (
          <ErrorNote what={info.key} error={query.error} retry={() => void query.refetch()} />
        ) : trace && isSeen && width > 0 ? (
          <Plot
            drawing={{ trace, smoothed, color: colorIndex(info.key) }}
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
      <p className="tk-chart-foot">{trace ? footText(trace, info, view) : "\u00a0"}</p>
    </figure>
  );
}

/** System series end so: "memory.used.bytes", "net.sent.bytes_per_s". */
const isBytes = (key: string): boolean => /\bbytes(_per_s)?$/.test(key);

const formatValue = (key: string, value: number | bigint): string =>
  isBytes(key) && Number.isFinite(Number(value)) ? formatBytes(Number(value)) : formatNumber(value);

const formatMaybe = (key: string, value: number | bigint | undefined): string =>
  value === undefined ? "–" : formatValue(key, value);

function readoutText(
  x: number | undefined,
  trace: Trace | undefined,
  smoothed: Float64Array | undefined,
  info: SeriesInfo,
  axis: XAxis,
  origin: bigint,
): string {
  const index = x === undefined || !trace ? -1 : nearestCell(trace, x);
  if (!trace || index < 0) return formatMaybe(info.key, info.last);
  const placeOf = (x: number): string =>
    axis === "time"
      ? formatTime(x * 1e6)
      : metricOfAxis(axis)
        ? formatNumber(x)
        : formatX(x, axis, origin, 1);
  const from = placeOf(trace.x0[index] ?? NaN);
  const to = placeOf(trace.x1[index] ?? NaN);
  const place = from === to ? to : `${from} – ${to}`;
  const value = trace.last[index] ?? NaN;
  const low = trace.min[index] ?? NaN;
  const high = trace.max[index] ?? NaN;
  const shown = (y: number): string => formatValue(info.key, y);
  const range = low < high ? ` (${shown(low)} … ${shown(high)})` : "";
  const curve = smoothed ? ` ~ ${shown(smoothed[index] ?? NaN)}` : "";
  const at = axis === "step" ? texts.chart.step(place) : metricOfAxis(axis) ? `x ${place}` : place;
  return `${at}: ${shown(value)}${range}${curve}`;
}

function footText(trace: Trace, info: SeriesInfo, { yLog, zoom }: ChartView): string {
  const shown = shownWithin(trace, zoom ?? { lo: -Infinity, hi: Infinity });
  return [
    trace.isPoints || shown.rows === shown.cells
      ? texts.chart.allPoints(shown.rows)
      : texts.chart.asCells(shown.rows, shown.cells),
    ...(trace.leftOut > 0 ? [texts.chart.leftOut(trace.leftOut)] : []),
    ...(shown.nan > 0 ? [`${shown.nan.toLocaleString("en")} × NaN`] : []),
    ...(shown.posInf > 0 ? [`▲ ${shown.posInf.toLocaleString("en")}`] : []),
    ...(shown.negInf > 0 ? [`▼ ${shown.negInf.toLocaleString("en")}`] : []),
    ...(info.dropped > 0 ? [texts.lost(info.dropped)] : []),
    ...(yLog && shown.notPositive > 0 ? [texts.chart.belowZero(shown.notPositive, trace.isPoints)] : []),
  ].join(" · ");
}

function onKey(
  event: KeyboardEvent,
  zoom: Range | undefined,
  trace: Trace | undefined,
  onZoom: (range: Range | undefined) => void,
): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "0") onZoom(undefined);
  const lo = zoom?.lo ?? trace?.x0[0];
  const hi = zoom?.hi ?? trace?.x1[trace.n - 1];
  if (lo === undefined || hi === undefined) return;
  const span = hi - lo;
  if (event.key === "+") onZoom({ lo: lo + span / 4, hi: hi - span / 4 });
  else if (event.key === "-" && zoom) onZoom({ lo: lo - span / 2, hi: hi + span / 2 });
  else if (event.shiftKey && event.key === "ArrowLeft" && zoom)
    onZoom({ lo: lo - span / 4, hi: hi - span / 4 });
  else if (event.shiftKey && event.key === "ArrowRight" && zoom)
    onZoom({ lo: lo + span / 4, hi: hi + span / 4 });
}
