// SPDX-License-Identifier: MIT
import { useState, type ReactNode } from "react";
import { texts } from "../texts";

const SAID_MS = 1500;

export function CopyButton({ text, label = texts.copy }: { text: () => string; label?: string }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text());
    setCopied(true);
    window.setTimeout(() => {
      setCopied(false);
    }, SAID_MS);
  };
  return (
    <button type="button" className="tk-quiet" onClick={() => void copy()}>
      {isCopied ? texts.copied : label}
    </button>
  );
}
