// SPDX-License-Identifier: MIT
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";
import { metricAxis, metricOfAxis, type XAxis } from "../../api/x_axis";
import type { RunDetail, SeriesInfo } from "../../api/types";
import { ChartGrid } from "../../charts/chart_grid";
import { zoomOf, type ChartSearch } from "../../charts/chart_search";
import { ChartToolbar } from "../../charts/chart_toolbar";
import type { Range } from "../../charts/trace";
import { seriesListQuery } from "../../state/queries";
import { texts } from "../../texts";
import { Loaded } from "../../ui/loaded";
import { Empty } from "../../ui/notes";

export const SYSTEM_PREFIX = "system/";
const AXES: readonly XAxis[] = ["step", "relative", "time"];
/** How many metrics can be chosen as x. */
const METRIC_AXES_MAX = 200;

export function ChartsTab({ run }: { run: RunDetail }): ReactNode {
  const query = useQuery(seriesListQuery(run.uid));
  return (
    <Loaded query={query} what={texts.run.tabs.charts}>
      {(all) => {
        const metrics = all.filter((info) => !info.key.startsWith(SYSTEM_PREFIX));
        if (metrics.length === 0) return <Empty title={texts.chart.none} />;
        const axes = [...AXES, ...metrics.slice(0, METRIC_AXES_MAX).map((info) => metricAxis(info.key))];
        return <ChartsOf run={run} metrics={metrics} prefix="" axes={axes} />;
      }}
    </Loaded>
  );
}

interface ChartsOfProps {
  run: RunDetail;
  metrics: readonly SeriesInfo[];
  prefix: string;
  /** A line of each rank in each chart. */
  ranks?: readonly number[] | undefined;
  axes: readonly XAxis[];
}

/** Toolbar and charts; their settings are in the address. */
export function ChartsOf({ run, metrics, prefix, ranks, axes }: ChartsOfProps): ReactNode {
  const search = useSearch({ from: "/p/$project/r/$run/$tab" });
  const navigate = useNavigate({ from: "/p/$project/r/$run/$tab" });
  const axis = axes.find((known) => known === search.x) ?? axes[0] ?? "step";
  const change = (next: Partial<ChartSearch>): void => {
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false });
  };
  const shown = useMemo(() => {
    const wanted = (search.keys ?? "").toLowerCase();
    return wanted === "" ? metrics : metrics.filter((info) => info.key.toLowerCase().includes(wanted));
  }, [metrics, search.keys]);
  const span = spanOf(metrics, axis);
  const zoom = zoomOf(search);
  const isLive = run.state === "running";
  const view = {
    axis,
    xLog: search.xlog ?? false,
    yLog: search.ylog ?? false,
    halfLife: search.smooth ?? 0,
    span,
    zoom,
    isLive,
  };
  const onZoom = (range: Range | undefined): void => {
    change({ lo: range?.lo, hi: range?.hi });
  };
  return (
    <>
      <ChartToolbar search={search} onChange={change} span={span} isZoomed={zoom !== undefined} axes={axes} />
      {shown.length === 0 ? (
        <Empty title={texts.chart.noneMatch} />
      ) : (
        <ChartGrid run={run.uid} metrics={shown} prefix={prefix} ranks={ranks} view={view} onZoom={onZoom} />
      )}
    </>
  );
}

/** The longest range of x of the metrics, in plot units. */
function spanOf(metrics: readonly SeriesInfo[], axis: XAxis): number {
  const metric = metricOfAxis(axis);
  const infoOfX = metric === undefined ? undefined : metrics.find((info) => info.key === metric);
  if (infoOfX) return Number(infoOfX.max ?? 0) - Number(infoOfX.min ?? 0);
  const spans = metrics.map((info) =>
    axis === "step"
      ? Number(info.step_max ?? 0) - Number(info.step_min ?? 0)
      : ((info.time_last_us ?? 0) - (info.time_first_us ?? 0)) / 1e6,
  );
  return Math.max(0, ...spans);
}
