// SPDX-License-Identifier: MIT
// A run: header, tabs, and the content of the tab.

import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { RunDetail } from "../../api/types";
import { PageNotFound } from "../page_not_found";
import { fromSegment } from "../../state/address";
import { runQuery } from "../../state/queries";
import { texts } from "../../texts";
import { Loaded } from "../../ui/loaded";
import { ProjectLink, RunLink } from "../../ui/links";
import { Shell } from "../../ui/shell";
import { Tree } from "../../ui/tree";
import { ChartsTab } from "./charts_tab";
import { EnvironmentTab } from "./environment_tab";
import { FilesTab } from "./files_tab";
import { LogsTab } from "./logs_tab";
import { MediaTab } from "./media_tab";
import { OverviewTab } from "./overview_tab";
import { RunHeader } from "./run_header";
import { SystemTab } from "./system_tab";

const TABS = ["overview", "charts", "system", "media", "logs", "config", "files", "env"] as const;
type Tab = (typeof TABS)[number];

export function RunPage(): ReactNode {
  const { project: segment, run: uid, tab } = useParams({ from: "/p/$project/r/$run/$tab" });
  const query = useQuery(runQuery(uid));
  const shown = TABS.find((known) => known === tab);
  if (!shown) return <PageNotFound />;
  const project = query.data?.project ?? fromSegment(segment);
  const name = query.data ? (query.data.name ?? query.data.id) : uid.slice(0, 8);
  return (
    <Shell
      title={`${name} · ${texts.run.tabs[shown]}`}
      crumbs={[
        <ProjectLink key="p" project={project} />,
        <RunLink key="r" project={project} uid={uid} label={name} />,
      ]}
    >
      <main className="tk-page tk-page-full">
        <Loaded query={query} what={texts.run.what}>
          {(run) => (
            <>
              <RunHeader run={run} />
              <nav className="tk-tabs" aria-label={name}>
                {TABS.map((each) => (
                  <Link
                    key={each}
                    to="/p/$project/r/$run/$tab"
                    params={{ project: segment, run: uid, tab: each }}
                    activeOptions={{ includeSearch: false }}
                  >
                    {texts.run.tabs[each]}
                  </Link>
                ))}
              </nav>
              <TabContent tab={shown} run={run} />
            </>
          )}
        </Loaded>
      </main>
    </Shell>
  );
}

function TabContent({ tab, run }: { tab: Tab; run: RunDetail }): ReactNode {
  switch (tab) {
    case "overview":
      return <OverviewTab run={run} />;
    case "charts":
      return <ChartsTab run={run} />;
    case "config":
      return (
        <div className="tk-columns">
          <Tree title={texts.config.config} entries={run.config} />
          <Tree title={texts.config.summary} entries={run.summary} />
        </div>
      );
    case "system":
      return <SystemTab run={run} />;
    case "logs":
      return <LogsTab run={run} />;
    case "media":
      return <MediaTab run={run} />;
    case "files":
      return <FilesTab run={run} />;
    case "env":
      return <EnvironmentTab run={run} />;
  }
}
