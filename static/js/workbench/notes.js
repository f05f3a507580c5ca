/** The list of notes beside the text: which there are, how far one is, and the way to the neighbours. */

import { byId, el } from "./dom.js";
import { words } from "./words.js";

const KEY = "deidreview.notes";

export class NotesList {
  #workbench;
  #work; // the newest counts that the server gave
  #asked = 0;
  #done = new Map(); // note id -> when it was submitted here

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.#work = workbench.note.data.work;
    this.#fold();
    workbench.on("open", (note) => this.#open(note));
    workbench.on("fetched", (note) => this.#counts(note));
    workbench.on("submitted", (note) => this.#submitted(note));
    document.addEventListener("click", (event) => this.#click(event));
    this.#here()?.scrollIntoView({ block: "center" });
  }

  /** Closed where there is no room, else as it was left. */
  #fold() {
    const list = byId("notes-list");
    const narrow = window.matchMedia("(max-width: 1100px)").matches;
    list.open = !narrow && sessionStorage.getItem(KEY) !== "closed";
    list.addEventListener("toggle", () => {
      if (!narrow) sessionStorage.setItem(KEY, list.open ? "open" : "closed");
    });
  }

  #here() {
    return byId("notes-list").querySelector("[aria-current]");
  }

  /** A plain click on a link to a note opens it in place. */
  #click(event) {
    const link = event.target.closest?.("#notes a[href], #next-open");
    if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const { next_open: next } = this.#workbench.note.data.work;
    this.#workbench.go(link.id === "next-open" && next ? next.url : link.href);
  }

  #open(note) {
    const { notes, previous, next } = note.data.work;
    const isDrawn = this.#here()?.getAttribute("href") === note.urls.annotate; // by the server
    if (!isDrawn) byId("notes-items").replaceChildren(...notes.map((item) => this.#item(item, note)));
    this.#near("previous-note", previous);
    this.#near("next-note", next);
    this.#counts(note);
    this.#here()?.scrollIntoView({ block: "nearest" });
  }

  #near(id, there) {
    const link = byId(id);
    link.hidden = !there;
    if (there) link.href = there.url;
    else link.removeAttribute("href");
  }

  #item({ id, name, state, url }, note) {
    const done = this.#isDone(id, state, note);
    const icon = done ? byId("done-icon").content.cloneNode(true) : el("span", { class: "dot", "aria-hidden": "true" });
    const current = id === note.id ? "page" : null;
    return el(
      "li",
      {},
      el(
        "a",
        { href: url, "aria-current": current, class: `is-${done ? "done" : state || "other"}` },
        icon,
        el("span", { class: "name" }, name),
      ),
    );
  }

  /** What was submitted here after the list was fetched is done, whatever the list says. */
  #isDone(id, state, { asked = 0 }) {
    return state === "done" || (state === "open" && (this.#done.get(id) ?? -1) > asked);
  }

  #submitted(note) {
    const mine = this.#work.notes.find(({ id }) => id === note.id);
    if (mine?.state === "open" && !this.#done.has(note.id)) this.#work = { ...this.#work, done: this.#work.done + 1 };
    this.#done.set(note.id, performance.now());
    this.#asked = performance.now();
    this.#show();
  }

  #counts({ data: { work }, asked = 0 }) {
    if (asked < this.#asked) return;
    this.#asked = asked;
    this.#work = work;
    this.#show();
  }

  #show() {
    const { done, total, more, pace } = this.#work;
    if (!byId("progress")) return;
    byId("progress").value = done;
    byId("progress").max = total;
    byId("progress").classList.toggle("ok", done >= total && !more);
    byId("progress-words").replaceChildren(
      ...(more ? [el("span", {}, words.moreNotes(total))] : [el("span", {}, words.notesDone(done, total)), el("span", {}, words.notesLeft(total - done))]),
    );
    byId("pace").textContent = pace;
    byId("pace").hidden = !pace;
  }
}
