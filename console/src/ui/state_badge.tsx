// SPDX-License-Identifier: MIT
// The state of a run as a sign, a word and a colour, so that the colour alone has no meaning.

import type { ReactNode } from "react";
import { visibleText } from "./visible_text";

const SIGNS: Record<string, [sign: string, tone: string]> = {
  running: ["●", "accent"],
  finished: ["✓", "ok"],
  failed: ["✕", "error"],
  crashed: ["✕", "error"],
  damaged: ["✕", "error"],
  interrupted: ["■", "warn"],
  preempted: ["■", "warn"],
  "lost contact": ["?", "warn"],
  stalled: ["‖", "warn"],
};

export function StateBadge({ state }: { state: string }): ReactNode {
  const [sign, tone] = SIGNS[state] ?? ["·", "second"];
  return (
    <span className={`tk-state tk-tone-${tone}`} data-state={state}>
      <span aria-hidden="true" className="tk-state-sign">
        {sign}
      </span>
      {visibleText(state)}
    </span>
  );
}
