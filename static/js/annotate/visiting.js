/** Going from note to note in place. Where that can't be done, the browser loads the note's page. */

import { Visits } from "./visits.js";
import { PlaceKeeper } from "./place.js";
import { words } from "../editor/words.js";

/** An annotate page of this project, without what may follow its path; null for any other address. */
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
  #place;
  #wanted = null; // the address that is being opened

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench, made) {
    this.#workbench = workbench;
    this.#visits = new Visits(workbench.api, () => workbench.stamp, made);
    this.#place = new PlaceKeeper(workbench);
    this.#visits.add(workbench.note, this.#here);
    window.addEventListener("popstate", () => this.#back());
  }

  get #here() {
    return new URL(this.#workbench.note.urls.annotate, window.location.href).href;
  }

  all() {
    return this.#visits.all();
  }

  /** The page was just loaded. */
  begin() {
    const note = this.#workbench.note;
    this.#workbench.emit("open");
    this.#workbench.work.redraw();
    this.#place.restore(note);
    this.#ready(note);
  }

  /** @param {string} target  address of a page @returns {Promise<void>} */
  async go(target, { push = true } = {}) {
    const url = noteAddress(target, window.location.href);
    if (url === null) {
      await this.#load(target);
      return;
    }
    if (url === this.#wanted) return;
    this.#wanted = url;
    const visit = url === this.#here ? this.#workbench.note : await this.#visits.get(url);
    if (this.#wanted !== url) return; // another was asked for meanwhile
    this.#wanted = null;
    if (!visit) await this.#load(push && url);
    else if (visit !== this.#workbench.note) this.#open(visit, push && url);
  }

  /** What waits is sent first; if it can't be, the browser asks before it leaves. Without an address: the page that is named already. */
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
    this.#place.restore(visit);
    this.#ready(visit);
    workbench.say(words.opened(visit.name, visit.reading.spans().length));
    if (!visit.confirmed) workbench.saving.confirm();
  }

  #ready(visit) {
    this.#workbench.work.focusNote();
    // Tests and measurements wait for this.
    document.documentElement.dataset.workbench = "ready";
    this.#ahead(visit);
  }

  /** Fetch what is likely to be opened next, once there is time. */
  #ahead(visit) {
    const later = window.requestIdleCallback ?? ((task) => setTimeout(task, 200));
    later(async () => {
      const { next_open: open, next } = visit.data.work;
      for (const there of [open, next]) {
        if (!there || visit !== this.#workbench.note) continue;
        const url = new URL(there.url, window.location.href).href;
        const fetched = !this.#visits.has(url) && (await this.#visits.ahead(url));
        if (fetched) this.#workbench.emit("fetched", fetched);
      }
    });
  }
}
