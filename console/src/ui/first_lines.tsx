// SPDX-License-Identifier: MIT
// Three lines of Python whose run appears on this page; on a server they contain its address.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ROOT_PATH } from "../api/http";
import { serverQuery } from "../state/queries";
import { texts } from "../texts";
import { visibleText } from "./visible_text";

export function FirstLines({ project }: { project: string }): ReactNode {
  const server = useQuery(serverQuery);
  const host = (location.origin + ROOT_PATH).replace(/\/$/, "");
  const more = server.data?.uploads ? texts.projects.uploadArguments(host) : "";
  return <pre className="tk-code">{visibleText(texts.projects.code(project, more), 1000)}</pre>;
}
