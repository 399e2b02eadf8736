// SPDX-License-Identifier: MIT
// Charts request their series one by one; requests within one turn of the event loop are sent to the server in few
// requests.

import { readSeries, type SeriesQuery } from "../api/calls";
import type { Series } from "../api/series";

export interface SeriesRequest extends Omit<SeriesQuery, "runs" | "keys" | "ranks"> {
  run: string;
  key: string;
  rank?: number | undefined;
}

interface Waiting {
  request: SeriesRequest;
  signal: AbortSignal;
  resolve: (series: Series) => void;
  reject: (reason: unknown) => void;
}

/** So many metrics a request, and so many series: few enough that the first charts are drawn while others are on their way. */
const KEYS_MAX = 12;
const SERIES_MAX = 96;

let waiting: Waiting[] = [];

export function loadSeries(request: SeriesRequest, signal: AbortSignal): Promise<Series> {
  return new Promise((resolve, reject) => {
    if (waiting.length === 0) setTimeout(sendWaiting);
    waiting.push({ request, signal, resolve, reject });
  });
}

function sendWaiting(): void {
  const groups = new Map<string, Waiting[]>();
  for (const one of waiting) {
    const { run, rank, x, lo, hi, pixels } = one.request;
    const name = JSON.stringify([run, rank !== undefined, x, lo, hi, pixels]);
    const group = groups.get(name);
    if (group) group.push(one);
    else groups.set(name, [one]);
  }
  waiting = [];
  for (const group of groups.values()) {
    const keys = [...new Set(group.map((one) => one.request.key))];
    const ranks = new Set(group.map((one) => one.request.rank)).size;
    const keysMax = Math.max(1, Math.min(KEYS_MAX, Math.floor(SERIES_MAX / ranks)));
    for (let i = 0; i < keys.length; i += keysMax) {
      const part = new Set(keys.slice(i, i + keysMax));
      void sendGroup(group.filter((one) => part.has(one.request.key)));
    }
  }
}

async function sendGroup(group: Waiting[]): Promise<void> {
  const one = group[0];
  if (!one) return;
  const { run, x, lo, hi, pixels } = one.request;
  const abort = new AbortController();
  // The request is aborted when no chart waits for any part of it.
  const onAbort = (): void => {
    if (group.every((each) => each.signal.aborted)) abort.abort();
  };
  for (const each of group) each.signal.addEventListener("abort", onAbort);
  onAbort();
  try {
    const keys = [...new Set(group.map((each) => each.request.key))];
    const ranks = [...new Set(group.flatMap((each) => each.request.rank ?? []))];
    const asked = { runs: [run], keys, ...(ranks.length > 0 ? { ranks } : {}), x, lo, hi, pixels };
    const answer = await readSeries(asked, abort.signal);
    for (const each of group) {
      const { key, rank } = each.request;
      const found = answer.find((series) => series.key === key && series.rank === rank);
      if (found) each.resolve(found);
      else each.reject(new Error(`The server's answer lacks ${each.request.key}.`));
    }
  } catch (error) {
    for (const each of group) each.reject(error);
  } finally {
    for (const each of group) each.signal.removeEventListener("abort", onAbort);
  }
}
