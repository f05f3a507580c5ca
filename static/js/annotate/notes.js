/** The list of notes next to the text, the progress, and the links to the next and previous note. */

import { byId, el, middle } from "../editor/dom.js";
import { foldNotes, narrow } from "../editor/folding.js";
import { words } from "../editor/words.js";

export class NotesList {
  #workbench;
  #work; // the newest counts from the server
  #asked = 0;
  #states = new Map(); // note id -> {state, at}: when it was submitted or reopened here
  #flagged = new Map(); // note id -> whether it was flagged here

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.#work = workbench.note.data.work;
    foldNotes(byId("notes-list"));
    workbench.on("open", (note) => this.#open(note));
    workbench.on("fetched", (note) => this.#counts(note));
    workbench.on("submitted", (note) => this.#moved(note, "done", 1));
    workbench.on("reopened", (note) => this.#moved(note, "open", -1));
    workbench.on("flagged", (note) => this.#flag(note));
    document.addEventListener("click", (event) => this.#click(event));
  }

  #here() {
    return byId("notes-list").querySelector("[aria-current]");
  }

  /** A plain click on a link to a note opens it in place. */
  #click(event) {
    const link = event.target.closest?.("#notes a[href], #previous-note, #next-note, #next-open");
    if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const { next_open: next } = this.#workbench.note.data.work;
    this.#workbench.go(link.id === "next-open" && next ? next.url : link.href);
  }

  #open(note) {
    const { previous, next } = note.data.work;
    const isDrawn = this.#here()?.getAttribute("href") === note.urls.annotate; // the server has drawn the list
    if (!isDrawn) this.#list(note);
    if (narrow.matches) byId("notes-list").open = false; // so that the text has more room
    this.#near("previous-note", previous);
    this.#near("next-note", next);
    this.#counts(note);
    this.#here()?.scrollIntoView({ block: "nearest" });
  }

  #near(id, there) {
    const link = /** @type {HTMLAnchorElement} */ (byId(id));
    link.hidden = !there;
    if (there) link.href = there.url;
    else link.removeAttribute("href");
  }

  #list(note) {
    byId("notes-items").replaceChildren(...note.data.work.notes.map((item) => this.#item(item, note)));
  }

  #item({ id, name, state, url, flagged }, note) {
    const now = this.#stateOf(id, state, note);
    const icon = now === "done" ? byId("done-icon").content.cloneNode(true) : el("span", { class: "dot", "aria-hidden": "true" });
    const current = id === note.id ? "page" : null;
    const flag = this.#flagged.get(id) ?? flagged;
    return el(
      "li",
      {},
      el(
        "a",
        { href: url, "aria-current": current, class: `is-${now || "other"}` },
        icon,
        middle(name),
        flag && byId("flag-icon").content.cloneNode(true),
      ),
    );
  }

  /** Apply what was submitted or reopened on this page after the list was fetched. */
  #stateOf(id, state, { asked = 0 }) {
    const here = this.#states.get(id);
    return state && here && here.at > asked ? here.state : state;
  }

  #moved(note, state, step) {
    const mine = this.#work.notes.find(({ id }) => id === note.id);
    const before = mine?.state && (this.#states.get(note.id)?.state ?? mine.state);
    if (before && before !== state) this.#work = { ...this.#work, done: this.#work.done + step };
    this.#asked = performance.now();
    this.#states.set(note.id, { state, at: this.#asked });
    this.#show();
    if (note === this.#workbench.note) this.#list(note);
  }

  #flag(note) {
    this.#flagged.set(note.id, note.data.flagged);
    if (note === this.#workbench.note) this.#list(note);
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
    byId("progress-text").replaceChildren(
      ...(more ? [el("span", {}, words.moreNotes(total))] : [el("span", {}, words.notesDone(done, total)), el("span", {}, words.notesLeft(total - done))]),
    );
    byId("pace").textContent = pace;
    byId("pace").hidden = !pace;
  }
}
