// SPDX-License-Identifier: MIT
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ArtifactSummary } from "../../api/types";
import { fromSegment } from "../../state/address";
import { artifactsQuery } from "../../state/queries";
import { texts } from "../../texts";
import { Loaded } from "../../ui/loaded";
import { ArtifactLink, ProjectLink } from "../../ui/links";
import { Empty } from "../../ui/notes";
import { Shell } from "../../ui/shell";
import { visibleText } from "../../ui/visible_text";

export function ArtifactsPage(): ReactNode {
  const { project: segment } = useParams({ from: "/p/$project/artifacts" });
  const project = fromSegment(segment);
  const query = useQuery(artifactsQuery(project));
  return (
    <Shell
      title={`${texts.artifacts.title} · ${project}`}
      crumbs={[<ProjectLink key="p" project={project} />]}
    >
      <main className="tk-page tk-page-full">
        <nav className="tk-tabs" aria-label={project}>
          <Link to="/p/$project" params={{ project: segment }} activeOptions={{ exact: true }}>
            {texts.runs.title}
          </Link>
          <Link to="/p/$project/artifacts" params={{ project: segment }}>
            {texts.runs.artifacts}
          </Link>
        </nav>
        <Loaded query={query} what={texts.artifacts.title}>
          {(artifacts) =>
            artifacts.length === 0 ? (
              <Empty title={texts.artifacts.empty} />
            ) : (
              <ArtifactTable project={project} artifacts={artifacts} />
            )
          }
        </Loaded>
      </main>
    </Shell>
  );
}

function ArtifactTable({ project, artifacts }: { project: string; artifacts: ArtifactSummary[] }): ReactNode {
  return (
    <table className="tk-table tk-table-plain">
      <thead>
        <tr>
          <th>{texts.artifacts.name}</th>
          <th>{texts.files.type}</th>
          <th className="tk-number">{texts.artifacts.versions}</th>
          <th>{texts.artifacts.latest}</th>
          <th>{texts.files.aliases}</th>
        </tr>
      </thead>
      <tbody>
        {artifacts.map(({ name, type, versions, latest, aliases }) => (
          <tr key={name}>
            <td className="tk-strong">
              <ArtifactLink project={project} name={name} version="latest" label={name} />
            </td>
            <td>{visibleText(type)}</td>
            <td className="tk-number">{versions}</td>
            <td>
              {latest !== undefined && (
                <ArtifactLink project={project} name={name} version={`v${latest}`} label={`v${latest}`} />
              )}
            </td>
            <td>
              {[...aliases].map(([alias, number]) => (
                <span className="tk-tag" key={alias}>
                  {visibleText(alias, 40)} → v{number}
                </span>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
