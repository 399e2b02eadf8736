// SPDX-License-Identifier: MIT
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { texts } from "../texts";
import { Empty } from "../ui/notes";

export function PageNotFound(): ReactNode {
  return (
    <main className="tk-page">
      <Empty title={texts.pageNotFound}>
        <Link to="/">{texts.projects.title}</Link>
      </Empty>
    </main>
  );
}
