// SPDX-License-Identifier: MIT
import type { ReactNode } from "react";
import type { ConsoleLine } from "../../api/types";
import { texts } from "../../texts";
import { ansiSpans } from "../../ui/ansi";
import { formatBytes, formatClock, formatTime } from "../../ui/format";
import { visibleText } from "../../ui/visible_text";

const CHARACTERS_MAX = 10_000;

interface LogLineProps {
  line: ConsoleLine;
  showTime: boolean;
  showRank: boolean;
}

export function LogLine({ line, showTime, showRank }: LogLineProps): ReactNode {
  return (
    <div className={`tk-line ${line.stream === "stderr" ? "tk-line-stderr" : ""}`}>
      {showTime && (
        <time className="tk-line-time" title={formatTime(line.time_us)}>
          {formatClock(line.time_us)}
        </time>
      )}
      {showRank && <span className="tk-line-rank">{line.rank}</span>}
      <span className="tk-line-text">
        {ansiSpans(line.text).map((span, index) => (
          <span key={index} className={span.classes}>
            {visibleText(span.text, CHARACTERS_MAX)}
          </span>
        ))}
        {line.updates > 0 && <span className="tk-third"> {texts.logs.updates(line.updates)}</span>}
        {line.cut_bytes > 0 && (
          <span className="tk-tone-warn"> {texts.logs.cut(formatBytes(line.cut_bytes))}</span>
        )}
      </span>
    </div>
  );
}
