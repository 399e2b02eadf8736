// SPDX-License-Identifier: MIT
// The available columns of config and metrics, from the newest runs; the shown ones, from the address or from these.

import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Json } from "../../api/check";
import type { RunDetail } from "../../api/types";
import { runQuery } from "../../state/queries";
import { keyColumn, type KeyColumn } from "./columns";
import { splitFields } from "./runs_search";

const CONFIG_SHOWN_MAX = 2;
const METRICS_SHOWN_MAX = 4;

export interface KeyColumns {
  known: KeyColumn[];
  shown: KeyColumn[];
}

export function useKeyColumns(uids: readonly string[], cols: string | undefined): KeyColumns {
  const details = useQueries({
    queries: uids.map((uid) => runQuery(uid)),
    combine: (results) => results.flatMap((result) => (result.data ? [result.data] : [])),
  });
  return useMemo(() => {
    const known = knownColumns(details);
    if (cols === undefined) return { known, shown: standard(known) };
    const chosen = splitFields(cols);
    return { known, shown: known.filter((column) => chosen.includes(column.field)) };
  }, [details, cols]);
}

function knownColumns(details: readonly RunDetail[]): KeyColumn[] {
  const config = new Set(details.flatMap((run) => leafKeys(run.config)));
  const metrics = new Set(
    details.flatMap((run) =>
      [...run.summary].flatMap(([key, value]) => (typeof value === "number" ? [key] : [])),
    ),
  );
  return [
    ...[...config].map((key) => keyColumn("config", key)),
    ...[...metrics].map((key) => keyColumn("metrics", key)),
  ];
}

/** Keys of nested maps joined by "/". */
export function leafKeys(entries: ReadonlyMap<string, Json>, prefix = ""): string[] {
  return [...entries].flatMap(([key, value]) => {
    const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
    return isMap ? leafKeys(new Map(Object.entries(value)), `${prefix}${key}/`) : [prefix + key];
  });
}

/** Metrics of losses and accuracies say most; counters of progress say least. */
function standard(known: readonly KeyColumn[]): KeyColumn[] {
  const rank = ({ key }: KeyColumn): number =>
    /loss|acc|score|reward/i.test(key) ? 0 : /epoch|step|iter/i.test(key) ? 2 : 1;
  const first = (kind: KeyColumn["kind"], count: number): KeyColumn[] =>
    known
      .filter((column) => column.kind === kind)
      .sort((a, b) => rank(a) - rank(b))
      .slice(0, count);
  return [...first("config", CONFIG_SHOWN_MAX), ...first("metrics", METRICS_SHOWN_MAX)];
}
