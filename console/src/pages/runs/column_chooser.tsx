// SPDX-License-Identifier: MIT
import { useState, type ReactNode } from "react";
import { texts } from "../../texts";
import { Name } from "../../ui/name";
import type { KeyColumns } from "./use_key_columns";

interface ColumnChooserProps {
  columns: KeyColumns;
  onChange: (cols: string) => void;
}

export function ColumnChooser({ columns: { known, shown }, onChange }: ColumnChooserProps): ReactNode {
  const [search, setSearch] = useState("");
  const chosen = new Set(shown.map((column) => column.field));
  const found = known.filter((column) => column.field.toLowerCase().includes(search.toLowerCase()));
  const toggle = (field: string): void => {
    if (!chosen.delete(field)) chosen.add(field);
    onChange([...chosen].join(","));
  };
  return (
    <details className="tk-menu">
      <summary>{texts.runs.columns}</summary>
      <div className="tk-menu-panel">
        <input
          type="search"
          placeholder={texts.runs.searchColumns}
          aria-label={texts.runs.searchColumns}
          value={search}
          onChange={(event) => {
            setSearch(event.target.value);
          }}
        />
        {found.slice(0, 200).map((column) => (
          <label key={column.field}>
            <input
              type="checkbox"
              checked={chosen.has(column.field)}
              onChange={() => {
                toggle(column.field);
              }}
            />
            <span className="tk-third">{column.kind}</span> <Name value={column.key} />
          </label>
        ))}
      </div>
    </details>
  );
}
