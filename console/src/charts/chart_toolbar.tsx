// SPDX-License-Identifier: MIT
// The settings of all charts of a page: filter of names, x axis, log axes, smoothing, zoom.

import type { ReactNode } from "react";
import { isTimeAxis, metricOfAxis, type XAxis } from "../api/x_axis";
import { texts } from "../texts";
import { formatDuration, formatNumber } from "../ui/format";
import { cutInMiddle } from "../ui/visible_text";
import type { ChartSearch } from "./chart_search";
import { halfLifeAt, positionOf } from "./smooth";

interface ChartToolbarProps {
  search: ChartSearch;
  onChange: (change: Partial<ChartSearch>) => void;
  /** The range of x of all metrics, in plot units: the smoothing slider goes up to half of it. */
  span: number;
  isZoomed: boolean;
  axes: readonly XAxis[];
}

export function ChartToolbar({ search, onChange, span, isZoomed, axes }: ChartToolbarProps): ReactNode {
  const halfLife = search.smooth ?? 0;
  const axis = search.x ?? axes[0] ?? "step";
  const label =
    halfLife > 0
      ? texts.chart.halfLife(
          isTimeAxis(axis)
            ? formatDuration(halfLife)
            : axis === "step"
              ? texts.chart.steps(formatNumber(halfLife))
              : formatNumber(halfLife),
        )
      : texts.chart.smoothingOff;
  return (
    <div className="tk-toolbar" role="toolbar" aria-label={texts.chart.toolbar}>
      <input
        type="search"
        className="tk-filter-keys"
        placeholder={texts.chart.filter}
        aria-label={texts.chart.filter}
        value={search.keys ?? ""}
        onChange={(event) => {
          onChange({ keys: event.target.value || undefined });
        }}
      />
      <label className="tk-field">
        {texts.chart.xAxis}
        <select
          value={axis}
          onChange={(event) => {
            const next = axes.find((known) => known === event.target.value);
            onChange({
              x: next === axes[0] ? undefined : next,
              lo: undefined,
              hi: undefined,
              smooth: undefined,
            });
          }}
        >
          {axes.map((name) => (
            <option key={name} value={name}>
              {nameOf(name)}
            </option>
          ))}
        </select>
      </label>
      <Switch label={texts.chart.xLog} on={search.xlog} onChange={(xlog) => onChange({ xlog })} />
      <Switch label={texts.chart.yLog} on={search.ylog} onChange={(ylog) => onChange({ ylog })} />
      <label className="tk-field">
        {texts.chart.smoothing}
        <input
          type="range"
          min={0}
          max={100}
          value={positionOf(halfLife, span)}
          onChange={(event) => {
            onChange({ smooth: halfLifeAt(Number(event.target.value), span) || undefined });
          }}
        />
        <output className="tk-smooth-value">{label}</output>
      </label>
      <button
        type="button"
        disabled={!isZoomed}
        onClick={() => {
          onChange({ lo: undefined, hi: undefined });
        }}
      >
        {texts.chart.resetZoom}
      </button>
    </div>
  );
}

const nameOf = (axis: XAxis): string => {
  const metric = metricOfAxis(axis);
  return metric === undefined
    ? texts.chart.axes[axis as keyof typeof texts.chart.axes]
    : cutInMiddle(metric, 40);
};

interface SwitchProps {
  label: string;
  on: boolean | undefined;
  onChange: (on: boolean | undefined) => void;
}

function Switch({ label, on, onChange }: SwitchProps): ReactNode {
  return (
    <label className="tk-field">
      <input
        type="checkbox"
        checked={on ?? false}
        onChange={(event) => {
          onChange(event.target.checked || undefined);
        }}
      />
      {label}
    </label>
  );
}
