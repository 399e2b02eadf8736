// SPDX-License-Identifier: MIT
// The columns of the table of runs.

import { createColumnHelper, tableFeatures, type ColumnDef } from "@tanstack/react-table";
import type { ReactNode } from "react";
import { numberOf, type Json } from "../../api/check";
import type { Run } from "../../api/types";
import { texts } from "../../texts";
import { formatDuration } from "../../ui/format";
import { RunLink } from "../../ui/links";
import { StateBadge } from "../../ui/state_badge";
import { Name } from "../../ui/name";
import { Age, Num, Text, Value } from "../../ui/text";
import { visibleText } from "../../ui/visible_text";
import { fieldOf } from "./runs_search";

export const features = tableFeatures({});
export type RunColumn = ColumnDef<typeof features, Run>;

/** A column of a config key or metric, as a field of the filter's language. */
export interface KeyColumn {
  kind: "config" | "metrics";
  key: string;
  field: string;
}

export const keyColumn = (kind: "config" | "metrics", key: string): KeyColumn => ({
  kind,
  key,
  field: fieldOf(kind, key),
});

/** The properties of a column's header and cells besides their content. */
export interface ColumnLook {
  width: number;
  isNumber: boolean;
  field: string | undefined;
  kind: string | undefined;
}

const helper = createColumnHelper<typeof features, Run>();

const LOOKS = new Map<string, ColumnLook>();
const look = (id: string, width: number, field?: string, isNumber = false, kind?: string): string => {
  LOOKS.set(id, { width, field, isNumber, kind });
  return id;
};
const STANDARD_LOOK: ColumnLook = { width: 120, isNumber: false, field: undefined, kind: undefined };
export const lookOf = (id: string): ColumnLook => LOOKS.get(id) ?? STANDARD_LOOK;

const of = texts.runs.of;

const fixedColumns = [
  helper.display({
    id: look("name", 232, "name"),
    header: of.name,
    cell: ({ row }) => <NameCell run={row.original} />,
  }),
  helper.display({
    id: look("state", 112, "state"),
    header: of.state,
    cell: ({ row }) => <StateBadge state={row.original.state} />,
  }),
  helper.display({
    id: look("created", 96, "created", true),
    header: of.created,
    cell: ({ row }) => <Age us={row.original.created_us} />,
  }),
  helper.display({
    id: look("duration", 96, "duration", true),
    header: of.duration,
    cell: ({ row }) =>
      row.original.duration_s === undefined ? "–" : formatDuration(row.original.duration_s),
  }),
  helper.display({
    id: look("points", 88, "points", true),
    header: of.points,
    cell: ({ row }) => <Num value={row.original.points} />,
  }),
];

const lastColumns = [
  helper.display({
    id: look("tags", 168, "tags"),
    header: of.tags,
    cell: ({ row }) => <Tags tags={row.original.tags} />,
  }),
  helper.display({
    id: look("group", 96, "group"),
    header: of.group,
    cell: ({ row }) => <Text value={row.original.group ?? ""} />,
  }),
  helper.display({
    id: look("host", 112, "host"),
    header: of.host,
    cell: ({ row }) => <Text value={row.original.host ?? ""} />,
  }),
];

/** A column is narrow. */
const KEY_END_MAX = 6;

export function columnsOf(keys: readonly KeyColumn[]): RunColumn[] {
  const chosen = keys.map((column) =>
    helper.display({
      id: look(column.field, 104, column.field, true, column.kind),
      header: () => <Name value={column.key} endMax={KEY_END_MAX} />,
      cell: ({ row }) => <KeyCell run={row.original} column={column} />,
    }),
  );
  return [...fixedColumns, ...chosen, ...lastColumns] as RunColumn[];
}

function NameCell({ run }: { run: Run }): ReactNode {
  return (
    <span className="tk-name-cell">
      <RunLink project={run.project} uid={run.uid} label={run.name ?? run.id} />
      {run.name !== undefined && run.name !== run.id && (
        <span className="tk-third">{visibleText(run.id, 40)}</span>
      )}
      {run.dropped > 0 && <span className="tk-tone-error">{texts.lost(run.dropped)}</span>}
    </span>
  );
}

function KeyCell({ run, column }: { run: Run; column: KeyColumn }): ReactNode {
  const value: Json | undefined = (column.kind === "config" ? run.config : run.metrics).get(column.key);
  const metric = column.kind === "metrics" ? numberOf(value) : undefined;
  return metric === undefined ? <Value value={value} /> : <Num value={metric} />;
}

export function Tags({ tags }: { tags: readonly string[] }): ReactNode {
  return tags.map((tag) => (
    <span className="tk-tag" key={tag}>
      {visibleText(tag, 40)}
    </span>
  ));
}
