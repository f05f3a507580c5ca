/** Send changes, and notice changes that were made elsewhere. */

import { Outbox } from "../editor/outbox.js";
import { takeOverKeys } from "./label_keys.js";
import { STATE_MESSAGES, words } from "../editor/words.js";

// Milliseconds after which the server is asked again about a note whose opening it hasn't confirmed.
const AGAIN = 5000;
const FRAME = 17;
// The states of saving, worst first.
const STATES = ["other-person", "signed-out", "no-access", "submitted", "offline", "later", "saving", "saved"];

/** The worst of several states, which the page shows for all notes together. */
export function worst(states) {
  return STATES.find((state) => states.includes(state)) ?? "saved";
}

export class Saving {
  #workbench;
  #asked = null; // the request for the open note's state that is under way, and whether the person returned meanwhile
  #noticeState = ""; // the state whose message was shown last, "" when all is saved
  #lostMessage = ""; // the message on changes refused since all was last saved
  #lost = 0; // the number of these changes

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    this.#listen();
  }

  /** Give a note its own outbox, so that its changes are still saved after another note is opened. */
  attach(visit) {
    const { annotationSet, index, urls } = visit;
    const { api } = this.#workbench;
    visit.outbox = new Outbox({
      queue: () => annotationSet.next,
      post: async (change) =>
        this.#closed(visit, await api.post(urls.changes, annotationSet.body(change, (start, end) => index.slice(start, end)))),
      accepted: (answer) => this.#accepted(visit, answer),
      refused: (answer) => this.#refused(visit, answer),
      show: () => this.#show(),
    });
  }

  /** A change to a note that was submitted meanwhile waits until the note is reopened, so that it isn't lost. */
  #closed(visit, outcome) {
    if (outcome.kind === "ok" && !visit.annotationSet.isOpen) visit.annotationSet.stands("draft");
    if (outcome.kind !== "refused" || outcome.data.error !== "submitted") return outcome;
    visit.annotationSet.stands("submitted");
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
    return this.#visits.reduce((sum, { annotationSet }) => sum + annotationSet.waiting, 0);
  }

  /** Send changes after the gesture's frame is painted. */
  poke() {
    this.#show();
    setTimeout(() => this.#pokeAll(), FRAME);
  }

  #pokeAll() {
    for (const { annotationSet, outbox } of this.#visits) if (annotationSet.waiting) outbox.poke();
  }

  /** Resolves to true once the changes of all notes are saved, or to false as soon as one has to wait. */
  async drained() {
    const done = await Promise.all(this.#visits.filter(({ annotationSet }) => annotationSet.waiting).map(({ outbox }) => outbox.drained()));
    return done.every(Boolean);
  }

  #spansUrl({ urls, annotationSet, confirmed }) {
    return `${urls.spans}?version=${annotationSet.version}&labels=${this.#workbench.stamp}${confirmed ? "" : "&opened=1"}`;
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

  /** Show the state of saving over all notes in memory, not only the open one. @param {string} [heard] a state just learned */
  #show(heard) {
    const { panel } = this.#workbench;
    const { waiting } = this;
    const stuck = worst(this.#visits.map(({ outbox, annotationSet }) => (annotationSet.waiting ? outbox.state : "saved")));
    const state = worst([heard ?? "saved", waiting && stuck === "saved" ? "saving" : stuck]);
    panel.save(state, waiting);
    if (STATE_MESSAGES[state] && state !== this.#noticeState) {
      this.#noticeState = state;
      panel.tell(this.#messageFor(state));
    } else if (state === "saved") {
      if (this.#noticeState && !this.#lost) panel.tell(words.savedAgain, "ok");
      this.#noticeState = "";
      this.#lost = 0;
      this.#lostMessage = "";
    }
  }

  #messageFor(state) {
    const closed = this.#visits.find(({ outbox, annotationSet }) => annotationSet.waiting && outbox.state === state);
    return state === "submitted" && closed ? this.#named(closed, STATE_MESSAGES[state]) : STATE_MESSAGES[state];
  }

  /** Close a message about the note that was left, but not one about the connection or the sign-in. */
  untell() {
    if (!this.#noticeState) this.#workbench.panel.tell("");
  }

  /** Show a message about a note, with its name if another one is open, after the message on refused changes, if any. */
  tell(visit, message) {
    this.#workbench.panel.tell(`${this.#lostMessage} ${this.#named(visit, message)}`.trim());
  }

  #named(visit, message) {
    return visit === this.#visit ? message : words.inNote(visit.name, message);
  }

  #redraw(visit) {
    if (visit === this.#visit) this.#workbench.work.redraw();
  }

  #accepted(visit, answer) {
    // The server answers again, so the other notes needn't wait any longer.
    for (const { outbox, annotationSet } of this.#visits) if (annotationSet.waiting && outbox !== visit.outbox && outbox.state === "offline") outbox.poke();
    const elsewhere = visit.annotationSet.accepted(answer);
    // The server started the set from a run's spans before it made the change: the page says so above the text.
    if (answer.seeded) visit.data.seeded = answer.seeded;
    this.#redraw(visit);
    if (elsewhere && !answer.seeded) this.tell(visit, words.elsewhere(elsewhere));
    else if (answer.message && visit === this.#visit) this.#workbench.say(answer.message);
    if (answer.message && !answer.already) this.tell(visit, answer.message);
  }

  #refused(visit, answer) {
    const { dropped, elsewhere } = visit.annotationSet.refused(answer);
    this.#redraw(visit);
    const more = elsewhere ? words.elsewhere(elsewhere) : "";
    if (answer.error === "nothing") {
      this.#workbench.say(answer.message);
      if (more) this.tell(visit, more);
      return;
    }
    this.#lost += dropped;
    this.#lostMessage = "";
    const message = words.refusedMany(answer.message, this.#lost);
    this.tell(visit, `${message} ${more}`.trim());
    this.#lostMessage = this.#named(visit, message);
  }

  /** The person returned to this page: another tab may have changed the note, or the connection may be back. */
  #back() {
    if (this.waiting) this.#pokeAll();
    if (!this.#visit.annotationSet.waiting) this.confirm();
  }

  /** Ask the server whether the open note shows the saved state; once more if the person returns before the answer. */
  async confirm() {
    const visit = this.#visit;
    if (this.#asked?.visit === visit) {
      this.#asked.again = true;
      return;
    }
    const asked = { visit, again: false };
    this.#asked = asked;
    const { version } = visit.annotationSet;
    const answer = await this.#workbench.api.get(this.#spansUrl(visit));
    if (this.#asked === asked) this.#asked = null;
    if (visit !== this.#visit) return;
    // A change that was saved meanwhile may be missing in this answer, which the server then gave before.
    const overtaken = visit.annotationSet.version !== version;
    this.#answered(visit, answer, overtaken);
    if ((asked.again || overtaken) && !visit.annotationSet.waiting) this.confirm();
  }

  /**
   * @param {object} visit
   * @param {import("../editor/api.js").Outcome} outcome
   * @param {boolean} overtaken  whether a change was saved since the request
   */
  #answered(visit, { kind, data }, overtaken) {
    if (kind === "ok") visit.confirmed = true;
    if (kind === "ok" && data.labels) takeOverKeys(this.#workbench, data);
    if (kind === "ok" && !visit.annotationSet.waiting && !overtaken) this.#refreshed(visit, data);
    else if (kind === "no-access" && !this.waiting) window.location.assign(visit.urls.annotate);
    else if (STATE_MESSAGES[kind]) this.#show(kind);
    else if (kind === "lost" && !visit.confirmed) setTimeout(() => visit === this.#visit && this.confirm(), AGAIN);
  }

  #refreshed(visit, answer) {
    const { annotationSet } = visit;
    const before = annotationSet.state;
    // This answer is older than the one to the request that started the set.
    if (answer.state === "unstarted" && visit.start === "done") return;
    const elsewhere = annotationSet.refreshed(answer);
    const seeded = answer.seeded !== undefined && answer.seeded !== visit.data.seeded;
    if (seeded) visit.data.seeded = answer.seeded;
    this.#redraw(visit);
    if (this.#noticeState) this.#show();
    if (annotationSet.state === "unstarted") this.#workbench.submitting.start();
    // The page says above the text that a set was started from a run's spans.
    else if (elsewhere && !seeded) this.tell(visit, words.elsewhere(elsewhere));
    else if (before !== annotationSet.state && !(before === "unstarted" && annotationSet.isOpen)) this.tell(visit, annotationSet.isOpen ? words.reopenedElsewhere : words.submittedElsewhere);
  }
}
