/** The parts of the page around the text that depend on the open note: title, name, forms, messages on its state. */

import { byId, middle } from "../editor/dom.js";
import { words } from "../editor/words.js";

export class Frame {
  #name; // the name that the page shows

  constructor(workbench) {
    this.#name = workbench.note.name;
    workbench.on("open", (note) => this.#open(note));
    workbench.on("drawn", (note) => this.#state(note));
  }

  #open(note) {
    const root = byId("note");
    if (note.name !== this.#name || byId("note-name").querySelector(".name").getAttribute("title") !== note.name) {
      document.title = document.title.startsWith(this.#name) ? note.name + document.title.slice(this.#name.length) : note.name;
      byId("note-name").replaceChildren(middle(note.name));
      byId("crumb-note").replaceChildren(middle(note.name));
      root.setAttribute("aria-label", words.textOf(note.name));
      this.#name = note.name;
    }
    if (note.language) root.lang = note.language;
    else root.removeAttribute("lang");
    byId("start-form").action = note.urls.start;
    byId("submit-form").action = note.urls.submit;
    byId("reopen-form").action = note.urls.reopen;
    byId("outcome").href = note.data.outcome;
    byId("outcome").hidden = !note.data.outcome;
    const listen = /** @type {HTMLAnchorElement} */ (byId("listen"));
    listen.href = note.data.recording;
    listen.hidden = !note.data.recording;
    about("next-open", "after", note);
    about("own-keys", "note", note);
    byId("submit").disabled = false;
    byId("start").disabled = note.start === "sent";
    this.#state(note);
  }

  #state(note) {
    const { seeded } = note.data;
    if (byId("seeded").textContent !== seeded) byId("seeded").textContent = seeded;
    byId("seeded").hidden = !seeded;
    byId("withdrawn").hidden = note.annotationSet.state !== "withdrawn";
  }
}

/** Update a link to a page that needs the open note's id. */
function about(link, name, { id }) {
  const anchor = /** @type {HTMLAnchorElement} */ (byId(link));
  const url = new URL(anchor.href);
  url.search = `?${name}=${id}`;
  anchor.href = url.href;
}
