/** What is said about the open note: its comments and flags, as the server has them. Parts of the page listen to it. */

import { talk as words } from "./talk_words.js";

export class Talk {
  #workbench;
  #listeners = [];
  #asked = 0;
  threads = [];
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
    this.#take({ threads: [], flags: [], may_comment: false });
    this.load();
  }

  /** Read it anew. An answer that comes when another note is open, or a later one was asked for, is dropped. */
  async load() {
    const { note, api } = this.#workbench;
    if (!note.urls.talk) return;
    const asked = ++this.#asked;
    const { kind, data } = await api.get(note.urls.talk);
    if (asked !== this.#asked || note !== this.#workbench.note) return;
    if (kind === "ok") this.#take(data);
    else if (kind === "refused") this.#workbench.tell(words.unread);
  }

  /** Do something. Returns null, or why it was not done, in words. */
  async post(url, body) {
    const { note, api } = this.#workbench;
    const asked = ++this.#asked;
    const { kind, data } = await api.post(url, body);
    if (kind !== "ok") return data?.message ?? words.troubles[kind] ?? words.troubles.lost;
    if (asked === this.#asked && note === this.#workbench.note) this.#take(data);
    return null;
  }

  #take({ threads, flags, may_comment: mayComment }) {
    this.threads = threads;
    this.flags = flags;
    this.mayComment = mayComment;
    for (const listener of this.#listeners) listener();
  }
}
