// SPDX-License-Identifier: MIT
// The options of uPlot, which provides axes, scales, the pointer and the selection; painter.ts draws the lines.

import type uPlot from "uplot";
import type { XAxis } from "../api/x_axis";
import { BYTE_STEPS, byteTicks, DURATION_STEPS_S, formatTick, formatX, logTicks, timeTicks } from "./axis";
import type { Colors } from "./colors";
import type { Range } from "./trace";

export interface PlotSetup {
  axis: XAxis;
  xLog: boolean;
  yLog: boolean;
  /** y is a number of bytes. */
  yBytes: boolean;
  /** Charts of one group share the crosshair, by x value. */
  group: string;
  origin: () => bigint;
  colors: () => Colors;
  yRange: (plot: uPlot) => Range;
  draw: (plot: uPlot) => void;
  onZoom: (range: Range | undefined) => void;
  onPointer: (x: number | undefined) => void;
}

const FONT = '11px system-ui, "Segoe UI", "Noto Sans", sans-serif';
// The type names an enum that exists in types only.
/* eslint-disable @typescript-eslint/no-unsafe-enum-assignment */
const LINEAR = 1 as uPlot.Scale.Distr;
export const LOG = 3 as uPlot.Scale.Distr;
/* eslint-enable */
const DRAG_PX_MIN = 4;

export function plotOptions(setup: PlotSetup, width: number, height: number): uPlot.Options {
  const shared = {
    stroke: () => setup.colors().third,
    font: FONT,
    grid: { stroke: () => setup.colors().line, width: 1 },
    ticks: { show: false },
  };
  const isTime = setup.axis === "time" && !setup.xLog;
  return {
    width,
    height,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: {
      drag: { x: true, y: false, setScale: false, dist: DRAG_PX_MIN },
      points: { show: false },
      y: false,
      sync: { key: setup.group, scales: ["x", null] },
      bind: {
        dblclick: () => () => {
          setup.onZoom(undefined);
          return null;
        },
      },
    },
    scales: {
      x: { time: isTime, distr: setup.xLog ? LOG : LINEAR },
      y: { distr: setup.yLog ? LOG : LINEAR, range: (plot) => pair(setup.yRange(plot)) },
    },
    axes: [
      {
        ...shared,
        size: isTime ? 40 : 24,
        space: 64,
        ...(setup.xLog ? LOG_TICKS : {}),
        ...(setup.axis === "relative" && !setup.xLog ? { incrs: DURATION_STEPS_S } : {}),
        values: (_: uPlot, ticks: number[]) => (isTime ? timeTicks(ticks) : labels(ticks, setup)),
      },
      {
        ...shared,
        size: setup.yBytes ? 80 : 56,
        space: 32,
        ...(setup.yLog ? LOG_TICKS : {}),
        ...(setup.yBytes && !setup.yLog ? { incrs: BYTE_STEPS } : {}),
        values: (_: uPlot, ticks: number[]) =>
          setup.yBytes ? byteTicks(ticks) : ticks.map((tick) => formatTick(tick, distance(ticks))),
      },
    ],
    series: [{}, { show: true, points: { show: false }, paths: () => null }],
    hooks: {
      draw: [setup.draw],
      setSelect: [(plot) => selected(plot, setup)],
      setCursor: [
        (plot) => {
          const left = plot.cursor.left ?? -1;
          setup.onPointer(left < 0 ? undefined : plot.posToVal(left, "x"));
        },
      ],
    },
  };
}

const pair = (range: Range): [number, number] => [range.lo, range.hi];

// Without a filter of ours uPlot omits some ticks and passes null to `values` for them.
const LOG_TICKS = {
  splits: (_: uPlot, __: number, lo: number, hi: number): number[] => logTicks({ lo, hi }),
  filter: (_: uPlot, ticks: number[]): number[] => ticks,
};

const distance = (ticks: number[]): number => Math.abs((ticks[1] ?? 0) - (ticks[0] ?? 0));

function labels(ticks: number[], setup: PlotSetup): string[] {
  return ticks.map((tick) => formatX(tick, setup.axis, setup.origin(), distance(ticks)));
}

function selected(plot: uPlot, setup: PlotSetup): void {
  const { left, width } = plot.select;
  if (width < DRAG_PX_MIN) return;
  const range = { lo: plot.posToVal(left, "x"), hi: plot.posToVal(left + width, "x") };
  plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  setup.onZoom(range);
}
