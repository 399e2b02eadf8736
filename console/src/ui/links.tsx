// SPDX-License-Identifier: MIT
// Links to projects, runs and versions of artifacts.

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { toSegment } from "../state/address";
import { visibleText } from "./visible_text";

export function ProjectLink({ project }: { project: string }): ReactNode {
  return (
    <Link to="/p/$project" params={{ project: toSegment(project) }}>
      {visibleText(project, 60)}
    </Link>
  );
}

interface RunLinkProps {
  project: string;
  uid: string;
  label: string;
}

export function RunLink({ project, uid, label }: RunLinkProps): ReactNode {
  return (
    <Link to="/p/$project/r/$run/$tab" params={{ project: toSegment(project), run: uid, tab: "overview" }}>
      {visibleText(label, 80)}
    </Link>
  );
}

interface ArtifactLinkProps {
  project: string;
  name: string;
  /** A number with its "v", an alias or a digest. */
  version: string;
  label?: string;
}

export function ArtifactLink({ project, name, version, label }: ArtifactLinkProps): ReactNode {
  const params = {
    project: toSegment(project),
    name: toSegment(name),
    version: toSegment(version),
    tab: "files",
  };
  return (
    <Link to="/p/$project/a/$name/$version/$tab" params={params}>
      {visibleText(label ?? `${name}:${version}`, 80)}
    </Link>
  );
}
