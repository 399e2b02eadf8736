// SPDX-License-Identifier: MIT
// The answers to the first questions: why it ended, its key metrics, its last lines, what it used and made, what it lost.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { RunDetail, SeriesInfo } from "../../api/types";
import { toSegment } from "../../state/address";
import { consoleQuery, seriesListQuery } from "../../state/queries";
import { texts } from "../../texts";
import { formatTime } from "../../ui/format";
import { Loaded } from "../../ui/loaded";
import { Empty } from "../../ui/notes";
import { Panel } from "../../ui/panel";
import { Num } from "../../ui/text";
import { Name } from "../../ui/name";
import { visibleText } from "../../ui/visible_text";
import { SYSTEM_PREFIX } from "./charts_tab";
import { LogLine } from "./log_line";
import { UsesList } from "./uses_list";

const METRICS_MAX = 20;
const LINES_MAX = 50;

export function OverviewTab({ run }: { run: RunDetail }): ReactNode {
  const isEndedBadly =
    run.state !== "finished" && run.state !== "running" && run.reason !== undefined && run.reason !== "";
  return (
    <div className="tk-overview">
      <div>
        {isEndedBadly && (
          <Panel title={texts.overview.ended}>
            <p className="tk-reason">{visibleText(run.reason ?? "", 2000)}</p>
          </Panel>
        )}
        {run.notes && (
          <Panel title={texts.overview.notes}>
            <p className="tk-notes">{visibleText(run.notes, 5000)}</p>
          </Panel>
        )}
        <KeyMetrics run={run} />
        <LastLines run={run} />
      </div>
      <div>
        <About run={run} />
        <Panel title={texts.overview.dataFlow}>
          {run.inputs.length + run.outputs.length === 0 ? (
            <p className="tk-third">{texts.overview.noneUsed}</p>
          ) : (
            <>
              <UsesList title={texts.overview.inputs} uses={run.inputs} />
              <UsesList title={texts.overview.outputs} uses={run.outputs} />
            </>
          )}
        </Panel>
        <Integrity run={run} />
      </div>
    </div>
  );
}

function KeyMetrics({ run }: { run: RunDetail }): ReactNode {
  const query = useQuery(seriesListQuery(run.uid));
  return (
    <Panel title={texts.overview.metrics}>
      <Loaded query={query} what={texts.overview.metrics}>
        {(all) => {
          const metrics = all.filter((info) => !info.key.startsWith(SYSTEM_PREFIX));
          if (metrics.length === 0) return <Empty title={texts.chart.none} />;
          return (
            <>
              <MetricTable metrics={metrics.slice(0, METRICS_MAX)} />
              {metrics.length > METRICS_MAX && (
                <p className="tk-third">{texts.overview.more(metrics.length - METRICS_MAX)}</p>
              )}
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}

function MetricTable({ metrics }: { metrics: readonly SeriesInfo[] }): ReactNode {
  const { metric, last, min, max, atStep, points } = texts.overview;
  return (
    <table className="tk-table">
      <thead>
        <tr>
          <th>{metric}</th>
          {[last, min, max, atStep, points].map((title) => (
            <th className="tk-number" key={title}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {metrics.map((info) => (
          <tr key={info.key} data-metric={info.key}>
            <td>
              <Name value={info.key} />
            </td>
            {[info.last, info.min, info.max, info.step_max, info.points].map((value, index) => (
              <td className="tk-number" key={index}>
                {info.type === "bool" && value !== undefined && index < 3 ? (
                  String(Boolean(value))
                ) : (
                  <Num value={value} />
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function LastLines({ run }: { run: RunDetail }): ReactNode {
  const query = useQuery(consoleQuery(run.uid, { limit: LINES_MAX }));
  const params = { project: toSegment(run.project), run: run.uid, tab: "logs" };
  return (
    <Panel
      title={texts.overview.lastLines}
      action={
        <Link to="/p/$project/r/$run/$tab" params={params}>
          {texts.overview.allLines}
        </Link>
      }
    >
      <Loaded query={query} what={texts.overview.lastLines}>
        {({ lines }) =>
          lines.length === 0 ? (
            <p className="tk-third">{texts.logs.empty}</p>
          ) : (
            <div className="tk-last-lines" tabIndex={0}>
              <div>
                {lines.map((line, index) => (
                  <LogLine key={index} line={line} showTime={false} showRank={run.ranks > 1} />
                ))}
              </div>
            </div>
          )
        }
      </Loaded>
    </Panel>
  );
}

function About({ run }: { run: RunDetail }): ReactNode {
  const of = texts.runs.of;
  const rows: [label: string, value: string | undefined][] = [
    ["ID", run.id],
    ["UID", run.uid],
    [of.created, run.created_us === undefined ? undefined : formatTime(run.created_us)],
    [texts.overview.endedAt, run.ended_us === undefined ? undefined : formatTime(run.ended_us)],
    [of.host, run.host],
    [of.group, run.group],
    [of.job_type, run.job_type],
  ];
  return (
    <Panel title={texts.overview.about}>
      <dl className="tk-facts">
        {rows.map(
          ([label, value]) =>
            value !== undefined &&
            value !== "" && (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{visibleText(value)}</dd>
              </div>
            ),
        )}
      </dl>
    </Panel>
  );
}

function Integrity({ run }: { run: RunDetail }): ReactNode {
  return (
    <Panel title={texts.overview.integrity}>
      {run.dropped === 0 ? (
        <p className="tk-tone-ok">{texts.overview.nothingLost(run.points)}</p>
      ) : (
        <p className="tk-tone-error">{texts.overview.someLost(run.dropped, run.points)}</p>
      )}
      {run.problems.map((problem) => (
        <p className="tk-tone-error" key={problem}>
          {visibleText(problem)}
        </p>
      ))}
    </Panel>
  );
}
