// SPDX-License-Identifier: MIT
// The output of the run: every line can be reached, and only those in view are requested.

import { useQueries, useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type ReactNode } from "react";
import type { ConsoleLine, RunDetail } from "../../api/types";
import { consoleQuery } from "../../state/queries";
import { texts } from "../../texts";
import { Loaded } from "../../ui/loaded";
import { Empty } from "../../ui/notes";
import { LogLine } from "./log_line";

const PAGE_LINES = 1000;
const LINE_PX = 20;
const OVERSCAN_LINES = 30;
/** A scroll position within so many pixels of the end follows it. */
const END_PX = 40;

type Stream = "" | "stdout" | "stderr";

export function LogsTab({ run }: { run: RunDetail }): ReactNode {
  const [stream, setStream] = useState<Stream>("");
  const [rank, setRank] = useState<number>();
  const [showTime, setShowTime] = useState(true);
  const filter = { ...(stream ? { stream } : {}), ...(rank !== undefined ? { rank } : {}) };
  const query = useQuery(consoleQuery(run.uid, { ...filter, limit: 1 }));
  return (
    <>
      <div className="tk-toolbar">
        <label className="tk-field">
          {texts.logs.stream}
          <select
            value={stream}
            onChange={(event) => {
              setStream(event.target.value as Stream);
            }}
          >
            <option value="">{texts.logs.both}</option>
            <option value="stdout">stdout</option>
            <option value="stderr">stderr</option>
          </select>
        </label>
        {run.ranks > 1 && (
          <label className="tk-field">
            {texts.logs.rank}
            <select
              value={rank ?? ""}
              onChange={(event) => {
                setRank(event.target.value === "" ? undefined : Number(event.target.value));
              }}
            >
              <option value="">{texts.logs.allRanks}</option>
              {Array.from({ length: run.ranks }, (_, index) => (
                <option key={index} value={index}>
                  {index}
                </option>
              ))}
            </select>
          </label>
        )}
        <label className="tk-field">
          <input
            type="checkbox"
            checked={showTime}
            onChange={(event) => {
              setShowTime(event.target.checked);
            }}
          />
          {texts.logs.times}
        </label>
        {query.data && (
          <span className="tk-third" data-total={query.data.total}>
            {texts.logs.total(query.data.total)}
          </span>
        )}
      </div>
      <Loaded query={query} what={texts.run.tabs.logs}>
        {({ total }) =>
          total === 0 ? (
            <Empty title={texts.logs.empty} />
          ) : (
            <Lines key={JSON.stringify(filter)} run={run} filter={filter} total={total} showTime={showTime} />
          )
        }
      </Loaded>
    </>
  );
}

interface LinesProps {
  run: RunDetail;
  filter: { stream?: string; rank?: number };
  total: number;
  showTime: boolean;
}

function Lines({ run, filter, total, showTime }: LinesProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);

  const virtual = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: OVERSCAN_LINES,
    initialOffset: total * LINE_PX, // the last lines are asked for first
  });
  const items = virtual.getVirtualItems();
  const lines = useLines(run.uid, filter, items[0]?.index ?? 0, items.at(-1)?.index ?? 0);
  const toEnd = (): void => {
    virtual.scrollToIndex(total - 1, { align: "end" });
    setAtEnd(true);
  };
  useEffect(() => {
    if (isAtEnd) virtual.scrollToIndex(total - 1, { align: "end" });
    // New lines move the view only if it was at the end.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [total]);
  return (
    <div className="tk-log-frame">
      <div
        className="tk-log"
        ref={scroller}
        role="log"
        aria-live="off"
        aria-label={texts.logs.list}
        tabIndex={0}
        onScroll={(event) => {
          const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
          setAtEnd(scrollHeight - scrollTop - clientHeight < END_PX);
        }}
      >
        <div className="tk-log-body" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const line = lines.get(item.index);
            return (
              <div key={item.key} className="tk-log-row" style={{ transform: `translateY(${item.start}px)` }}>
                <span className="tk-line-number">{(item.index + 1).toLocaleString("en")}</span>
                {line && <LogLine line={line} showTime={showTime} showRank={run.ranks > 1} />}
              </div>
            );
          })}
        </div>
      </div>
      {!isAtEnd && (
        <button type="button" className="tk-to-end" onClick={toEnd}>
          {texts.logs.toEnd}
        </button>
      )}
    </div>
  );
}

/** The lines of the pages that [first, last] are on, by their index. */
function useLines(
  uid: string,
  filter: LinesProps["filter"],
  first: number,
  last: number,
): Map<number, ConsoleLine> {
  const start = Math.floor(first / PAGE_LINES);
  const pages = Array.from(
    { length: Math.floor(last / PAGE_LINES) - start + 1 },
    (_, i) => (start + i) * PAGE_LINES,
  );
  return useQueries({
    // A key that changed with the total would show empty lines until the answer.
    queries: pages.map((after) => consoleQuery(uid, { ...filter, after, limit: PAGE_LINES })),
    combine: (results) => {
      const lines = new Map<number, ConsoleLine>();
      results.forEach((result, page) => {
        result.data?.lines.forEach((line, index) => lines.set((pages[page] ?? 0) + index, line));
      });
      return lines;
    },
  });
}
