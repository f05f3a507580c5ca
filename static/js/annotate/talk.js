/** What is said about the open note: its comments and flags, as the server has them. Parts of the page listen to it. */

import { talk as words } from "./talk_words.js";

export class Talk {
  #workbench;
  #listeners = [];
  #asked = 0;
  #loading = 0; // the last question for a page of threads that has no answer yet
  threads = [];
  earlier = null; // what to ask for the threads before the earliest that is here
  flags = [];
  mayComment = false;

  constructor(workbench) {
    this.#workbench = workbench;
    workbench.on("open", () => this.#open());
    window.addEventListener("focus", () => this.load());
  }

  /** Call `listener()` whenever it was read anew. */
  on(listener) {
    this.#listeners.push(listener);
  }

  #open() {
    this.#take({ threads: [], earlier: null, flags: [], may_comment: false });
    this.load();
  }

  /** Read it anew. An answer that comes when another note is open, or a later one was asked for, is dropped. */
  async load() {
    const { note, api } = this.#workbench;
    if (!note.urls.talk) return;
    const asked = ++this.#asked;
    this.#loading = asked;
    const { kind, data } = await api.get(note.urls.talk);
    if (this.#loading === asked) this.#loading = 0;
    if (asked !== this.#asked || note !== this.#workbench.note) return;
    if (kind === "ok") this.#take(data);
    else if (kind === "refused") this.#workbench.tell(words.unread);
  }

  /** Read the threads before those that are here, too. */
  async loadEarlier() {
    const { note, api } = this.#workbench;
    const asked = ++this.#asked;
    const { kind, data } = await api.get(`${note.urls.talk}?before=${this.earlier}`);
    if (asked !== this.#asked || note !== this.#workbench.note) return;
    if (kind === "ok") this.#take({ ...data, threads: [...data.threads, ...this.threads] });
    else this.#workbench.tell(words.unread);
  }

  /** Do something. Returns null, or why it was not done, in words. */
  async post(url, body) {
    const { note, api } = this.#workbench;
    const { kind, data } = await api.post(url, body);
    if (kind !== "ok") return data?.message ?? words.troubles[kind] ?? words.troubles.lost;
    if (note !== this.#workbench.note) return null;
    this.#take(data);
    // What was asked before this was done may be answered without it.
    if (this.#loading) this.load();
    return null;
  }

  /** A whole page of threads, or after something was done the one thread that it changed. */
  #take({ threads, earlier, root, thread, flags, may_comment: mayComment }) {
    if (threads) [this.threads, this.earlier] = [threads, earlier ?? null];
    else if (root !== undefined) this.threads = [...this.threads.filter(({ id }) => id !== root), thread].filter(Boolean);
    this.threads.sort((one, other) => (one.start ?? -1) - (other.start ?? -1) || one.id - other.id);
    this.flags = flags;
    this.mayComment = mayComment;
    for (const listener of this.#listeners) listener();
  }
}
