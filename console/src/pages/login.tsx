// SPDX-License-Identifier: MIT
import { useQueryClient } from "@tanstack/react-query";
import { useRouter, useSearch } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode, type SubmitEvent } from "react";
import { login } from "../api/calls";
import { ApiError } from "../api/http";
import { codeRefused, safeNext } from "../state/access";
import { useStore } from "../state/store";
import { texts } from "../texts";
import { errorText } from "../ui/notes";

/** A token is exchanged for a cookie that no script can read; the page keeps neither. */
export function LoginPage(): ReactNode {
  const router = useRouter();
  const client = useQueryClient();
  const { next } = useSearch({ from: "/login" });
  const isCodeRefused = useStore(codeRefused);
  const [token, setToken] = useState("");
  const [isWorking, setWorking] = useState(false);
  const [problem, setProblem] = useState<string | undefined>();
  const shown = problem ?? (isCodeRefused ? texts.login.codeUsed : undefined);

  useEffect(() => {
    document.title = `${texts.login.title} · ${texts.product}`;
  }, []);

  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setWorking(true);
    try {
      await login({ token: token.trim() });
      client.clear();
      router.history.push(safeNext(next));
    } catch (error) {
      setProblem(problemText(error));
    } finally {
      setWorking(false);
    }
  };

  return (
    <main className="tk-login">
      <form onSubmit={(event) => void submit(event)}>
        <h1>{texts.login.title}</h1>
        <label>
          {texts.login.token}
          <input
            type="password"
            autoComplete="off"
            spellCheck={false}
            required
            autoFocus
            value={token}
            placeholder="trk_…"
            onChange={(event) => {
              setToken(event.target.value);
            }}
          />
        </label>
        {shown && (
          <p className="tk-tone-error" role="alert">
            {shown}
          </p>
        )}
        <button type="submit" className="tk-primary" disabled={isWorking || token.trim() === ""}>
          {isWorking ? texts.login.working : texts.login.title}
        </button>
        <p className="tk-third">{texts.login.help}</p>
      </form>
    </main>
  );
}

function problemText(error: unknown): string {
  if (error instanceof ApiError && error.status === 401) return texts.login.wrong;
  if (error instanceof ApiError && error.status === 429) return texts.login.tooMany;
  return errorText(texts.login.title, error instanceof Error ? error : new Error(String(error)));
}
