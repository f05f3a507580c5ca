/**
 * Requests of the pages over notes, and the meaning of the answers. Note text is sent in bodies only, never in a URL.
 *
 * Kinds of outcome:
 *   ok            done; `data` is the answer
 *   refused       not done, and never will be; `data` has `message`, and after a conflict the current spans
 *   lost          no answer, or one that says nothing about the request: send it again
 *   later         the person sends too many requests: send it again after `wait` milliseconds; never returned by `get`
 *   token         the CSRF token is out of date, because somebody signed in again; never returned by `post` and `get`
 *   no-access     the person may not change the note at present; `data` has `message`
 *   signed-out    nobody is signed in
 *   other-person  somebody else is signed in
 */

import { sleepFor } from "./outbox.js";
import { words } from "./words.js";

const TIMEOUT = 20_000;
// The wait after a 429 without Retry-After, and the longest wait (milliseconds).
const USUAL_WAIT = 1000;
const LONGEST_WAIT = 60_000;
// How often `get` sends a request that gets 429.
const TURNS = 3;

/** The Retry-After of a 429 in milliseconds. */
function waitOf(response) {
  const seconds = Number(response.headers?.get("Retry-After"));
  return seconds > 0 ? Math.min(seconds * 1000, LONGEST_WAIT) : USUAL_WAIT;
}

async function json(response) {
  try {
    return await response.json();
  } catch {
    return null;
  }
}

/**
 * @typedef {{kind: string, data?: any, wait?: number}} Outcome  kinds: see above
 *
 * @param {Response} response
 * @returns {Promise<Outcome>}
 */
export async function outcomeOf(response) {
  if (response.type === "opaqueredirect" || response.status >= 500 || [0, 408, 425].includes(response.status)) {
    return { kind: "lost" };
  }
  if (response.status === 429) return { kind: "later", wait: waitOf(response) };
  if (response.status === 401) return { kind: "signed-out" };
  const data = await json(response);
  if (response.ok) return data === null ? { kind: "lost" } : { kind: "ok", data };
  if (response.status === 403 && data?.error !== "forbidden") return { kind: "token" };
  if (["forbidden", "not-found"].includes(data?.error)) return { kind: "no-access", data };
  if (data?.error === "person") return { kind: "other-person" };
  return { kind: "refused", data: { error: "refused", message: words.refused(response.status), ...data } };
}

export class Api {
  #person;
  #renewal;
  #fetch;
  #sleep;

  /** @param {{token: string, person: number, renewal: () => string}} about  `renewal`: an address whose answer has a fresh token */
  constructor({ token, person, renewal }, fetcher = (url, options) => fetch(url, options), sleep = sleepFor) {
    this.token = token;
    this.#person = person;
    this.#renewal = renewal;
    this.#fetch = fetcher;
    this.#sleep = sleep;
  }

  /** Send a POST; renew the CSRF token once if it is out of date, so that signing in again in another tab loses nothing. */
  async post(url, body) {
    const outcome = await this.#post(url, body);
    if (outcome.kind !== "token") return outcome;
    const renewed = await this.get(this.#renewal());
    if (renewed.kind !== "ok") return renewed;
    const again = await this.#post(url, body);
    return again.kind === "token" ? { kind: "lost" } : again;
  }

  #post(url, body) {
    return this.#request(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRFToken": this.token },
      body: JSON.stringify({ ...body, person: this.#person }),
    });
  }

  /** Send a GET. The answer counts only if this person is still signed in; it may have a fresh CSRF token. */
  async get(url) {
    let outcome = await this.#request(url, { method: "GET", headers: {} });
    for (let turn = 1; turn < TURNS && outcome.kind === "later"; turn += 1) {
      await this.#sleep(outcome.wait);
      outcome = await this.#request(url, { method: "GET", headers: {} });
    }
    if (["token", "later"].includes(outcome.kind)) return { kind: "lost" };
    if (outcome.kind !== "ok") return outcome;
    if (outcome.data.person !== this.#person) return { kind: "other-person" };
    if (outcome.data.csrf) this.token = outcome.data.csrf;
    return outcome;
  }

  async #request(url, options) {
    try {
      const response = await this.#fetch(url, {
        ...options,
        headers: { Accept: "application/json", ...options.headers },
        credentials: "same-origin",
        cache: "no-store",
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT),
      });
      return await outcomeOf(response);
    } catch {
      return { kind: "lost" };
    }
  }
}
