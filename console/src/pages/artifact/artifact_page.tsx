// SPDX-License-Identifier: MIT
// A version of an artifact: files, metadata, and which runs made and used it.

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ArtifactVersion } from "../../api/types";
import { fromSegment, toSegment } from "../../state/address";
import { artifactQuery } from "../../state/queries";
import { texts } from "../../texts";
import { CopyButton } from "../../ui/copy_button";
import { FileTable } from "../../ui/file_table";
import { formatBytes, formatTime } from "../../ui/format";
import { Loaded } from "../../ui/loaded";
import { ArtifactLink, ProjectLink } from "../../ui/links";
import { Empty } from "../../ui/notes";
import { Shell } from "../../ui/shell";
import { Tree } from "../../ui/tree";
import { visibleText } from "../../ui/visible_text";
import { PageNotFound } from "../page_not_found";
import { Lineage } from "./lineage";

const TABS = ["files", "metadata", "lineage"] as const;

export function ArtifactPage(): ReactNode {
  const params = useParams({ from: "/p/$project/a/$name/$version/$tab" });
  const project = fromSegment(params.project);
  const name = fromSegment(params.name);
  const query = useQuery(artifactQuery(project, name, fromSegment(params.version)));
  const tab = TABS.find((known) => known === params.tab);
  if (!tab) return <PageNotFound />;
  return (
    <Shell
      title={`${name} · ${project}`}
      crumbs={[
        <ProjectLink key="p" project={project} />,
        <Link key="a" to="/p/$project/artifacts" params={{ project: params.project }}>
          {texts.artifacts.title}
        </Link>,
        <ArtifactLink
          key="n"
          project={project}
          name={name}
          version={fromSegment(params.version)}
          label={name}
        />,
      ]}
    >
      <main className="tk-page tk-page-full">
        <Loaded query={query} what={texts.artifacts.what}>
          {(version) => (
            <>
              <ArtifactHeader version={version} />
              <nav className="tk-tabs" aria-label={name}>
                {TABS.map((each) => (
                  <Link key={each} to="/p/$project/a/$name/$version/$tab" params={{ ...params, tab: each }}>
                    {texts.artifacts.tabs[each]}
                  </Link>
                ))}
              </nav>
              {tab === "files" && <FileTable version={version} />}
              {tab === "metadata" && <Metadata version={version} />}
              {tab === "lineage" && <Lineage version={version} />}
            </>
          )}
        </Loaded>
      </main>
    </Shell>
  );
}

function ArtifactHeader({ version }: { version: ArtifactVersion }): ReactNode {
  const navigate = useNavigate({ from: "/p/$project/a/$name/$version/$tab" });
  return (
    <header className="tk-run-head">
      <h1>{visibleText(version.name)}</h1>
      <select
        aria-label={texts.files.version}
        value={version.number}
        onChange={(event) => {
          void navigate({
            params: (before) => ({ ...before, version: toSegment(`v${event.target.value}`) }),
          });
        }}
      >
        {(version.versions.length > 0 ? version.versions : [version]).map(({ number, aliases }) => (
          <option key={number} value={number}>
            {[`v${number}`, ...aliases.map((alias) => visibleText(alias, 40))].join(" · ")}
          </option>
        ))}
      </select>
      <span className="tk-second">{visibleText(version.type)}</span>
      {version.bytes !== undefined && <span>{formatBytes(version.bytes)}</span>}
      <span>{texts.artifacts.files(version.files_total ?? version.files.length)}</span>
      {version.created_us !== undefined && (
        <span className="tk-third">{texts.artifacts.created(formatTime(version.created_us))}</span>
      )}
      <span className="tk-mono tk-third" title={version.digest}>
        {version.digest.slice(0, 12)}
      </span>
      <CopyButton text={() => version.digest} />
      {version.aliases.map((alias) => (
        <span className="tk-tag" key={alias}>
          {visibleText(alias, 40)}
        </span>
      ))}
    </header>
  );
}

function Metadata({ version }: { version: ArtifactVersion }): ReactNode {
  const { metadata, description } = version;
  const isMap = typeof metadata === "object" && metadata !== null && !Array.isArray(metadata);
  const entries = new Map(isMap ? Object.entries(metadata) : []);
  return (
    <>
      {description && <p className="tk-notes">{visibleText(description, 5000)}</p>}
      {entries.size === 0 ? (
        <Empty title={texts.artifacts.noMetadata} />
      ) : (
        <Tree title={texts.artifacts.tabs.metadata} entries={entries} />
      )}
    </>
  );
}
