// SPDX-License-Identifier: MIT
// Where the checkpoint is, and the data: the files of each artifact that the run made or used.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { RunDetail, Use } from "../../api/types";
import { artifactQuery } from "../../state/queries";
import { texts } from "../../texts";
import { FileTable } from "../../ui/file_table";
import { Loaded } from "../../ui/loaded";
import { Empty } from "../../ui/notes";
import { Panel } from "../../ui/panel";
import { UseLink } from "./uses_list";

export function FilesTab({ run }: { run: RunDetail }): ReactNode {
  if (run.outputs.length + run.inputs.length === 0) return <Empty title={texts.files.none} />;
  return (
    <>
      {run.outputs.map((use) => (
        <UsePanel key={`out ${use.name} ${use.digest}`} title={texts.files.made} use={use} />
      ))}
      {run.inputs.map((use) => (
        <UsePanel key={`in ${use.name} ${use.digest}`} title={texts.files.used} use={use} />
      ))}
    </>
  );
}

function UsePanel({ title, use }: { title: string; use: Use }): ReactNode {
  const query = useQuery(artifactQuery(use.project, use.name, use.digest));
  return (
    <Panel
      title={title}
      action={
        <span>
          <UseLink use={use} />
        </span>
      }
    >
      <Loaded query={query} what={use.name}>
        {(version) => <FileTable version={version} />}
      </Loaded>
    </Panel>
  );
}
