/** Sending decisions, hearing what others decided and what annotators changed, closing the note. */

import { Outbox } from "../workbench/outbox.js";
import { byId } from "../workbench/dom.js";
import { words as saveWords } from "../workbench/words.js";
import { words } from "./words.js";

const TOLD = { offline: saveWords.toldOffline, "signed-out": saveWords.toldSignedOut, "other-person": saveWords.toldOtherPerson };
// How often a page that is looked at asks whether something changed.
const LISTEN = 20_000;

export class AdjudicationSaving {
  #api;
  #urls;
  #note;
  #panel;
  #work;
  #outbox;
  #closing = false;
  #refreshing = false;
  #troubled = false;

  constructor({ api, urls, note, panel, work, index }) {
    this.#api = api;
    this.#urls = urls;
    this.#note = note;
    this.#panel = panel;
    this.#work = work;
    this.#outbox = new Outbox({
      queue: () => note.next,
      post: (change) => this.#post(change, index),
      renew: () => api.get(urls.state),
      accepted: (answer) => this.#accepted(answer),
      refused: (answer) => this.#refused(answer),
      show: (state) => this.#show(state),
    });
    this.#listen();
  }

  #post(change, index) {
    const body = this.#note.body(change);
    if (change.act === "cause") return this.#api.post(this.#urls.cause, body);
    if (change.act === "own") body.quote = index.slice(change.start, change.end);
    return this.#api.post(this.#urls.decide, body);
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
    setInterval(() => document.visibilityState === "visible" && !this.#troubled && this.#back(), LISTEN);
    window.addEventListener("beforeunload", (event) => {
      if (this.#note.waiting) event.preventDefault();
    });
    byId("close-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.close();
    });
  }

  #show(state) {
    this.#panel.save(state, this.#note.waiting);
    if (TOLD[state] && !this.#troubled) {
      this.#troubled = true;
      this.#panel.tell(TOLD[state]);
    } else if (state === "saved" && this.#troubled) {
      this.#troubled = false;
      this.#panel.tell(saveWords.toldSavedAgain, "ok");
    }
  }

  #accepted(answer) {
    const news = this.#note.accepted(answer);
    this.#work.redraw();
    if (!this.#tell(news) && news.touched) this.#work.selectSpan(news.touched);
  }

  #refused(answer) {
    const news = this.#note.refused(answer);
    this.#work.redraw();
    const more = news.readings ? ` ${words.readings}` : news.elsewhere && answer.error !== "moved" ? ` ${words.elsewhere}` : "";
    this.#panel.tell(`${answer.message}${more}`);
  }

  #tell({ elsewhere, readings }) {
    if (readings) this.#panel.tell(words.readings);
    else if (elsewhere) this.#panel.tell(words.elsewhere);
    return readings || elsewhere;
  }

  /** Somebody looks at this page (again): others may have decided, or the connection may be there again. */
  async #back() {
    if (this.#note.waiting) {
      this.#outbox.poke();
      return;
    }
    if (this.#refreshing) return;
    this.#refreshing = true;
    const outcome = await this.#api.get(this.#urls.state);
    this.#refreshing = false;
    if (outcome.kind === "ok" && !this.#note.waiting) this.#refreshed(outcome.data);
    else if (TOLD[outcome.kind]) this.#show(outcome.kind);
  }

  #refreshed(answer) {
    const { closed } = this.#note;
    const news = this.#note.refreshed(answer);
    const turned = closed !== this.#note.closed;
    if (news.elsewhere || news.readings || turned) this.#work.redraw();
    if (this.#troubled) this.#show("saved");
    if (turned) this.#panel.tell(closed ? words.reopenedElsewhere : words.closedElsewhere);
    else this.#tell(news);
  }

  /** End the adjudication of this note, once everything is decided and saved; then its page as a closed one. */
  async close() {
    if (this.#closing) return;
    if (this.#note.closed || !this.#note.ready) {
      this.#panel.tell(this.#note.closed ? words.closedNote : words.notReady);
      return;
    }
    if (this.#note.open) {
      this.#work.walk(1, { open: true });
      this.#panel.tell(words.stillOpen(this.#note.open));
      return;
    }
    this.#closing = true;
    byId("close").disabled = true;
    if (await this.#outbox.drained()) {
      const { kind, data } = await this.#api.post(this.#urls.close, {});
      if (kind === "ok") {
        // The same address again, as the server now shows it; what was chosen in it is over.
        window.location.replace(data.next);
        return;
      }
      if (kind === "refused") {
        this.#note.refreshed(data);
        this.#work.redraw();
      }
      this.#panel.tell(kind === "refused" ? data.message : (TOLD[kind] ?? words.closeLost));
    } else this.#panel.tell(words.notClosed);
    this.#closing = false;
    byId("close").disabled = false;
  }

  /** Go to another page, after what is waiting was sent; if it can't be, the browser asks. */
  async leaveFor(url) {
    await this.#outbox.drained();
    window.location.assign(url);
  }
}
