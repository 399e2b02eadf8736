// SPDX-License-Identifier: MIT
// The rows of a project: pages of 200 by offset, of which those in view are requested, so the scroll bar is right at any
// number of runs.

import { useQueries } from "@tanstack/react-query";
import { useTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, type ReactNode } from "react";
import type { RunsQuery } from "../../api/calls";
import type { Run } from "../../api/types";
import { runsQuery } from "../../state/queries";
import { texts } from "../../texts";
import { columnsOf, features, lookOf, type KeyColumn } from "./columns";
import { nextSort } from "./runs_search";

export const PAGE_ROWS = 200;
const ROW_PX = 32;
const OVERSCAN_ROWS = 12;

interface RunsTableProps {
  query: Omit<RunsQuery, "offset" | "limit">;
  /** Rows 0 to 199. Of another query while those of `query` are on their way: a click on a row is never lost. */
  firstPage: readonly Run[];
  isWaiting: boolean;
  keys: readonly KeyColumn[];
  total: number;
  onSort: (sort: string | undefined) => void;
}

export function RunsTable({ query, firstPage, isWaiting, keys, total, onSort }: RunsTableProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);

  const virtual = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN_ROWS,
  });
  const items = virtual.getVirtualItems();
  const rows = useRows(query, firstPage, items[0]?.index ?? 0, items.at(-1)?.index ?? 0);
  const columns = useMemo(() => columnsOf(keys), [keys]);
  const shown = useMemo(() => [...rows.values()], [rows]);
  const table = useTable({ features, data: shown, columns, getRowId: (run: Run) => run.uid });
  const byUid = new Map(table.getRowModel().rows.map((row) => [row.id, row]));
  const width = columns.reduce((sum, column) => sum + lookOf(column.id ?? "").width, 0);

  return (
    <div
      className="tk-grid"
      role="table"
      aria-label={texts.runs.table}
      aria-rowcount={total + 1}
      aria-busy={isWaiting}
      ref={scroller}
      tabIndex={0}
    >
      <div className="tk-grid-head" role="rowgroup" style={{ minWidth: width }}>
        {table.getHeaderGroups().map((group) => (
          <div role="row" className="tk-grid-row" aria-rowindex={1} key={group.id}>
            {group.headers.map((header) => (
              <HeaderCell key={header.id} id={header.id} sort={query.sort} onSort={onSort}>
                <table.FlexRender header={header} />
              </HeaderCell>
            ))}
          </div>
        ))}
      </div>
      <div
        role="rowgroup"
        className="tk-grid-body"
        style={{ height: virtual.getTotalSize(), minWidth: width }}
      >
        {items.map((item) => {
          const run = rows.get(item.index);
          const row = run && byUid.get(run.uid);
          return (
            <div
              role="row"
              className="tk-grid-row"
              key={item.key}
              aria-rowindex={item.index + 2}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {row?.getAllCells().map((cell) => {
                const { width, isNumber } = lookOf(cell.column.id);
                return (
                  <div
                    role="cell"
                    key={cell.id}
                    className={cellClass(cell.column.id, isNumber)}
                    style={{ width }}
                  >
                    <table.FlexRender cell={cell} />
                  </div>
                );
              })}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const cellClass = (id: string, isNumber: boolean): string =>
  `tk-cell${isNumber ? " tk-number" : ""}${id === "name" ? " tk-cell-name" : ""}`;

interface HeaderCellProps {
  id: string;
  sort: string;
  onSort: (sort: string | undefined) => void;
  children: ReactNode;
}

function HeaderCell({ id, sort, onSort, children }: HeaderCellProps): ReactNode {
  const { width, isNumber, field, kind } = lookOf(id);
  const direction = sort === field ? "ascending" : sort === `-${field}` ? "descending" : "none";
  return (
    <div role="columnheader" className={cellClass(id, isNumber)} style={{ width }} aria-sort={direction}>
      <button
        type="button"
        className="tk-sort"
        title={field}
        onClick={() => {
          if (field !== undefined) onSort(nextSort(sort || undefined, field));
        }}
      >
        {kind === "config" && <span className="tk-third">⚙</span>}
        <span className="tk-sort-label">{children}</span>
        {direction !== "none" && <span aria-hidden="true">{direction === "ascending" ? "▲" : "▼"}</span>}
      </button>
    </div>
  );
}

/** The runs of the pages that rows [firstRow, lastRow] are on, by their index. */
function useRows(
  query: RunsTableProps["query"],
  firstPage: readonly Run[],
  firstRow: number,
  lastRow: number,
) {
  const start = Math.max(1, Math.floor(firstRow / PAGE_ROWS));
  const end = Math.floor(lastRow / PAGE_ROWS);
  const offsets = Array.from({ length: Math.max(0, end - start + 1) }, (_, i) => (start + i) * PAGE_ROWS);
  return useQueries({
    queries: offsets.map((offset) => runsQuery({ ...query, offset, limit: PAGE_ROWS })),
    combine: (results) => {
      const rows = new Map<number, Run>(firstPage.entries());
      results.forEach((result, page) => {
        result.data?.runs.forEach((run, index) => rows.set((offsets[page] ?? 0) + index, run));
      });
      return rows;
    },
  });
}
