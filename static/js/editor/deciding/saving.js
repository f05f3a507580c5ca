/** Sending decisions, hearing what others did, closing the note. */

import { Outbox } from "../outbox.js";
import { byId } from "../dom.js";
import { TOLD, words as shared } from "../words.js";

export class Saving {
  #api;
  #urls;
  #note;
  #panel;
  #work;
  #words;
  #page;
  #outbox;
  #closing = false;
  #refreshing = false;
  #troubled = false;

  /**
   * @param {object} parts
   * @param {import("../api.js").Api} parts.api
   * @param {Record<string, string>} parts.urls  state, close, and what `post` needs
   * @param {import("./queue.js").Decisions} parts.note
   * @param {object} parts.panel
   * @param {object} parts.work
   * @param {Record<string, any>} parts.words  elsewhere, closedElsewhere, reopenedElsewhere, notClosed, closeLost
   * @param {object} parts.page  what the page does its own way:
   *   `post(change)` sends one; `news(news)` are words for what changed besides decisions, or none;
   *   `mayClose()`, which says why not; `closing()`, what the close says besides, or none; `closed(next)` goes on;
   *   `notYet()`, where the close has led to something else first; `listen`, milliseconds between looks, or none
   */
  constructor({ api, urls, note, panel, work, words, page }) {
    this.#api = api;
    this.#urls = urls;
    this.#note = note;
    this.#panel = panel;
    this.#work = work;
    this.#words = words;
    this.#page = page;
    this.#outbox = new Outbox({
      queue: () => note.next,
      post: (change) => page.post(change),
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
    const { listen } = this.#page;
    if (listen) setInterval(() => document.visibilityState === "visible" && !this.#troubled && this.#back(), listen);
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
      this.#panel.tell(shared.toldSavedAgain, "ok");
    }
  }

  #accepted(answer) {
    const news = this.#note.accepted(answer);
    this.#work.redraw();
    const said = this.#wordsOf(news);
    if (said) this.#panel.tell(said);
    else if (news.touched) this.#work.selectSpan(news.touched);
  }

  #refused(answer) {
    const news = this.#note.refused(answer);
    this.#work.redraw();
    // A refusal that says what others decided needs no second sentence about it.
    const more = this.#wordsOf(answer.error === "moved" ? { ...news, elsewhere: false } : news);
    this.#panel.tell([answer.message, more].filter(Boolean).join(" "));
    this.#troubled = false; // so that "all is saved again" doesn't take its place
  }

  #wordsOf(news) {
    return this.#page.news?.(news) || (news.elsewhere ? this.#words.elsewhere : "");
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
    const said = this.#wordsOf(this.#note.refreshed(answer));
    const turned = closed !== this.#note.closed;
    if (said || turned) this.#work.redraw();
    if (this.#troubled) this.#show("saved");
    if (turned) this.#panel.tell(closed ? this.#words.reopenedElsewhere : this.#words.closedElsewhere);
    else if (said) this.#panel.tell(said);
  }

  /** End the work on this note, once everything is decided and saved. `more` is what closing decides besides. */
  async close(more = null) {
    if (this.#closing || !(more || this.#page.mayClose())) return;
    this.#closing = true;
    byId("close").disabled = true;
    if (await this.#outbox.drained()) {
      const { kind, data } = await this.#api.post(this.#urls.close, { ...more, ...this.#page.closing?.() });
      if (kind === "ok" && data.next) {
        this.#page.closed(data.next);
        return;
      }
      if (kind === "refused" || kind === "ok") {
        this.#note.refreshed(data);
        this.#work.redraw();
      }
      if (kind === "ok") this.#page.notYet();
      else this.#panel.tell(kind === "refused" ? data.message : (TOLD[kind] ?? this.#words.closeLost));
    } else this.#panel.tell(this.#words.notClosed);
    this.#closing = false;
    byId("close").disabled = false;
  }

  /** Go to another page, after what is waiting was sent; if it can't be, the browser asks. */
  async leaveFor(url) {
    await this.#outbox.drained();
    window.location.assign(url);
  }
}
