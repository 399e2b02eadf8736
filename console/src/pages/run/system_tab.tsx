// SPDX-License-Identifier: MIT
// Machine, process and GPUs over time, of each rank that recorded.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Json } from "../../api/check";
import type { XAxis } from "../../api/x_axis";
import type { RunDetail } from "../../api/types";
import { seriesListQuery } from "../../state/queries";
import { texts } from "../../texts";
import { Loaded } from "../../ui/loaded";
import { Empty } from "../../ui/notes";
import { ChartsOf, SYSTEM_PREFIX } from "./charts_tab";

const AXES: readonly XAxis[] = ["relative", "time"];

/** undefined: there is only one. */
export function ranksOf(writers: readonly Json[]): readonly number[] | undefined {
  const ranks = new Set<number>();
  for (const writer of writers)
    if (typeof writer === "object" && writer !== null && "rank" in writer) {
      const rank = Number(writer["rank"]);
      if (rank >= 0) ranks.add(rank);
    }
  return ranks.size > 1 ? [...ranks].sort((a, b) => a - b) : undefined;
}

export function SystemTab({ run }: { run: RunDetail }): ReactNode {
  const query = useQuery(seriesListQuery(run.uid, SYSTEM_PREFIX));
  return (
    <Loaded query={query} what={texts.run.tabs.system}>
      {(metrics) =>
        metrics.length === 0 ? (
          <Empty title={texts.chart.noSystem} />
        ) : (
          <ChartsOf
            run={run}
            metrics={metrics}
            prefix={SYSTEM_PREFIX}
            ranks={ranksOf(run.writers)}
            axes={AXES}
          />
        )
      }
    </Loaded>
  );
}
