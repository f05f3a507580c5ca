/** The comments and flags of the open note, as the server has them. Parts of the page listen for changes. */

import { talk as words } from "./talk_words.js";

export class Talk {
  #workbench;
  #listeners = [];
  #asked = 0;
  #loading = 0; // the number of the load that has no answer yet, or 0
  threads = [];
  earlier = null; // the parameter for earlier threads, or null
  flags = [];
  mayComment = false;

  constructor(workbench) {
    this.#workbench = workbench;
    workbench.on("open", () => this.#open());
    window.addEventListener("focus", () => this.load());
  }

  /** Call `listener()` after every load. */
  on(listener) {
    this.#listeners.push(listener);
  }

  #open() {
    this.#take({ threads: [], earlier: null, flags: [], may_comment: false });
    this.load();
  }

  /** Load comments and flags. An answer is dropped if another note is open by then, or a newer request was sent. */
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

  /** Load earlier threads in addition. */
  async loadEarlier() {
    const { note, api } = this.#workbench;
    const asked = ++this.#asked;
    const { kind, data } = await api.get(`${note.urls.talk}?before=${this.earlier}`);
    if (asked !== this.#asked || note !== this.#workbench.note) return;
    if (kind === "ok") this.#take({ ...data, threads: [...data.threads, ...this.threads] });
    else this.#workbench.tell(words.unread);
  }

  /** Send a change. Resolves to null, or to an error message. */
  async post(url, body) {
    const { note, api } = this.#workbench;
    const { kind, data } = await api.post(url, body);
    if (kind !== "ok") return data?.message ?? words.troubles[kind] ?? words.troubles.lost;
    if (note !== this.#workbench.note) return null;
    this.#take(data);
    // Answers to requests sent before this change may lack it.
    if (this.#loading) this.load();
    return null;
  }

  /**
   * Take over an answer: a page of threads, or after a change the one thread that it changed.
   * @param {object} answer
   * @param {object[]} [answer.threads]
   * @param {number | null} [answer.earlier]
   * @param {number} [answer.root]
   * @param {object | null} [answer.thread]
   * @param {object[]} answer.flags
   * @param {boolean} answer.may_comment
   */
  #take({ threads, earlier, root, thread, flags, may_comment: mayComment }) {
    if (threads) [this.threads, this.earlier] = [threads, earlier ?? null];
    else if (root !== undefined) this.threads = [...this.threads.filter(({ id }) => id !== root), thread].filter(Boolean);
    this.threads.sort((one, other) => (one.start ?? -1) - (other.start ?? -1) || one.id - other.id);
    this.flags = flags;
    this.mayComment = mayComment;
    for (const listener of this.#listeners) listener();
  }
}
