// SPDX-License-Identifier: MIT
// The first facts of a run: whether it is alive, its progress, the time so far and the remaining time.

import { useQuery } from "@tanstack/react-query";
import { useMemo, type ReactNode } from "react";
import type { RunDetail } from "../../api/types";
import { loadSeries } from "../../charts/series_loader";
import { traceOf } from "../../charts/trace";
import { useNow } from "../../state/clock";
import { progressOf, secondsLeft, type Progress } from "../../state/progress";
import { texts } from "../../texts";
import { formatAge, formatDuration, formatNumber } from "../../ui/format";
import { StateBadge } from "../../ui/state_badge";
import { Tags } from "../runs/columns";
import { visibleText } from "../../ui/visible_text";

export function RunHeader({ run }: { run: RunDetail }): ReactNode {
  const now = useNow();
  const isLive = run.state === "running";
  const progress = run.state === "finished" ? undefined : progressOf(run.summary, run.config);
  const lived = isLive && run.created_us !== undefined ? now / 1000 - run.created_us / 1e6 : run.duration_s;
  return (
    <header className="tk-run-head">
      <h1>{visibleText(run.name ?? run.id)}</h1>
      <StateBadge state={run.state} />
      {run.name !== undefined && run.name !== run.id && (
        <span className="tk-second">{visibleText(run.id)}</span>
      )}
      {lived !== undefined && <span>{formatDuration(lived)}</span>}
      {run.step !== undefined && <span>{texts.run.step(formatNumber(run.step))}</span>}
      {progress && <ProgressSign run={run} progress={progress} isLive={isLive} />}
      {run.attempts > 1 && <span>{texts.run.attempt(run.attempts)}</span>}
      {run.ranks > 1 && <span>{texts.run.ranks(run.ranks)}</span>}
      {run.dropped > 0 && <span className="tk-tone-error">{texts.lost(run.dropped)}</span>}
      {run.last_us !== undefined && (
        <span className="tk-third">{texts.run.lastSeen(formatAge(run.last_us, now))}</span>
      )}
      <Tags tags={run.tags} />
    </header>
  );
}

interface ProgressSignProps {
  run: RunDetail;
  progress: Progress;
  isLive: boolean;
}

function ProgressSign({ run, progress, isLive }: ProgressSignProps): ReactNode {
  const left = useSecondsLeft(run, progress, isLive);
  const { done, total } = progress;
  return (
    <span className="tk-progress" data-progress={done / total}>
      <progress value={done} max={total} aria-label={progress.key} />
      {texts.run.progress(formatNumber(done), formatNumber(total))}
      {left && (
        <span className="tk-tone-accent" data-time-left={left[0]}>
          {texts.run.timeLeft(formatDuration(left[0]), formatDuration(left[1]))}
        </span>
      )}
    </span>
  );
}

const PIXELS = 2000;

function useSecondsLeft(run: RunDetail, progress: Progress, isLive: boolean): [number, number] | undefined {
  const request = { run: run.uid, key: progress.key, x: "time" as const, lo: null, hi: null, pixels: PIXELS };
  const { data } = useQuery({
    queryKey: ["run", run.uid, "points", request],
    queryFn: ({ signal }) => loadSeries(request, signal),
    enabled: isLive,
  });
  return useMemo(() => {
    if (!data || !isLive) return undefined;
    const trace = traceOf(data, "time", 0n);
    return secondsLeft(trace.x1, trace.last, progress);
  }, [data, isLive, progress]);
}
