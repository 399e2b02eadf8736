// SPDX-License-Identifier: MIT
// The time for components: updated every 5 s while the tab is visible.

import { useEffect } from "react";
import { Store, useStore } from "./store";

const PERIOD_MS = 5000;
const now = new Store(Date.now());
let watchers = 0;
let timer: number | undefined;

function tick(): void {
  if (!document.hidden) now.set(Date.now());
}

/** Milliseconds since 1970. */
export function useNow(): number {
  useEffect(() => {
    watchers += 1;
    timer ??= window.setInterval(tick, PERIOD_MS);
    return () => {
      watchers -= 1;
      if (watchers > 0) return;
      window.clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return useStore(now);
}
