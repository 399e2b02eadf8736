// SPDX-License-Identifier: MIT
// The files of a version, with downloads.

import type { ReactNode } from "react";
import { blobUrl } from "../api/calls";
import type { ArtifactVersion } from "../api/types";
import { texts } from "../texts";
import { formatBytes } from "./format";
import { visibleText } from "./visible_text";

const FILES_SHOWN_MAX = 2000;

export function FileTable({ version }: { version: ArtifactVersion }): ReactNode {
  const shown = version.files.slice(0, FILES_SHOWN_MAX);
  const hidden = Math.max(version.files_total ?? 0, version.files.length) - shown.length;
  return (
    <>
      <table className="tk-table">
        <thead>
          <tr>
            <th>{texts.files.path}</th>
            <th className="tk-number">{texts.files.size}</th>
            <th>{texts.files.digest}</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {shown.map((file) => (
            <tr key={file.path} data-path={file.path}>
              <td>{visibleText(file.path)}</td>
              <td className="tk-number">{formatBytes(file.bytes)}</td>
              <td className="tk-mono tk-third" title={file.digest}>
                {file.digest ? `${file.digest.slice(0, 12)}…` : ""}
              </td>
              <td className="tk-number">
                {file.uri === undefined ? (
                  <a href={blobUrl(version.project, file.digest, file.path.split("/").at(-1) ?? "")} download>
                    {texts.files.download}
                  </a>
                ) : (
                  <span className="tk-third" title={visibleText(file.uri, 1000)}>
                    {texts.files.external}
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {hidden > 0 && <p className="tk-third">{texts.files.more(hidden)}</p>}
    </>
  );
}
