// SPDX-License-Identifier: MIT
// Values from runs as text, never as HTML.

import type { ReactNode } from "react";
import type { Json, Whole } from "../api/check";
import { useNow } from "../state/clock";
import { formatAge, formatJson, formatNumber, formatTime, fullNumber } from "./format";
import { visibleText } from "./visible_text";

export function Text({ value, max }: { value: string; max?: number }): ReactNode {
  const shown = visibleText(value, max);
  return shown === value ? shown : <span title={visibleText(value, 2000)}>{shown}</span>;
}

export function Num({ value }: { value: Whole | undefined }): ReactNode {
  if (value === undefined) return <span className="tk-third">–</span>;
  return <span title={fullNumber(value)}>{formatNumber(value)}</span>;
}

/** A value of a config or summary in one line. */
export function Value({ value }: { value: Json | undefined }): ReactNode {
  if (value === undefined || value === null)
    return <span className="tk-third">{value === null ? "null" : "–"}</span>;
  if (typeof value === "number") return <Num value={value} />;
  return <Text value={formatJson(value)} />;
}

/** How long ago, with the time on hover. */
export function Age({ us }: { us: number | undefined }): ReactNode {
  const now = useNow();
  if (us === undefined || us === 0) return <span className="tk-third">–</span>;
  return (
    <time title={formatTime(us)} dateTime={new Date(us / 1000).toISOString()}>
      {formatAge(us, now)}
    </time>
  );
}
