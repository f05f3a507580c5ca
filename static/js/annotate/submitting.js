/** Start, submit and reopen the open note's annotation set without leaving the page. */

import { byId } from "../editor/dom.js";
import { STATE_MESSAGES, words } from "../editor/words.js";

export class Submitting {
  #workbench;
  #isBusy = false;
  #last = null; // the visit that was submitted last on this page, while the page offers to undo that

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    // The second click of a double click would submit the next note.
    byId("submit").addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
    this.#on("start-form", () => this.start());
    this.#on("submit-form", () => this.submit());
    this.#on("reopen-form", () => this.reopen());
    byId("undo-form").addEventListener("submit", (event) => {
      if (!this.#last) return; // drawn by the server: the form reopens the note
      event.preventDefault();
      this.#undo(this.#last);
    });
    byId("submit-empty").addEventListener("click", () => this.submit());
    byId("look").addEventListener("click", () => this.#look());
    byId("keep-open").addEventListener("click", () => this.cancel());
    byId("ask-empty").addEventListener("keydown", (event) => this.#answer(event));
    workbench.on("leave", () => this.#hide());
    workbench.on("drawn", (note) => note.annotationSet.spans().length && byId("look").hidden && this.cancel());
    this.#arrive();
  }

  #on(id, act) {
    byId(id).addEventListener("submit", (event) => {
      event.preventDefault();
      act();
    });
  }

  /** Start the open note's annotation set from a run's spans, if it is not started yet. It can't be changed before. */
  async start() {
    const visit = this.#workbench.note;
    if (visit.annotationSet.state !== "unstarted" || visit.start === "sent") return;
    this.#starting(visit, "sent");
    const outcome = await this.#workbench.api.post(visit.urls.start, {});
    this.#starting(visit, outcome.kind === "ok" ? "done" : "");
    if (outcome.kind === "later") setTimeout(() => visit === this.#workbench.note && this.start(), outcome.wait);
    else if (this.#took(visit, outcome, words.startLost)) this.#started(visit);
  }

  #starting(visit, start) {
    visit.start = start;
    if (visit === this.#workbench.note) byId("start").disabled = start === "sent";
  }

  #started(visit) {
    if (visit !== this.#workbench.note) return;
    const { saving, work } = this.#workbench;
    saving.untell();
    if (byId("start-form").contains(document.activeElement) || document.activeElement === document.body) work.focusNote();
    this.#workbench.emit("started", visit);
    this.#workbench.say(words.opened(visit.name, visit.annotationSet.spans().length));
  }

  /** Submit the note once all changes are saved, and go to the next note. */
  async submit() {
    const visit = this.#workbench.note;
    if (this.#isBusy || !visit.annotationSet.isOpen) return;
    const [isEmpty, left] = [!visit.annotationSet.spans().length, this.#workbench.candidates.left().length];
    if ((isEmpty || left) && byId("ask-empty").hidden) {
      this.#ask(isEmpty, left);
      return;
    }
    this.cancel();
    await this.#busy("submit", async () => {
      this.#workbench.say(words.submitting);
      if (await visit.outbox.drained()) await this.#submit(visit);
      else this.#workbench.saving.tell(visit, words.notSubmitted);
    });
  }

  async #submit(visit) {
    const { kind, data } = await this.#workbench.api.post(visit.urls.submit, { version: visit.annotationSet.version });
    if (!this.#took(visit, { kind, data }, words.submitLost)) return;
    this.#workbench.emit("submitted", visit);
    if (visit === this.#workbench.note) await this.#workbench.go(data.next_open?.url ?? data.next, { submitted: visit.id });
    if (visit !== this.#workbench.note) this.#offer(visit);
  }

  // ── The question about a note without spans, or with candidates left ──────────────────────────────────────────────

  #ask(isEmpty, left) {
    byId("ask-empty-text").textContent = [left && words.candidatesLeft(left), isEmpty && words.empty].filter(Boolean).join(" ");
    byId("look").hidden = !left;
    byId("ask-empty").hidden = false;
    byId("submit-empty").focus();
  }

  /** Withdraw the question; false if there is none. */
  cancel() {
    const root = byId("ask-empty");
    if (root.hidden) return false;
    const hadFocus = root.contains(document.activeElement);
    root.hidden = true;
    if (hadFocus) this.#workbench.work.focusNote();
    return true;
  }

  #look() {
    this.cancel();
    this.#workbench.candidates.look();
    this.#workbench.work.focusNote();
  }

  #answer(event) {
    if (event.key === "Escape") this.cancel();
    else if (event.key === "," && !byId("look").hidden) this.#look();
    else if (event.key === "Enter" && event.target === byId("look")) this.#look();
    else if (event.key !== "Enter") return;
    // The key that asked, held down, is not an answer.
    else if (!event.repeat && event.target === byId("keep-open")) this.cancel();
    else if (!event.repeat) this.submit();
    event.preventDefault();
    event.stopPropagation();
  }

  // ── Undoing a submission ──────────────────────────────────────────────────────────────────────────────────────────

  /** The page was loaded after a submission: tell screen readers, and forget it at a reload. */
  #arrive() {
    if (byId("submitted").hidden) return;
    this.#workbench.say(byId("submitted-text").textContent);
    const { pathname, hash } = window.location;
    window.history.replaceState(window.history.state, "", pathname + hash);
  }

  #offer(visit) {
    this.#last = visit;
    byId("submitted-text").textContent = words.submitted(visit.name);
    byId("submitted").hidden = false;
    this.#workbench.say(words.submittedUndo(visit.name));
  }

  /** The note that follows a submission is left, too. */
  #hide() {
    this.#last = null;
    byId("submitted").hidden = true;
    this.cancel();
  }

  /** Reopen the open note if it is submitted, else the note that was submitted last. False if there is none. */
  reopenOrUndo() {
    if (this.#workbench.note.annotationSet.state === "submitted") this.reopen();
    else if (byId("submitted").hidden) return false;
    else byId("undo-form").requestSubmit();
    return true;
  }

  async #undo(visit) {
    if (this.#isBusy) return;
    await this.#busy("undo-submit", async () => {
      const outcome = await this.#workbench.api.post(visit.urls.reopen, {});
      if (!this.#took(visit, outcome, words.reopenLost)) return;
      this.#workbench.emit("reopened", visit);
      if (visit.annotationSet.waiting) visit.outbox.poke();
      await this.#workbench.go(visit.urls.annotate);
      if (visit === this.#workbench.note) this.#workbench.say(words.reopened);
    });
  }

  /** Make the submitted annotation set a draft again. */
  async reopen() {
    const visit = this.#workbench.note;
    if (this.#isBusy || visit.annotationSet.state !== "submitted") return;
    await this.#busy("reopen", async () => {
      const outcome = await this.#workbench.api.post(visit.urls.reopen, {});
      if (!this.#took(visit, outcome, words.reopenLost)) return;
      this.#workbench.emit("reopened", visit);
      if (visit.annotationSet.waiting) visit.outbox.poke();
      if (visit !== this.#workbench.note) return;
      this.#workbench.saving.untell();
      this.#workbench.work.focusNote(); // the pressed button is hidden now
      this.#workbench.say(words.reopened);
    });
  }

  /**
   * Take over the server's answer about the annotation set; true if the request succeeded.
   * @param {import("./visit.js").Visit} visit
   * @param {import("../editor/api.js").Outcome} outcome
   * @param {string} lost  the message for a request without an answer
   */
  #took(visit, { kind, data }, lost) {
    const { saving, work, note } = this.#workbench;
    if (kind !== "ok" && kind !== "refused") {
      saving.tell(visit, STATE_MESSAGES[kind] && kind !== "offline" ? STATE_MESSAGES[kind] : lost);
      return false;
    }
    if (data.seeded) visit.data.seeded = data.seeded;
    const elsewhere = visit.annotationSet.refreshed(data);
    if (visit === note) work.redraw();
    if (kind === "refused") saving.tell(visit, `${data.message}${elsewhere ? ` ${words.elsewhere(elsewhere)}` : ""}`);
    return kind === "ok";
  }

  /** @param {"submit" | "reopen" | "undo-submit"} button @param {() => Promise<void>} work */
  async #busy(button, work) {
    this.#isBusy = true;
    byId(button).disabled = true;
    await work();
    this.#isBusy = false;
    byId(button).disabled = false;
  }
}
