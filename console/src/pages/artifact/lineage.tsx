// SPDX-License-Identifier: MIT
// The data flow of a version: the run that made it with what that run used, the version, the runs that used it with what
// they made. Layers from left to right.

import { useQueries } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { ArtifactVersion, RunDetail, RunReference, Use } from "../../api/types";
import { runQuery } from "../../state/queries";
import { texts } from "../../texts";
import { RunLink } from "../../ui/links";
import { StateBadge } from "../../ui/state_badge";
import { visibleText } from "../../ui/visible_text";
import { UseLink } from "../run/uses_list";

export function Lineage({ version }: { version: ArtifactVersion }): ReactNode {
  const makers = useRuns(version.made_by);
  const users = useRuns(version.used_by);
  const sources = distinct(makers.flatMap((run) => run.inputs));
  const results = distinct(users.flatMap((run) => run.outputs));
  return (
    <div className="tk-lineage" role="group" aria-label={texts.artifacts.lineage}>
      {sources.length > 0 && (
        <Layer title={texts.overview.inputs}>
          {sources.map((use) => (
            <Node key={use.digest + use.name} kind="artifact">
              <UseLink use={use} />
            </Node>
          ))}
        </Layer>
      )}
      <Layer title={texts.artifacts.madeBy}>
        <RunNodes runs={version.made_by} />
      </Layer>
      <Layer title={texts.artifacts.thisVersion}>
        <Node kind="this">
          <strong>
            {visibleText(version.name, 60)}:v{version.number}
          </strong>
          <span className="tk-third">{visibleText(version.type)}</span>
        </Node>
      </Layer>
      <Layer title={texts.artifacts.usedBy}>
        <RunNodes runs={version.used_by} />
      </Layer>
      {results.length > 0 && (
        <Layer title={texts.overview.outputs}>
          {results.map((use) => (
            <Node key={use.digest + use.name} kind="artifact">
              <UseLink use={use} />
            </Node>
          ))}
        </Layer>
      )}
    </div>
  );
}

function Layer({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <section className="tk-layer" aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Node({ kind, children }: { kind: "run" | "artifact" | "this"; children: ReactNode }): ReactNode {
  return <div className={`tk-node tk-node-${kind}`}>{children}</div>;
}

function RunNodes({ runs }: { runs: readonly RunReference[] }): ReactNode {
  if (runs.length === 0) return <p className="tk-third">{texts.artifacts.noRun}</p>;
  return runs.map((run) => (
    <Node key={run.uid} kind="run">
      <RunLink project={run.project} uid={run.uid} label={run.name ?? run.id} />
      {run.state && <StateBadge state={run.state} />}
    </Node>
  ));
}

const RUNS_READ_MAX = 20;

function useRuns(references: readonly RunReference[]): RunDetail[] {
  return useQueries({
    queries: references.slice(0, RUNS_READ_MAX).map((reference) => runQuery(reference.uid)),
    combine: (results) => results.flatMap((result) => (result.data ? [result.data] : [])),
  });
}

function distinct(uses: readonly Use[]): Use[] {
  return [...new Map(uses.map((use) => [`${use.project}/${use.name}@${use.digest}`, use])).values()];
}
