// SPDX-License-Identifier: MIT
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Project } from "../api/types";
import { projectsQuery } from "../state/queries";
import { texts } from "../texts";
import { FirstLines } from "../ui/first_lines";
import { ProjectLink } from "../ui/links";
import { Loaded } from "../ui/loaded";
import { Empty } from "../ui/notes";
import { Shell } from "../ui/shell";
import { Age, Num } from "../ui/text";

export function ProjectsPage(): ReactNode {
  const query = useQuery(projectsQuery);
  return (
    <Shell title={texts.projects.title}>
      <main className="tk-page">
        <h1>{texts.projects.title}</h1>
        <Loaded query={query} what={texts.projects.title}>
          {(projects) => (projects.length === 0 ? <FirstSteps /> : <ProjectTable projects={projects} />)}
        </Loaded>
      </main>
    </Shell>
  );
}

function FirstSteps(): ReactNode {
  return (
    <Empty title={texts.projects.empty}>
      <FirstLines project="first" />
    </Empty>
  );
}

function ProjectTable({ projects }: { projects: Project[] }): ReactNode {
  const newestFirst = [...projects].sort((a, b) => (b.last_us ?? 0) - (a.last_us ?? 0));
  return (
    <table className="tk-table tk-table-plain">
      <thead>
        <tr>
          <th>{texts.projects.name}</th>
          <th className="tk-number">{texts.projects.runs}</th>
          <th className="tk-number">{texts.projects.running}</th>
          <th className="tk-number">{texts.projects.last}</th>
        </tr>
      </thead>
      <tbody>
        {newestFirst.map((project) => (
          <tr key={project.project}>
            <td className="tk-strong">
              <ProjectLink project={project.project} />
            </td>
            <td className="tk-number">
              <Num value={project.runs} />
            </td>
            <td className={`tk-number ${project.running > 0 ? "tk-tone-accent" : "tk-third"}`}>
              <Num value={project.running} />
            </td>
            <td className="tk-number">
              <Age us={project.last_us} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
