/** Sending what was changed, and hearing what changed elsewhere. */

import { Outbox } from "../editor/outbox.js";
import { takeOverKeys } from "./label_keys.js";
import { TOLD, words } from "../editor/words.js";

// A note that was opened without the server is asked about again after this many milliseconds.
const AGAIN = 5000;
const FRAME = 17;
// The worst first.
const STATES = ["other-person", "signed-out", "no-access", "submitted", "offline", "later", "saving", "saved"];

/** What is true of all notes together: the worst of their states. */
export function worst(states) {
  return STATES.find((state) => states.includes(state)) ?? "saved";
}

export class Saving {
  #workbench;
  #refreshing = null; // the visit about which the server is being asked
  #troubled = false;
  #refusal = ""; // what was said of changes that were refused since all was saved last
  #lost = 0; // how many these are

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.#listen();
  }

  /** Each note has its own outbox, so that one that was left goes on being saved. */
  attach(visit) {
    const { reading, index, urls } = visit;
    const { api } = this.#workbench;
    visit.outbox = new Outbox({
      queue: () => reading.next,
      post: async (change) =>
        this.#closed(visit, await api.post(urls.changes, reading.body(change, (start, end) => index.slice(start, end)))),
      accepted: (answer) => this.#accepted(visit, answer),
      refused: (answer) => this.#refused(visit, answer),
      show: () => this.#show(),
    });
  }

  /** A change to a note that was handed in meanwhile waits until somebody reopens it: nothing of it is lost. */
  #closed(visit, outcome) {
    if (outcome.kind === "ok" && !visit.reading.isOpen) visit.reading.stands("draft");
    if (outcome.kind !== "refused" || outcome.data.error !== "submitted") return outcome;
    visit.reading.stands("submitted");
    this.#redraw(visit);
    return { kind: "submitted" };
  }

  get #visit() {
    return this.#workbench.note;
  }

  get #visits() {
    return this.#workbench.visits();
  }

  get waiting() {
    return this.#visits.reduce((sum, { reading }) => sum + reading.waiting, 0);
  }

  /** Something was changed. The page paints first: the request is begun after the gesture's own frame. */
  poke() {
    this.#show();
    setTimeout(() => this.#pokeAll(), FRAME);
  }

  #pokeAll() {
    for (const { reading, outbox } of this.#visits) if (reading.waiting) outbox.poke();
  }

  /** Resolves to true once the changes of all notes are saved, to false as soon as one has to wait. */
  async drained() {
    const done = await Promise.all(this.#visits.filter(({ reading }) => reading.waiting).map(({ outbox }) => outbox.drained()));
    return done.every(Boolean);
  }

  #spansUrl({ urls, reading, confirmed }) {
    return `${urls.spans}?version=${reading.version}&labels=${this.#workbench.stamp}${confirmed ? "" : "&opened=1"}`;
  }

  #listen() {
    window.addEventListener("online", () => this.#pokeAll());
    window.addEventListener("focus", () => this.#back());
    window.addEventListener("pageshow", (event) => event.persisted && this.#back());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#back());
    window.addEventListener("beforeunload", (event) => {
      if (this.waiting) event.preventDefault();
    });
  }

  /** What the page says is true of every note that it has, also of those that were left. @param {string} [heard] now */
  #show(heard) {
    const { panel } = this.#workbench;
    const { waiting } = this;
    const stuck = worst(this.#visits.map(({ outbox, reading }) => (reading.waiting ? outbox.state : "saved")));
    const state = worst([heard ?? "saved", waiting && stuck === "saved" ? "saving" : stuck]);
    panel.save(state, waiting);
    if (TOLD[state] && !this.#troubled) {
      this.#troubled = true;
      panel.tell(this.#told(state));
    } else if (state === "saved") {
      if (this.#troubled && !this.#lost) panel.tell(words.toldSavedAgain, "ok");
      this.#troubled = false;
      this.#lost = 0;
      this.#refusal = "";
    }
  }

  #told(state) {
    const closed = this.#visits.find(({ outbox, reading }) => reading.waiting && outbox.state === state);
    return state === "submitted" && closed ? this.#named(closed, TOLD[state]) : TOLD[state];
  }

  /** What was said about the note that was left no longer matters; that the server is away does. */
  untell() {
    if (!this.#troubled) this.#workbench.panel.tell("");
  }

  /** Say something about a note: with its name where another is open. What was refused just before stays to be read. */
  tell(visit, message) {
    this.#workbench.panel.tell(`${this.#refusal} ${this.#named(visit, message)}`.trim());
  }

  #named(visit, message) {
    return visit === this.#visit ? message : words.inNote(visit.name, message);
  }

  #redraw(visit) {
    if (visit === this.#visit) this.#workbench.work.redraw();
  }

  #accepted(visit, answer) {
    // The server answers: no need for the other notes to wait any longer.
    for (const { outbox, reading } of this.#visits) if (reading.waiting && outbox !== visit.outbox && outbox.state === "offline") outbox.poke();
    const elsewhere = visit.reading.accepted(answer);
    this.#redraw(visit);
    if (elsewhere) this.tell(visit, words.elsewhere(elsewhere));
    else if (answer.message && visit === this.#visit) this.#workbench.say(answer.message);
    if (answer.message && !answer.already) this.tell(visit, answer.message);
  }

  #refused(visit, answer) {
    const { dropped, elsewhere } = visit.reading.refused(answer);
    this.#redraw(visit);
    const more = elsewhere ? words.elsewhere(elsewhere) : "";
    if (answer.error === "nothing") {
      this.#workbench.say(answer.message);
      if (more) this.tell(visit, more);
      return;
    }
    this.#lost += dropped;
    this.#refusal = "";
    const refusal = words.refusedMany(answer.message, this.#lost);
    this.tell(visit, `${refusal} ${more}`.trim());
    this.#refusal = this.#named(visit, refusal);
  }

  /** Somebody came back to this page: another tab may have changed the note, or the connection may be there again. */
  #back() {
    if (this.waiting) this.#pokeAll();
    if (!this.#visit.reading.waiting) this.confirm();
  }

  /** Ask the server whether what the open note shows is what is saved. */
  async confirm() {
    const visit = this.#visit;
    if (this.#refreshing === visit) return;
    this.#refreshing = visit;
    const { kind, data } = await this.#workbench.api.get(this.#spansUrl(visit));
    if (this.#refreshing === visit) this.#refreshing = null;
    if (visit !== this.#visit) return;
    if (kind === "ok") visit.confirmed = true;
    if (kind === "ok" && data.labels) takeOverKeys(this.#workbench, data);
    if (kind === "ok" && !visit.reading.waiting) this.#refreshed(visit, data);
    else if (kind === "no-access" && !this.waiting) window.location.assign(visit.urls.annotate);
    else if (TOLD[kind]) this.#show(kind);
    else if (kind === "lost" && !visit.confirmed) setTimeout(() => visit === this.#visit && this.confirm(), AGAIN);
  }

  #refreshed(visit, answer) {
    const { reading } = visit;
    const before = reading.state;
    const elsewhere = reading.refreshed(answer);
    const seeded = answer.seeded !== undefined && answer.seeded !== visit.data.seeded;
    if (seeded) visit.data.seeded = answer.seeded;
    this.#redraw(visit);
    if (this.#troubled) this.#show();
    // A reading that begins now begins from a run's spans: the page says so above the text.
    if (elsewhere && !seeded) this.tell(visit, words.elsewhere(elsewhere));
    else if (before !== reading.state) this.tell(visit, reading.isOpen ? words.reopenedElsewhere : words.submittedElsewhere);
  }
}
