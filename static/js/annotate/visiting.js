/** Open notes without loading a page; where that is impossible, the browser loads the note's page. */

import { Visits } from "./visits.js";
import { PositionKeeper } from "./position.js";
import { words } from "../editor/words.js";

/** The address of an annotate page of this project without its fragment; null for any other address. */
export function noteAddress(target, here) {
  const url = new URL(target, here);
  const pattern = /^(.*\/notes\/)\d+(\/annotate\/)$/;
  const [own, other] = [pattern.exec(new URL(here).pathname), pattern.exec(url.pathname)];
  if (!own || !other || own[1] !== other[1] || url.origin !== new URL(here).origin || url.search) return null;
  return url.origin + url.pathname;
}

export class Visiting {
  #workbench;
  #visits;
  #position;
  #wanted = null; // the address being opened

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench, made) {
    this.#workbench = workbench;
    this.#visits = new Visits(workbench.api, () => workbench.stamp, made);
    this.#position = new PositionKeeper(workbench);
    this.#visits.add(workbench.note, this.#here);
    window.addEventListener("popstate", () => this.#back());
  }

  get #here() {
    return new URL(this.#workbench.note.urls.annotate, window.location.href).href;
  }

  all() {
    return this.#visits.all();
  }

  /** Begin with the note that the page was loaded with. */
  begin() {
    const note = this.#workbench.note;
    this.#workbench.emit("open");
    this.#workbench.work.redraw();
    this.#position.restore(note);
    this.#ready(note);
    this.#workbench.submitting.start();
  }

  /** @param {string} target  address of a page @returns {Promise<void>} */
  async go(target, { push = true, submitted = 0 } = {}) {
    const url = noteAddress(target, window.location.href);
    if (url === null) {
      await this.#load(target);
      return;
    }
    if (url === this.#wanted) return;
    this.#wanted = url;
    const visit = url === this.#here ? this.#workbench.note : await this.#visits.get(url);
    if (this.#wanted !== url) return; // another note was requested meanwhile
    this.#wanted = null;
    if (!visit) await this.#load(push && (submitted ? `${url}?submitted=${submitted}` : url));
    else if (visit !== this.#workbench.note) this.#open(visit, push && url);
  }

  /** Load a page after sending unsent changes; if that fails, the browser asks before it leaves. Without an address, reload. */
  async #load(url) {
    await this.#workbench.saving.drained();
    if (url) window.location.assign(url);
    else window.location.reload();
  }

  #back() {
    this.go(window.location.href, { push: false });
  }

  #open(visit, url) {
    const workbench = this.#workbench;
    const before = workbench.note;
    workbench.emit("leave");
    workbench.work.forget();
    before.unmount();
    workbench.note = visit;
    visit.mount(workbench.labels);
    if (url) window.history.pushState(null, "", url);
    workbench.saving.untell();
    workbench.emit("open");
    workbench.work.redraw();
    this.#position.restore(visit);
    this.#ready(visit);
    workbench.say(words.opened(visit.name, visit.annotationSet.spans().length));
    workbench.submitting.start();
    if (!visit.confirmed) workbench.saving.confirm();
  }

  #ready(visit) {
    this.#workbench.work.focusNote();
    // Tests and measurements wait for this.
    document.documentElement.dataset.workbench = "ready";
    this.#ahead(visit);
  }

  /** Fetch the notes that are likely to be opened next, when the browser is idle. */
  #ahead(visit) {
    const later = window.requestIdleCallback ?? ((task) => setTimeout(task, 200));
    later(async () => {
      const { next_open: open, next } = visit.data.work;
      for (const following of [open, next]) {
        if (!following || visit !== this.#workbench.note) continue;
        const url = new URL(following.url, window.location.href).href;
        const fetched = !this.#visits.has(url) && (await this.#visits.ahead(url));
        if (fetched) this.#workbench.emit("fetched", fetched);
      }
    });
  }
}
