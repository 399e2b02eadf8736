// SPDX-License-Identifier: MIT
// Notes in place of missing data: loading, nothing, an error.

import { useEffect, useState, type ReactNode } from "react";
import { ApiError, OfflineError } from "../api/http";
import { texts } from "../texts";
import { visibleText } from "./visible_text";

const SKELETON_AFTER_MS = 150;
const STILL_AFTER_MS = 5000;

/** Nothing for 150 ms, then grey lines, after 5 s a sentence. */
export function Skeleton(): ReactNode {
  const [phase, setPhase] = useState(0);
  useEffect(() => {
    const timers = [SKELETON_AFTER_MS, STILL_AFTER_MS].map((ms, index) =>
      window.setTimeout(() => {
        setPhase(index + 1);
      }, ms),
    );
    return () => {
      timers.forEach((timer) => {
        window.clearTimeout(timer);
      });
    };
  }, []);
  if (phase === 0) return null;
  return (
    <div className="tk-skeleton" role="status" aria-label={texts.loading}>
      <i />
      <i />
      <i />
      {phase === 2 && <p className="tk-third">{texts.stillLoading}</p>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className="tk-empty">
      <p>{title}</p>
      {children}
    </div>
  );
}

interface ErrorNoteProps {
  /** What could not be loaded. */
  what: string;
  error: Error;
  retry?: () => void;
}

export function ErrorNote({ what, error, retry }: ErrorNoteProps): ReactNode {
  return (
    <div className="tk-error" role="alert">
      <p>{errorText(what, error)}</p>
      {retry && (
        <button type="button" onClick={retry}>
          {texts.retry}
        </button>
      )}
    </div>
  );
}

export function errorText(what: string, error: Error): string {
  if (error instanceof OfflineError) return texts.offline;
  if (error instanceof ApiError) {
    if (error.status === 401) return texts.accessEnded;
    if (error.status === 403) return texts.needsScope(visibleText(error.message));
    if (error.status === 404) return texts.notFound(what);
    if (error.status === 400) return visibleText(error.message);
    return texts.couldNotLoad(visibleText(what), `${error.status} ${error.code}`);
  }
  return `${texts.couldNotLoad(visibleText(what), error.name)} ${visibleText(error.message)}`;
}
