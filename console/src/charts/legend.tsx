// SPDX-License-Identifier: MIT
// The lines of a chart by rank: eight colours, each solid, dashed and dotted.

import type { ReactNode, RefObject } from "react";
import { texts } from "../texts";
import { SERIES_COUNT } from "./colors";
import type { Line } from "./use_trace";

const DASHES = [
  { dash: [], border: "solid" },
  { dash: [6, 4], border: "dashed" },
  { dash: [2, 3], border: "dotted" },
] as const;
/** As many lines as can be told apart. */
export const RANKS_MAX = SERIES_COUNT * DASHES.length;

export const ranksDrawn = (ranks: readonly number[]): readonly number[] => ranks.slice(0, RANKS_MAX);

const dashOf = (rank: number) => DASHES[Math.floor(rank / SERIES_COUNT) % DASHES.length] ?? DASHES[0];

/** A rank looks the same in every chart. */
export const styleOf = (rank: number): { color: number; dash: readonly number[] } => ({
  color: rank % SERIES_COUNT,
  dash: dashOf(rank).dash,
});

interface LegendProps {
  lines: readonly Line[];
  /** The last element of each of its children is for the line's value. */
  values: RefObject<HTMLUListElement | null>;
}

export function Legend({ lines, values }: LegendProps): ReactNode {
  return (
    <ul className="tk-chart-legend" ref={values}>
      {lines.map(({ rank = 0 }) => (
        <li key={rank}>
          <span
            className="tk-swatch"
            style={{ borderTop: `2px ${dashOf(rank).border} var(--series-${styleOf(rank).color + 1})` }}
          />
          {texts.run.rank(rank)}
          <span className="tk-chart-value" />
        </li>
      ))}
    </ul>
  );
}
