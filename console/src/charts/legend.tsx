// SPDX-License-Identifier: MIT
// The lines of a chart by rank: eight colours, each solid, dashed and dotted.

import type { ReactNode, RefObject } from "react";
import { texts } from "../texts";
import { SERIES_COUNT } from "./colors";
import type { Line } from "./use_trace";

/** Strokes and gaps in CSS pixels. */
const DASHES: readonly (readonly number[])[] = [[], [6, 4], [2, 3]];
/** How many lines can be distinguished. */
export const RANKS_MAX = SERIES_COUNT * DASHES.length;

export const ranksDrawn = (ranks: readonly number[]): readonly number[] => ranks.slice(0, RANKS_MAX);

/** A rank looks the same in every chart. */
export const styleOf = (rank: number): { color: number; dash: readonly number[] } => ({
  color: rank % SERIES_COUNT,
  dash: DASHES[Math.floor(rank / SERIES_COUNT) % DASHES.length] ?? [],
});

interface LegendProps {
  lines: readonly Line[];
  /** The last element of each of its children is for the line's value. */
  values: RefObject<HTMLUListElement | null>;
}

export function Legend({ lines, values }: LegendProps): ReactNode {
  return (
    <ul className="tk-chart-legend" ref={values}>
      {lines.map(({ rank = 0 }) => {
        const { color, dash } = styleOf(rank);
        return (
          <li key={rank}>
            <svg className="tk-swatch" aria-hidden="true" style={{ stroke: `var(--series-${color + 1})` }}>
              <line x2="16" y1="1" y2="1" strokeWidth="2" strokeDasharray={dash.join(" ")} />
            </svg>
            {texts.run.rank(rank)}
            <span className="tk-chart-value" />
          </li>
        );
      })}
    </ul>
  );
}
