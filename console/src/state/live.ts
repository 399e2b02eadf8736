// SPDX-License-Identifier: MIT
// Polls which runs have changed: every 2 s while the tab is visible, at once when it becomes visible, not at all while
// hidden. After an error the pauses grow to 30 s, with jitter.

import type { QueryClient } from "@tanstack/react-query";
import { readChanges } from "../api/calls";
import { ApiError, mayPass } from "../api/http";
import { Store } from "./store";

const PERIOD_MS = 2000;
const PAUSE_MS_MAX = 30_000;
/** A query that has failed is sent again after so long. */
const FAILED_AGAIN_MS = 10_000;

/** ok: the last poll was answered. stale: polls fail, what is shown is from updatedMs. off: no polling. */
export interface Live {
  state: "off" | "ok" | "stale" | "no_access";
  updatedMs: number;
}

export const live = new Store<Live>({ state: "off", updatedMs: 0 });

/** How long to wait after `failures` failed polls in a row; random is from 0 to 1. */
export function pauseMs(failures: number, random: number): number {
  if (failures === 0) return PERIOD_MS;
  const longest = Math.min(PAUSE_MS_MAX, PERIOD_MS * 2 ** failures);
  return longest / 2 + (longest / 2) * random;
}

/** Kept from page to page of the console: what changes while one page replaces another is not missed. */
let cursor: string | undefined;

export function startPolling(client: QueryClient): () => void {
  let failures = 0;
  let timer: number | undefined;
  let stopped = false;
  let asking = false;

  const schedule = (delayMs: number): void => {
    window.clearTimeout(timer);
    if (!stopped && !document.hidden) timer = window.setTimeout(() => void poll(), delayMs);
  };

  const poll = async (): Promise<void> => {
    if (asking) return;
    asking = true;
    const askedMs = Date.now();
    try {
      const answer = await readChanges(cursor);
      // After an outage a restarted server may not know the cursor: everything on the page is requested again.
      if (failures > 0) void client.invalidateQueries();
      else if (cursor !== undefined) invalidate(client, answer.runs, answer.projects);
      // A tab that was opened hidden has loaded its page long before this first poll, whose answer names no changes.
      else void client.invalidateQueries({ predicate: ({ state }) => state.dataUpdatedAt < askedMs });
      cursor = answer.cursor;
      failures = 0;
      void client.invalidateQueries({
        predicate: ({ state: { status, error, errorUpdatedAt } }) =>
          status === "error" && mayPass(error) && Date.now() - errorUpdatedAt > FAILED_AGAIN_MS,
      });
      live.set({ state: "ok", updatedMs: Date.now() });
      schedule(answer.more ? 0 : PERIOD_MS);
    } catch (error) {
      failures += 1;
      if (error instanceof ApiError && error.status === 400) cursor = undefined;
      const denied = error instanceof ApiError && (error.status === 401 || error.status === 403);
      live.set({ state: denied ? "no_access" : "stale", updatedMs: live.get().updatedMs });
      schedule(pauseMs(failures, Math.random()));
    } finally {
      asking = false;
    }
  };

  const onVisibility = (): void => {
    if (document.hidden) window.clearTimeout(timer);
    else schedule(0);
  };
  document.addEventListener("visibilitychange", onVisibility);
  schedule(0);
  return () => {
    stopped = true;
    window.clearTimeout(timer);
    document.removeEventListener("visibilitychange", onVisibility);
    live.set({ state: "off", updatedMs: 0 });
  };
}

/** Queries name what they show in their key: ["run", uid, …], ["runs", project, …], ["projects"], ["artifacts", …]. */
function invalidate(client: QueryClient, uids: readonly string[], projects: boolean): void {
  for (const uid of uids) void client.invalidateQueries({ queryKey: ["run", uid] });
  if (uids.length > 0 || projects) {
    void client.invalidateQueries({ queryKey: ["runs"] });
    void client.invalidateQueries({ queryKey: ["projects"] });
    void client.invalidateQueries({ queryKey: ["artifacts"] });
  }
}
