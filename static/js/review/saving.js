/** Sending decisions, hearing what others decided, closing the note. */

import { Outbox } from "../workbench/outbox.js";
import { byId } from "../workbench/dom.js";
import { words as saveWords } from "../workbench/words.js";
import { words } from "./words.js";

const TOLD = { offline: saveWords.toldOffline, "signed-out": saveWords.toldSignedOut, "other-person": saveWords.toldOtherPerson };
const QUOTED = ["correct", "add"];

export class ReviewSaving {
  #api;
  #urls;
  #review;
  #panel;
  #work;
  #outbox;
  #closing = false;
  #refreshing = false;
  #troubled = false;

  constructor({ api, urls, review, panel, work, index }) {
    this.#api = api;
    this.#urls = urls;
    this.#review = review;
    this.#panel = panel;
    this.#work = work;
    this.#outbox = new Outbox({
      queue: () => review.next,
      post: (change) =>
        api.post(urls.decide, QUOTED.includes(change.act) ? { ...change, quote: index.slice(change.start, change.end) } : change),
      renew: () => api.get(urls.state),
      accepted: (answer) => this.#accepted(answer),
      refused: (answer) => this.#refused(answer),
      show: (state) => this.#show(state),
    });
    this.#listen();
  }

  /** Something was decided. The page paints first: the request is begun in the next turn. */
  poke() {
    this.#show(this.#outbox.state === "saved" ? "saving" : this.#outbox.state);
    setTimeout(() => this.#outbox.poke(), 0);
  }

  #listen() {
    window.addEventListener("online", () => this.#outbox.poke());
    window.addEventListener("focus", () => this.#back());
    window.addEventListener("pageshow", (event) => event.persisted && this.#back());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#back());
    window.addEventListener("beforeunload", (event) => {
      if (this.#review.waiting) event.preventDefault();
    });
    byId("close-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.close();
    });
  }

  #show(state) {
    this.#panel.save(state, this.#review.waiting);
    if (TOLD[state] && !this.#troubled) {
      this.#troubled = true;
      this.#panel.tell(TOLD[state]);
    } else if (state === "saved" && this.#troubled) {
      this.#troubled = false;
      this.#panel.tell(saveWords.toldSavedAgain, "ok");
    }
  }

  #accepted(answer) {
    const { elsewhere, touched } = this.#review.accepted(answer);
    this.#work.redraw();
    if (elsewhere) this.#panel.tell(words.changed);
    else if (touched) this.#work.selectSpan(touched);
  }

  #refused(answer) {
    const { elsewhere } = this.#review.refused(answer);
    this.#work.redraw();
    const more = elsewhere && answer.error !== "moved" ? ` ${words.changed}` : "";
    this.#panel.tell(`${answer.message}${more}`);
  }

  /** Somebody came back to this page: another reviewer may have decided, or the connection may be there again. */
  async #back() {
    if (this.#review.waiting) {
      this.#outbox.poke();
      return;
    }
    if (this.#refreshing) return;
    this.#refreshing = true;
    const outcome = await this.#api.get(this.#urls.state);
    this.#refreshing = false;
    if (outcome.kind === "ok" && !this.#review.waiting) this.#refreshed(outcome.data);
    else if (TOLD[outcome.kind]) this.#show(outcome.kind);
  }

  #refreshed(answer) {
    const { closed } = this.#review;
    const elsewhere = this.#review.refreshed(answer);
    if (elsewhere || closed !== this.#review.closed) this.#work.redraw();
    if (this.#troubled) this.#show("saved");
    if (closed !== this.#review.closed) this.#panel.tell(closed ? words.reopenedElsewhere : words.closedElsewhere);
    else if (elsewhere) this.#panel.tell(words.changed);
  }

  /** End the review of this note, once everything is decided and saved, and go to the next one. */
  async close() {
    if (this.#closing) return;
    if (this.#review.closed) {
      this.#panel.tell(words.closed);
      return;
    }
    if (this.#review.open) {
      if (this.#work.selected?.proposal?.state !== "open") this.#work.walk(1, { open: true });
      this.#panel.tell(words.stillOpen(this.#review.open));
      return;
    }
    this.#closing = true;
    byId("close").disabled = true;
    if (await this.#outbox.drained()) {
      const { kind, data } = await this.#api.post(this.#urls.close, {});
      if (kind === "ok") {
        window.location.assign(data.next);
        return;
      }
      if (kind === "refused") {
        this.#review.refreshed(data);
        this.#work.redraw();
      }
      this.#panel.tell(kind === "refused" ? data.message : (TOLD[kind] ?? words.closeLost));
    } else this.#panel.tell(words.notClosed);
    this.#closing = false;
    byId("close").disabled = false;
  }

  /** Go to another note, after what is waiting was sent; if it can't be, the browser asks. */
  async leaveFor(url) {
    await this.#outbox.drained();
    window.location.assign(url);
  }
}
