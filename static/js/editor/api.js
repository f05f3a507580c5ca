/**
 * Requests of the workbench, and what their answers mean. Note text travels in bodies only, never in a URL.
 *
 * Kinds of outcome:
 *   ok            made; `data` is the answer
 *   refused       not made, for good; `data` has `message`, and of a conflict the reading as it is now
 *   lost          no answer, or one that says nothing about the change: to be sent again
 *   later         this person sends more than the server takes at a time: to be sent again after `wait` milliseconds; never what
 *                 `get` gives
 *   token         the form token is out of date (somebody signed in again); never what `post` and `get` give
 *   no-access     the note is not this person's to change any more, but may be again; `data` has `message`
 *   signed-out    nobody is signed in
 *   other-person  somebody else is signed in
 */

import { words } from "./words.js";

const TIMEOUT = 20_000;
// How long to wait where a 429 doesn't say, and how long at most (milliseconds).
const USUAL_WAIT = 1000;
const LONGEST_WAIT = 60_000;
// So often a reading request waits for its turn.
const TURNS = 3;

/** What a 429 says in Retry-After, as milliseconds. */
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

/** @returns {Promise<{kind: string, data?: object}>} */
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

  /** @param {{token: string, person: number, renewal: () => string}} about  `renewal`: an address whose answer brings a fresh token */
  constructor({ token, person, renewal }, fetcher = (...args) => fetch(...args), sleep = (ms) => new Promise((done) => setTimeout(done, ms))) {
    this.token = token;
    this.#person = person;
    this.#renewal = renewal;
    this.#fetch = fetcher;
    this.#sleep = sleep;
  }

  /** A form token that is out of date is renewed, once: signing in again in another tab is no reason to lose anything. */
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

  /** The answer counts only if it is this person who is signed in; it may bring a fresh form token. */
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
