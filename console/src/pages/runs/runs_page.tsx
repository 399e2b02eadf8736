// SPDX-License-Identifier: MIT
// The runs of a project: filter, order and columns are in the address.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState, type ReactNode, type SubmitEvent } from "react";
import { fromSegment } from "../../state/address";
import { runsQuery } from "../../state/queries";
import { texts } from "../../texts";
import { Loaded } from "../../ui/loaded";
import { FirstLines } from "../../ui/first_lines";
import { ProjectLink } from "../../ui/links";
import { Empty } from "../../ui/notes";
import { Shell } from "../../ui/shell";
import { ColumnChooser } from "./column_chooser";
import type { RunsSearch } from "./runs_search";
import { PAGE_ROWS, RunsTable } from "./runs_table";
import { useKeyColumns } from "./use_key_columns";

/** How many of the newest runs are read to find columns. */
const RUNS_FOR_COLUMNS = 3;

export function RunsPage(): ReactNode {
  const { project: segment } = useParams({ from: "/p/$project" });
  const project = fromSegment(segment);
  const search = useSearch({ from: "/p/$project" });
  const navigate = useNavigate({ from: "/p/$project" });
  const change = (next: Partial<RunsSearch>): void => {
    void navigate({ search: (before) => ({ ...before, ...next }) });
  };
  const shared = { project, where: search.q ?? "", sort: search.sort ?? "" };
  const newest = useQuery(
    runsQuery({ project, where: "", sort: "", columns: "", offset: 0, limit: RUNS_FOR_COLUMNS }),
  );
  const columns = useKeyColumns(newest.data?.runs.map((run) => run.uid) ?? [], search.cols);
  const query = { ...shared, columns: columns.shown.map((column) => column.field).join(",") };
  const first = useQuery(runsQuery({ ...query, offset: 0, limit: PAGE_ROWS }));

  return (
    <Shell title={project} crumbs={[<ProjectLink key="p" project={project} />]}>
      <main className="tk-page tk-page-full">
        <nav className="tk-tabs" aria-label={project}>
          <Link
            to="/p/$project"
            params={{ project: segment }}
            activeOptions={{ exact: true, includeSearch: false }}
          >
            {texts.runs.title}
          </Link>
          <Link to="/p/$project/artifacts" params={{ project: segment }}>
            {texts.runs.artifacts}
          </Link>
        </nav>
        <div className="tk-toolbar">
          <FilterForm key={search.q ?? ""} q={search.q ?? ""} onFilter={(q) => change({ q })} />
          <span className="tk-third" data-total={first.data?.total}>
            {first.data ? texts.runs.total(first.data.total) : ""}
          </span>
          <ColumnChooser columns={columns} onChange={(cols) => change({ cols })} />
        </div>
        <Loaded query={first} what={texts.runs.title}>
          {({ runs, total }) =>
            total > 0 ? (
              <RunsTable
                query={query}
                firstPage={runs}
                isWaiting={first.isPlaceholderData}
                keys={columns.shown}
                total={total}
                onSort={(sort) => change({ sort })}
              />
            ) : search.q === undefined ? (
              <Empty title={texts.runs.empty}>
                <FirstLines project={project} />
              </Empty>
            ) : (
              <Empty title={texts.runs.none}>
                <button type="button" onClick={() => change({ q: undefined })}>
                  {texts.runs.clear}
                </button>
              </Empty>
            )
          }
        </Loaded>
      </main>
    </Shell>
  );
}

function FilterForm({ q, onFilter }: { q: string; onFilter: (q: string | undefined) => void }): ReactNode {
  const [text, setText] = useState(q);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    onFilter(text.trim() || undefined);
  };
  return (
    <form className="tk-filter" onSubmit={submit} role="search">
      <input
        type="search"
        placeholder={texts.runs.filter}
        aria-label={texts.runs.filter}
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          if (event.target.value === "") onFilter(undefined);
        }}
      />
      <button type="submit">{texts.runs.apply}</button>
    </form>
  );
}
