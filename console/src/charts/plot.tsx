// SPDX-License-Identifier: MIT
// One uPlot in React: made again when its shape changes, updated for new data and ranges.

import { useEffect, useRef, type ReactNode } from "react";
import uPlot from "uplot";
import type { XAxis } from "../api/x_axis";
import { useStore } from "../state/store";
import { themeVersion } from "../state/theme";
import { padded } from "./axis";
import { readColors, type Colors } from "./colors";
import { paint, type Drawing } from "./painter";
import { plotOptions } from "./plot_options";
import { union, xExtent, yExtent, type Range } from "./trace";

export interface PlotProps {
  drawings: readonly Drawing[];
  axis: XAxis;
  origin: bigint;
  xLog: boolean;
  yLog: boolean;
  yBytes: boolean;
  /** The range of x that is shown; undefined for all. */
  zoom: Range | undefined;
  group: string;
  height: number;
  width: number;
  onZoom: (range: Range | undefined) => void;
  onPointer: (x: number | undefined) => void;
}

export function Plot(props: PlotProps): ReactNode {
  const { axis, xLog, yLog, yBytes, group, width, height } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  const colors = useRef<Colors>(undefined);
  const version = useStore(themeVersion);

  useEffect(() => {
    latest.current = props;
  });

  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    colors.current = readColors(element);
    const current = (): Colors => colors.current ?? readColors(element);
    const setup = {
      axis,
      xLog,
      yLog,
      yBytes,
      group,
      origin: () => latest.current.origin,
      colors: current,
      yRange: (made: uPlot) => visibleY(made, latest.current),
      draw: (made: uPlot) => {
        for (const drawing of latest.current.drawings) paint(made, drawing, current());
      },
      onZoom: (range: Range | undefined) => {
        latest.current.onZoom(range);
      },
      onPointer: (x: number | undefined) => {
        latest.current.onPointer(x);
      },
    };
    const made = new uPlot(plotOptions(setup, width, height), [[], []], element);
    plot.current = made;
    show(made, latest.current);
    return () => {
      made.destroy();
      plot.current = undefined;
    };
    // The size is set below; making the plot again for it would lose the pointer.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [axis, xLog, yLog, yBytes, group, version]);

  useEffect(() => {
    plot.current?.setSize({ width, height });
  }, [width, height]);

  useEffect(() => {
    if (plot.current) show(plot.current, props);
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [props.drawings, props.zoom, props.origin]);

  return <div className="tk-plot" ref={place} />;
}

function show(plot: uPlot, props: PlotProps): void {
  const range = visibleX(props);
  plot.setData(
    [
      [range.lo, range.hi],
      [null, null],
    ] as uPlot.AlignedData,
    false,
  );
  plot.setScale("x", { min: range.lo, max: range.hi });
}

function visibleX({ drawings, zoom, xLog }: PlotProps): Range {
  const all = zoom ?? union(drawings.map(({ trace }) => xExtent(trace))) ?? { lo: 0, hi: 1 };
  const lo = xLog && all.lo <= 0 ? smallestPositive(drawings, all.hi) : all.lo;
  return all.hi > lo ? { lo, hi: all.hi } : { lo: lo - 0.5, hi: lo + 0.5 };
}

function smallestPositive(drawings: readonly Drawing[], hi: number): number {
  const found = drawings.flatMap(({ trace }) => trace.x0.find((x) => x > 0) ?? []);
  return found.length > 0 ? Math.min(...found) : hi > 0 ? hi / 10 : 1;
}

function visibleY(plot: uPlot, { drawings, yLog, zoom }: PlotProps): Range {
  const x = plot.scales["x"];
  const window = { lo: x?.min ?? -Infinity, hi: x?.max ?? Infinity };
  const extent = union(drawings.map(({ trace }) => yExtent(trace, window, yLog)));
  return padded(extent ?? { lo: yLog ? 0.1 : 0, hi: 1 }, yLog, zoom !== undefined);
}
