// SPDX-License-Identifier: MIT
// The environment of the run, part by part, and its processes.

import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import type { Json } from "../../api/check";
import type { RunDetail } from "../../api/types";
import { environmentQuery } from "../../state/queries";
import { texts } from "../../texts";
import { formatBytes, formatTime } from "../../ui/format";
import { Loaded } from "../../ui/loaded";
import { Empty } from "../../ui/notes";
import { Panel } from "../../ui/panel";
import { Value } from "../../ui/text";
import { visibleText } from "../../ui/visible_text";

const ORDER = [
  "host",
  "container",
  "gpu",
  "gpu_problem",
  "python",
  "git",
  "command",
  "launcher",
  "variables",
  "diff",
];
type Facts = { [key: string]: Json };

export function EnvironmentTab({ run }: { run: RunDetail }): ReactNode {
  const query = useQuery(environmentQuery(run.uid));
  return (
    <Loaded query={query} what={texts.run.tabs.env}>
      {(parts) => {
        const names = Object.keys(parts).sort((a, b) => place(a) - place(b));
        if (names.length === 0) return <Empty title={texts.environment.empty} />;
        return (
          <>
            <div className="tk-cards">
              {names.map((name) => (
                <Part key={name} name={name} value={parts[name] ?? null} />
              ))}
            </div>
            <Processes writers={run.writers} />
          </>
        );
      }}
    </Loaded>
  );
}

const place = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);

const isFacts = (value: Json | undefined): value is Facts =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function Part({ name, value }: { name: string; value: Json }): ReactNode {
  if (!isFacts(value)) return null;
  const { packages, devices, text, ...plain } = value;
  return (
    <Panel title={texts.environment.parts[name] ?? visibleText(name)}>
      <FactList facts={plain} />
      {Array.isArray(devices) &&
        devices.map((device, index) => isFacts(device) && <FactList key={index} facts={device} />)}
      {typeof text === "string" && <pre className="tk-diff">{visibleText(text, 200_000)}</pre>}
      {isFacts(packages) && <Packages packages={packages} />}
    </Panel>
  );
}

function FactList({ facts }: { facts: Facts }): ReactNode {
  return (
    <dl className="tk-facts">
      {Object.entries(facts).map(([key, value]) => (
        <div key={key}>
          <dt>{visibleText(key.replaceAll("_bytes", "").replaceAll("_", " "))}</dt>
          <dd>
            {key.endsWith("_bytes") && typeof value === "number" ? (
              formatBytes(value)
            ) : (
              <Value value={value} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Packages({ packages }: { packages: Facts }): ReactNode {
  const [search, setSearch] = useState("");
  const all = Object.entries(packages);
  const found = all.filter(([name]) => name.toLowerCase().includes(search.toLowerCase()));
  return (
    <details className="tk-packages">
      <summary>{texts.environment.packages(all.length)}</summary>
      <input
        type="search"
        placeholder={texts.environment.findPackage}
        aria-label={texts.environment.findPackage}
        value={search}
        onChange={(event) => {
          setSearch(event.target.value);
        }}
      />
      <FactList facts={Object.fromEntries(found)} />
    </details>
  );
}

const PROCESS_FIELDS = [
  "attempt",
  "rank",
  "host",
  "pid",
  "state",
  "started_us",
  "ended_us",
  "points",
  "dropped",
];

const NUMBERS = new Set(["attempt", "rank", "pid", "points", "dropped"]);

function Processes({ writers }: { writers: readonly Json[] }): ReactNode {
  const rows = writers.filter(isFacts);
  return (
    <Panel title={texts.environment.writers}>
      <table className="tk-table">
        <thead>
          <tr>
            {PROCESS_FIELDS.map((field) => (
              <th key={field} className={NUMBERS.has(field) ? "tk-number" : ""}>
                {field.replace("_us", "")}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {PROCESS_FIELDS.map((field) => {
                const value = row[field] ?? undefined;
                return (
                  <td key={field} className={NUMBERS.has(field) ? "tk-number" : ""}>
                    {field.endsWith("_us") && typeof value === "number" ? (
                      formatTime(value)
                    ) : field === "pid" ? (
                      String(Number(value))
                    ) : (
                      <Value value={value} />
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
