// SPDX-License-Identifier: MIT
// One function for each route of docs/formats/http.md that the console reads.

import { list, real, shape, type Check, type Json } from "./check";
import { apiUrl, getJson, postForBytes, postJson } from "./http";
import { decodeSeries, type Series } from "./series";
import * as types from "./types";
import type { XAxis } from "./x_axis";

type Query = Record<string, string | number | undefined>;

async function read<T>(path: string, query: Query, check: Check<T>, signal?: AbortSignal): Promise<T> {
  return check(await getJson(apiUrl(path, query), signal), path);
}

export const readProjects = async (signal?: AbortSignal): Promise<types.Project[]> =>
  (await read("projects", {}, shape({ projects: list(types.project) }), signal)).projects;

export const readServer = (signal?: AbortSignal): Promise<types.ServerInfo> =>
  read("server", {}, types.serverInfo, signal);

export interface RunsQuery {
  project: string;
  where: string;
  sort: string;
  columns: string;
  offset: number;
  limit: number;
}
export type RunsPage = { total: number; runs: types.Run[] };

export const readRuns = (query: RunsQuery, signal?: AbortSignal): Promise<RunsPage> =>
  read("runs", { ...query }, shape({ total: real, runs: list(types.run) }), signal);

export const readRun = (uid: string, signal?: AbortSignal): Promise<types.RunDetail> =>
  read(`runs/${uid}`, {}, types.runDetail, signal);

const LIST_LIMIT = 1000;
const FILES_LIMIT = 10_000;

/** All series of a run below a prefix, in pages; by key, numbers in keys by their size. */
export async function readSeriesList(
  uid: string,
  prefix: string,
  signal?: AbortSignal,
): Promise<types.SeriesInfo[]> {
  const check = shape({ total: real, series: list(types.seriesInfo) });
  const found: types.SeriesInfo[] = [];
  for (;;) {
    const page = await read(
      `runs/${uid}/series`,
      { prefix, offset: found.length, limit: LIST_LIMIT },
      check,
      signal,
    );
    found.push(...page.series);
    if (page.series.length === 0 || found.length >= page.total) return found.sort(byKey);
  }
}

/** layer2 comes before layer10. */
const NATURAL = new Intl.Collator("en", { numeric: true });
const byKey = (a: types.SeriesInfo, b: types.SeriesInfo): number => NATURAL.compare(a.key, b.key);

export interface SeriesQuery {
  runs: string[];
  keys: string[];
  /** One series for each of them, instead of one of the resolved rows. */
  ranks?: number[];
  x: XAxis;
  lo: string | null;
  hi: string | null;
  pixels: number;
}

export const readSeries = async (query: SeriesQuery, signal: AbortSignal): Promise<Series[]> =>
  decodeSeries(await postForBytes("series", query, signal));

export interface ConsoleQuery {
  stream?: string | undefined;
  rank?: number | undefined;
  /** The index of the first line; without one the last lines. */
  after?: number;
  limit: number;
}
export type ConsolePage = { lines: types.ConsoleLine[]; total: number };

export const readConsole = (uid: string, query: ConsoleQuery, signal?: AbortSignal): Promise<ConsolePage> =>
  read(`runs/${uid}/console`, { ...query }, shape({ lines: list(types.consoleLine), total: real }), signal);

export const readEnvironment = async (uid: string, signal?: AbortSignal): Promise<Record<string, Json>> =>
  (await getJson(apiUrl(`runs/${uid}/environment`), signal)) as Record<string, Json>;

export async function readMedia(uid: string, signal?: AbortSignal): Promise<types.Medium[]> {
  const check = shape({ total: real, media: list(types.medium) });
  const found: types.Medium[] = [];
  for (;;) {
    const page = await read(`runs/${uid}/media`, { offset: found.length, limit: LIST_LIMIT }, check, signal);
    found.push(...page.media);
    if (page.media.length === 0 || found.length >= page.total) return found;
  }
}

export const mediaUrl = (uid: string, digest: string, ext: string): string =>
  apiUrl(`runs/${uid}/media/${digest}.${ext}`);

export const blobUrl = (project: string, digest: string, name: string): string =>
  apiUrl(`blobs/${digest}`, { project, name });

export const readArtifacts = async (
  project: string,
  signal?: AbortSignal,
): Promise<types.ArtifactSummary[]> =>
  (await read("artifacts", { project }, shape({ artifacts: list(types.artifactSummary) }), signal)).artifacts;

export const readArtifact = (
  project: string,
  name: string,
  version: string,
  signal?: AbortSignal,
): Promise<types.ArtifactVersion> =>
  read("artifacts/version", { project, name, version, limit: FILES_LIMIT }, types.artifactVersion, signal);

export const readChanges = (cursor: string | undefined, signal?: AbortSignal): Promise<types.Changes> =>
  read("changes", { cursor }, types.changes, signal);

export const login = async (secret: { token: string } | { code: string }): Promise<void> => {
  types.session(await postJson("login", secret), "login");
};

export const logout = async (): Promise<void> => {
  await postJson("logout", {});
};
