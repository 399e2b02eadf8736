// SPDX-License-Identifier: MIT
// The versions of artifacts that a run used or made, linked to their pages.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Use } from "../../api/types";
import { artifactQuery } from "../../state/queries";
import { ArtifactLink } from "../../ui/links";
import { visibleText } from "../../ui/visible_text";

export function UsesList({ title, uses }: { title: string; uses: readonly Use[] }): ReactNode {
  if (uses.length === 0) return null;
  return (
    <div className="tk-uses">
      <h3>{title}</h3>
      <ul>
        {uses.map((use) => (
          <li key={`${use.project}/${use.name}@${use.digest}`}>
            <UseLink use={use} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A run names a version by its digest; the number is the server's. */
export function UseLink({ use }: { use: Use }): ReactNode {
  const { data } = useQuery(artifactQuery(use.project, use.name, use.digest));
  const version = data ? `v${data.number}` : use.digest.slice(0, 12);
  return (
    <>
      <ArtifactLink
        project={use.project}
        name={use.name}
        version={data ? version : use.digest}
        label={`${use.name}:${version}`}
      />{" "}
      <span className="tk-third">
        {visibleText(use.type)}
        {use.use_as ? ` · ${visibleText(use.use_as)}` : ""}
      </span>
    </>
  );
}
