// SPDX-License-Identifier: MIT
// A nested value as a tree with search and copy.

import { useMemo, useState, type ReactNode } from "react";
import type { Json } from "../api/check";
import { texts } from "../texts";
import { CopyButton } from "./copy_button";
import { formatJson } from "./format";
import { Empty } from "./notes";
import { Text, Value } from "./text";

type Entries = ReadonlyMap<string, Json>;

export function Tree({ title, entries }: { title: string; entries: Entries }): ReactNode {
  const [search, setSearch] = useState("");
  const found = useMemo(() => matching(entries, search.trim().toLowerCase()), [entries, search]);
  return (
    <section className="tk-panel" aria-label={title}>
      <header className="tk-panel-head">
        <h2>{title}</h2>
        <input
          type="search"
          placeholder={texts.config.search}
          aria-label={texts.config.search}
          value={search}
          onChange={(event) => {
            setSearch(event.target.value);
          }}
        />
        <CopyButton text={() => JSON.stringify(Object.fromEntries(entries), undefined, 2)} />
      </header>
      {entries.size === 0 ? (
        <Empty title={texts.config.empty} />
      ) : found.size === 0 ? (
        <Empty title={texts.config.noneMatch} />
      ) : (
        <Branch entries={found} depth={0} />
      )}
    </section>
  );
}

function Branch({ entries, depth }: { entries: Entries; depth: number }): ReactNode {
  return (
    <dl className="tk-tree">
      {[...entries].map(([key, value]) => (
        <div key={key} className={`tk-tree-row tk-depth-${Math.min(depth, 6)}`}>
          <dt title={key}>
            <Text value={key} />
          </dt>
          {isBranch(value) ? (
            <dd className="tk-tree-branch">
              <Branch entries={new Map(Object.entries(value))} depth={depth + 1} />
            </dd>
          ) : (
            <dd className={`tk-value tk-type-${typeof value}`}>
              <Value value={value} />
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}

const isBranch = (value: Json): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;

/** The entries whose key or value has the text, with the branches that lead to them. */
export function matching(entries: Entries, search: string): Entries {
  if (search === "") return entries;
  const found = new Map<string, Json>();
  for (const [key, value] of entries) {
    if (key.toLowerCase().includes(search)) found.set(key, value);
    else if (isBranch(value)) {
      const below = matching(new Map(Object.entries(value)), search);
      if (below.size > 0) found.set(key, Object.fromEntries(below));
    } else if (formatJson(value).toLowerCase().includes(search)) found.set(key, value);
  }
  return found;
}
