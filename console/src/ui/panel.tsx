// SPDX-License-Identifier: MIT
import type { ReactNode } from "react";

interface PanelProps {
  title: string;
  action?: ReactNode;
  children: ReactNode;
}

export function Panel({ title, action, children }: PanelProps): ReactNode {
  return (
    <section className="tk-panel" aria-label={title}>
      <header className="tk-panel-head">
        <h2>{title}</h2>
        {action}
      </header>
      {children}
    </section>
  );
}
