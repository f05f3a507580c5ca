/** Sending what was changed, hearing what changed elsewhere, submitting. */

import { Outbox } from "./outbox.js";
import { byId } from "./dom.js";
import { words } from "./words.js";

const TOLD = { offline: words.toldOffline, "signed-out": words.toldSignedOut, "other-person": words.toldOtherPerson };

export class Saving {
  #api;
  #urls;
  #reading;
  #panel;
  #index;
  #redraw;
  #outbox;
  #submitting = false;
  #refreshing = false;
  #troubled = false;

  constructor({ api, urls, reading, panel, index, redraw }) {
    this.#api = api;
    this.#urls = urls;
    this.#reading = reading;
    this.#panel = panel;
    this.#index = index;
    this.#redraw = redraw;
    this.#outbox = new Outbox({
      queue: () => reading.next,
      post: (change) => api.post(urls.changes, reading.body(change, (start, end) => index.slice(start, end))),
      renew: () => api.get(this.#spansUrl),
      accepted: (answer) => this.#accepted(answer),
      refused: (answer) => this.#refused(answer),
      show: (state) => this.#show(state),
    });
    this.#listen();
  }

  /** Something was changed. The page paints first: the request is begun in the next turn. */
  poke() {
    this.#show(this.#outbox.state === "saved" ? "saving" : this.#outbox.state);
    setTimeout(() => this.#outbox.poke(), 0);
  }

  get #spansUrl() {
    return `${this.#urls.spans}?version=${this.#reading.version}`;
  }

  #listen() {
    window.addEventListener("online", () => this.#outbox.poke());
    window.addEventListener("focus", () => this.#back());
    window.addEventListener("pageshow", (event) => event.persisted && this.#back());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#back());
    window.addEventListener("beforeunload", (event) => {
      if (this.#reading.waiting) event.preventDefault();
    });
    byId("submit-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
  }

  #show(state) {
    this.#panel.save(state, this.#reading.waiting);
    if (TOLD[state] && !this.#troubled) {
      this.#troubled = true;
      this.#panel.tell(TOLD[state]);
    } else if (state === "saved" && this.#troubled) {
      this.#troubled = false;
      this.#panel.tell(words.toldSavedAgain, "ok");
    }
  }

  #accepted(answer) {
    const elsewhere = this.#reading.accepted(answer);
    this.#redraw();
    if (elsewhere) this.#panel.tell(words.elsewhere(elsewhere));
    else if (answer.message) this.#panel.say(answer.message);
    if (answer.message && !answer.already) this.#panel.tell(answer.message);
  }

  #refused(answer) {
    const { dropped, elsewhere } = this.#reading.refused(answer);
    this.#redraw();
    if (answer.error === "nothing") {
      this.#panel.say(answer.message);
      if (!elsewhere) return;
    }
    const more = elsewhere ? ` ${words.elsewhere(elsewhere)}` : "";
    this.#panel.tell(`${answer.message}${words.dropped(dropped)}${more}`);
  }

  /** Somebody came back to this page: another tab may have changed the note, or the connection may be there again. */
  async #back() {
    if (this.#reading.waiting) {
      this.#outbox.poke();
      return;
    }
    if (this.#refreshing) return;
    this.#refreshing = true;
    const outcome = await this.#api.get(this.#spansUrl);
    this.#refreshing = false;
    if (outcome.kind === "ok" && !this.#reading.waiting) this.#refreshed(outcome.data);
    else if (TOLD[outcome.kind]) this.#show(outcome.kind);
  }

  #refreshed(answer) {
    const before = this.#reading.state;
    const elsewhere = this.#reading.refreshed(answer);
    this.#redraw();
    if (this.#troubled) this.#show("saved");
    if (elsewhere) this.#panel.tell(words.elsewhere(elsewhere));
    else if (before !== this.#reading.state) {
      this.#panel.tell(this.#reading.isOpen ? words.reopenedElsewhere : words.submittedElsewhere);
    }
  }

  /** Hand the note in, once everything is saved, and go to the next one. */
  async submit() {
    if (this.#submitting || !this.#reading.isOpen) return;
    this.#submitting = true;
    byId("submit").disabled = true;
    this.#panel.say(words.submitting);
    if (await this.#outbox.drained()) {
      const { kind, data } = await this.#api.post(this.#urls.submit, { version: this.#reading.version });
      if (kind === "ok") {
        window.location.assign(data.next);
        return;
      }
      this.#notSubmitted(kind, data);
    } else {
      this.#panel.tell(words.notSubmitted);
    }
    this.#submitting = false;
    byId("submit").disabled = false;
  }

  #notSubmitted(kind, data) {
    if (kind === "refused") {
      const elsewhere = this.#reading.refreshed(data);
      this.#redraw();
      this.#panel.tell(`${data.message}${elsewhere ? ` ${words.elsewhere(elsewhere)}` : ""}`);
    } else {
      this.#panel.tell(TOLD[kind] ?? words.submitLost);
    }
  }

  /** Go to another note, after what is waiting was sent; if it can't be, the browser asks. */
  async leaveFor(url) {
    await this.#outbox.drained();
    window.location.assign(url);
  }
}
