// SPDX-License-Identifier: MIT
// Machine, process and GPUs over time.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { XAxis } from "../../api/x_axis";
import type { RunDetail } from "../../api/types";
import { seriesListQuery } from "../../state/queries";
import { texts } from "../../texts";
import { Loaded } from "../../ui/loaded";
import { Empty } from "../../ui/notes";
import { ChartsOf, SYSTEM_PREFIX } from "./charts_tab";

const AXES: readonly XAxis[] = ["relative", "time"];

export function SystemTab({ run }: { run: RunDetail }): ReactNode {
  const query = useQuery(seriesListQuery(run.uid, SYSTEM_PREFIX));
  return (
    <Loaded query={query} what={texts.run.tabs.system}>
      {(metrics) =>
        metrics.length === 0 ? (
          <Empty title={texts.chart.noSystem} />
        ) : (
          <ChartsOf run={run} metrics={metrics} prefix={SYSTEM_PREFIX} axes={AXES} />
        )
      }
    </Loaded>
  );
}
