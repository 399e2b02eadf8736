// SPDX-License-Identifier: MIT
// Media by metric: one slider over the existing steps selects the shown ones; other files than images are downloads.

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState, type ReactNode } from "react";
import type { Whole } from "../../api/check";
import { mediaUrl } from "../../api/calls";
import type { Medium, RunDetail } from "../../api/types";
import { mediaQuery } from "../../state/queries";
import { texts } from "../../texts";
import { formatBytes, formatNumber } from "../../ui/format";
import { Loaded } from "../../ui/loaded";
import { Empty } from "../../ui/notes";
import { Name } from "../../ui/name";
import { visibleText } from "../../ui/visible_text";

const IMAGES = new Set(["png", "jpg", "gif", "webp", "svg"]);

export function MediaTab({ run }: { run: RunDetail }): ReactNode {
  const query = useQuery(mediaQuery(run.uid));
  return (
    <Loaded query={query} what={texts.run.tabs.media}>
      {(media) =>
        media.length === 0 ? <Empty title={texts.media.empty} /> : <MediaByStep run={run.uid} media={media} />
      }
    </Loaded>
  );
}

const compare = (a: Whole, b: Whole): number => (a < b ? -1 : a > b ? 1 : 0);

function MediaByStep({ run, media }: { run: string; media: readonly Medium[] }): ReactNode {
  const steps = useMemo(() => {
    const all = new Set(media.flatMap((medium) => (medium.step === undefined ? [] : [medium.step])));
    return [...all].sort(compare);
  }, [media]);
  const [chosen, setChosen] = useState<number>();
  const index = Math.min(chosen ?? steps.length - 1, steps.length - 1);
  const step = steps[index];
  const groups = useMemo(() => groupsAt(media, step), [media, step]);
  return (
    <>
      {steps.length > 1 && (
        <div className="tk-toolbar">
          <label className="tk-field tk-step-slider">
            {texts.media.step}
            <input
              type="range"
              min={0}
              max={steps.length - 1}
              value={index}
              aria-valuetext={step === undefined ? "" : formatNumber(step)}
              onChange={(event) => {
                setChosen(Number(event.target.value));
              }}
            />
            <output>{step === undefined ? "" : formatNumber(step)}</output>
          </label>
        </div>
      )}
      {[...groups].map(([key, shown]) => (
        <section className="tk-panel" key={key} aria-label={key}>
          <header className="tk-panel-head">
            <h2>
              <Name value={key} />
            </h2>
            <span className="tk-third">
              {shown[0]?.step === undefined
                ? texts.media.noStep
                : texts.run.step(formatNumber(shown[0].step))}
            </span>
          </header>
          <div className="tk-media-grid">
            {shown.map((medium, place) => (
              <MediumFigure key={`${medium.digest ?? ""}${place}`} run={run} medium={medium} />
            ))}
          </div>
        </section>
      ))}
    </>
  );
}

/** Of each metric the media of the last step that is not after the chosen one. */
export function groupsAt(media: readonly Medium[], step: Whole | undefined): Map<string, Medium[]> {
  const groups = new Map<string, Medium[]>();
  for (const medium of media) {
    if (step !== undefined && medium.step !== undefined && medium.step > step) continue;
    const group = groups.get(medium.key);
    const before = group?.[0]?.step;
    if (!group || (before !== undefined && medium.step !== undefined && medium.step > before)) {
      groups.set(medium.key, [medium]);
    } else if (before === medium.step) group.push(medium);
  }
  return groups;
}

function MediumFigure({ run, medium }: { run: string; medium: Medium }): ReactNode {
  const url = medium.digest === undefined ? undefined : mediaUrl(run, medium.digest, medium.ext);
  return (
    <figure className="tk-medium">
      {url !== undefined && IMAGES.has(medium.ext) ? (
        <a href={url} target="_blank" rel="noopener noreferrer">
          <img
            src={url}
            alt={visibleText(medium.caption ?? medium.key)}
            width={medium.width}
            height={medium.height}
            loading="lazy"
          />
        </a>
      ) : medium.text !== undefined ? (
        <pre className="tk-medium-text">{visibleText(medium.text, 20_000)}</pre>
      ) : (
        <p className="tk-medium-other">
          {visibleText(medium.kind)}
          {url !== undefined && (
            <a href={url} download={`${medium.key.replaceAll("/", "-")}.${medium.ext}`}>
              {texts.media.download} ({formatBytes(medium.bytes)})
            </a>
          )}
        </p>
      )}
      {medium.caption && <figcaption>{visibleText(medium.caption)}</figcaption>}
    </figure>
  );
}
