// SPDX-License-Identifier: MIT
// All charts of a list of metrics, in sections by the folder of their names.

import { useId, useMemo, type ReactNode } from "react";
import type { SeriesInfo } from "../api/types";
import { Name } from "../ui/name";
import { Chart, type ChartView } from "./chart";
import type { Range } from "./trace";

export interface Section {
  folder: string;
  metrics: { info: SeriesInfo; title: string }[];
}

/** Metrics grouped by the part of their name before the last "/"; those without one first. */
export function sectionsOf(metrics: readonly SeriesInfo[], prefix = ""): Section[] {
  const sections = new Map<string, Section>();
  for (const info of metrics) {
    const name = info.key.slice(prefix.length);
    const end = name.lastIndexOf("/");
    const folder = end > 0 && end < name.length - 1 ? name.slice(0, end) : "";
    const section = sections.get(folder) ?? { folder, metrics: [] };
    section.metrics.push({ info, title: folder === "" ? name : name.slice(end + 1) });
    sections.set(folder, section);
  }
  return [...sections.values()].sort((a, b) => (a.folder < b.folder ? -1 : a.folder > b.folder ? 1 : 0));
}

/** With more metrics than this, sections are closed at first. */
const OPEN_METRICS_MAX = 200;

interface ChartGridProps {
  run: string;
  metrics: readonly SeriesInfo[];
  prefix?: string;
  /** A line of each rank in each chart. */
  ranks?: readonly number[] | undefined;
  view: ChartView;
  onZoom: (range: Range | undefined) => void;
}

export function ChartGrid({ run, metrics, prefix = "", ranks, view, onZoom }: ChartGridProps): ReactNode {
  const group = useId();
  const sections = useMemo(() => sectionsOf(metrics, prefix), [metrics, prefix]);
  const charts = (section: Section): ReactNode => (
    <div className="tk-chart-grid">
      {section.metrics.map(({ info, title }) => (
        <Chart key={info.key} {...{ run, info, title, ranks, view, group, onZoom }} />
      ))}
    </div>
  );
  const only = sections[0];
  if (sections.length === 1 && only?.folder === "") return charts(only);
  return sections.map((section) => (
    <details className="tk-section" key={section.folder} open={metrics.length <= OPEN_METRICS_MAX}>
      <summary>
        <span>{section.folder === "" ? "/" : <Name value={section.folder} />}</span>
        <span className="tk-third">{section.metrics.length}</span>
      </summary>
      {charts(section)}
    </details>
  ));
}
