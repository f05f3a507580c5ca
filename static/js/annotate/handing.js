/** Handing a note in, and taking it back to change it; both without leaving the page. */

import { byId } from "../editor/dom.js";
import { TOLD, words } from "../editor/words.js";

export class Handing {
  #workbench;
  #isBusy = false;

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    // The second click of a double click would submit the next note.
    byId("submit").addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
    this.#on("submit-form", () => this.submit());
    this.#on("reopen-form", () => this.reopen());
  }

  #on(id, act) {
    byId(id).addEventListener("submit", (event) => {
      event.preventDefault();
      act();
    });
  }

  /** Hand the note in, once everything is saved, and go to the next one. */
  async submit() {
    const visit = this.#workbench.note;
    if (this.#isBusy || !visit.reading.isOpen) return;
    await this.#busy("submit", async () => {
      this.#workbench.say(words.submitting);
      if (await visit.outbox.drained()) await this.#submit(visit);
      else this.#workbench.saving.tell(visit, words.notSubmitted);
    });
  }

  async #submit(visit) {
    const { kind, data } = await this.#workbench.api.post(visit.urls.submit, { version: visit.reading.version });
    if (!this.#took(visit, { kind, data }, words.submitLost)) return;
    this.#workbench.emit("submitted", visit);
    if (visit === this.#workbench.note) await this.#workbench.go(data.next_open?.url ?? data.next);
  }

  /** Make the submitted reading a draft again. */
  async reopen() {
    const visit = this.#workbench.note;
    if (this.#isBusy || visit.reading.state !== "submitted") return;
    await this.#busy("reopen", async () => {
      const outcome = await this.#workbench.api.post(visit.urls.reopen, {});
      if (!this.#took(visit, outcome, words.reopenLost)) return;
      this.#workbench.emit("reopened", visit);
      if (visit.reading.waiting) visit.outbox.poke();
      if (visit !== this.#workbench.note) return;
      this.#workbench.saving.untell();
      this.#workbench.work.focusNote(); // the button that was pressed is gone
      this.#workbench.say(words.reopened);
    });
  }

  /** Take over what the server says of the reading; true if it did what was asked. */
  #took(visit, { kind, data }, lost) {
    const { saving, work, note } = this.#workbench;
    if (kind !== "ok" && kind !== "refused") {
      saving.tell(visit, TOLD[kind] && kind !== "offline" ? TOLD[kind] : lost);
      return false;
    }
    const elsewhere = visit.reading.refreshed(kind === "ok" ? { version: data.version, state: data.state } : data);
    if (visit === note) work.redraw();
    if (kind === "refused") saving.tell(visit, `${data.message}${elsewhere ? ` ${words.elsewhere(elsewhere)}` : ""}`);
    return kind === "ok";
  }

  async #busy(button, work) {
    this.#isBusy = true;
    byId(button).disabled = true;
    await work();
    this.#isBusy = false;
    byId(button).disabled = false;
  }
}
