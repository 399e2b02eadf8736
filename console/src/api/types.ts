// SPDX-License-Identifier: MIT
// The server's responses, as in docs/formats/http.md.

import {
  fallback,
  flag,
  json,
  list,
  map,
  number,
  optional,
  real,
  shape,
  text,
  type Check,
  type Checked,
  type Whole,
} from "./check";

/** uploads: false of `tracker ui`. */
export const serverInfo = shape({ uploads: fallback(flag, false) });
export type ServerInfo = Checked<typeof serverInfo>;

export const project = shape({ project: text, runs: real, running: real, last_us: optional(real) });
export type Project = Checked<typeof project>;

const runFields = {
  uid: text,
  id: text,
  project: text,
  name: optional(text),
  state: text,
  created_us: optional(real),
  started_us: optional(real),
  ended_us: optional(real),
  duration_s: optional(real),
  tags: fallback(list(text), []),
  group: optional(text),
  job_type: optional(text),
  notes: optional(text),
  host: optional(text),
  attempts: fallback(real, 1),
  ranks: fallback(real, 1),
  points: fallback(real, 0),
  dropped: fallback(real, 0),
  step: optional(number),
  last_us: optional(real),
  exit_code: optional(real),
  reason: optional(text),
};

export const run = shape({
  ...runFields,
  config: fallback(map(json), new Map<string, never>()),
  metrics: fallback(map(json), new Map<string, never>()),
});
export type Run = Checked<typeof run>;

export const use = shape({
  project: fallback(text, ""),
  name: text,
  type: fallback(text, ""),
  digest: text,
  use_as: optional(text),
});
export type Use = Checked<typeof use>;

export const runDetail = shape({
  ...runFields,
  config: fallback(map(json), new Map<string, never>()),
  summary: fallback(map(json), new Map<string, never>()),
  attributes: fallback(map(json), new Map<string, never>()),
  writers: fallback(list(json), []),
  inputs: fallback(list(use), []),
  outputs: fallback(list(use), []),
  losses: json,
  problems: fallback(list(text), []),
});
export type RunDetail = Checked<typeof runDetail>;

/** Of a metric: true is 1 and false is 0, as they are drawn. */
const measured: Check<Whole> = (value, path) =>
  typeof value === "boolean" ? Number(value) : number(value, path);

export const seriesInfo = shape({
  key: text,
  type: fallback(text, "float64"),
  points: real,
  dropped: fallback(real, 0),
  step_min: optional(number),
  step_max: optional(number),
  last: optional(measured),
  min: optional(measured),
  max: optional(measured),
  time_first_us: optional(real),
  time_last_us: optional(real),
  nan: fallback(real, 0),
  pos_inf: fallback(real, 0),
  neg_inf: fallback(real, 0),
});
export type SeriesInfo = Checked<typeof seriesInfo>;

export const consoleLine = shape({
  stream: text,
  rank: fallback(real, 0),
  line: real,
  time_us: real,
  text,
  updates: fallback(real, 0),
  cut_bytes: fallback(real, 0),
});
export type ConsoleLine = Checked<typeof consoleLine>;

export const medium = shape({
  key: text,
  step: optional(number),
  time_us: fallback(real, 0),
  kind: text,
  digest: optional(text),
  ext: fallback(text, "bin"),
  bytes: fallback(real, 0),
  caption: optional(text),
  text: optional(text),
  width: optional(real),
  height: optional(real),
});
export type Medium = Checked<typeof medium>;

export const artifactSummary = shape({
  name: text,
  type: fallback(text, ""),
  versions: real,
  latest: optional(real),
  aliases: fallback(map(real), new Map<string, never>()),
});
export type ArtifactSummary = Checked<typeof artifactSummary>;

const runReference = shape({
  uid: text,
  id: fallback(text, ""),
  name: optional(text),
  project: fallback(text, ""),
  state: optional(text),
});
export type RunReference = Checked<typeof runReference>;

export const artifactVersion = shape({
  project: fallback(text, ""),
  name: text,
  type: fallback(text, ""),
  number: real,
  digest: text,
  aliases: fallback(list(text), []),
  tags: fallback(list(text), []),
  bytes: optional(real),
  files_total: optional(real),
  created_us: optional(real),
  description: optional(text),
  metadata: json,
  files: list(
    shape({ path: text, bytes: fallback(real, 0), digest: fallback(text, ""), uri: optional(text) }),
  ),
  made_by: fallback(list(runReference), []),
  used_by: fallback(list(runReference), []),
  versions: fallback(
    list(
      shape({
        number: real,
        created_us: optional(real),
        bytes: fallback(real, 0),
        aliases: fallback(list(text), []),
      }),
    ),
    [],
  ),
});
export type ArtifactVersion = Checked<typeof artifactVersion>;
export type ArtifactFile = ArtifactVersion["files"][number];

export const changes = shape({
  cursor: text,
  runs: list(text),
  projects: fallback(flag, false),
  more: fallback(flag, false),
});
export type Changes = Checked<typeof changes>;

export const session = shape({ scopes: list(text), project: optional(text) });
