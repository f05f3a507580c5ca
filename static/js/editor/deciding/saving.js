/** Sending decisions, receiving what others decided, and finishing the note. */

import { Outbox } from "../outbox.js";
import { byId } from "../dom.js";
import { STATE_MESSAGES, words as shared } from "../words.js";

// Milliseconds in which the page is drawn after a key.
const DRAWN = 20;

export class Saving {
  #api;
  #urls;
  #note;
  #panel;
  #work;
  #words;
  #page;
  #outbox;
  #sent = 0; // the number of changes in the last request
  #finishing = false;
  #refreshing = false;
  #noticeState = ""; // the state whose message was shown last, "" when all is saved

  /**
   * @param {object} parts
   * @param {import("../api.js").Api} parts.api
   * @param {Record<string, string>} parts.urls  state, finish, and what `post` needs
   * @param {import("./queue.js").Decisions} parts.note
   * @param {object} parts.panel
   * @param {object} parts.work
   * @param {Record<string, any>} parts.words  elsewhere, finishedElsewhere, reopenedElsewhere, notFinished, finishLost
   * @param {object} parts.page  the functions of the page:
   *   `post(changes)` sends a batch; `news(news)` words for changes besides decisions (optional);
   *   `mayFinish()` whether the note can be finished, and if not, tells why; `finishData()` further data for finishing (optional);
   *   `finished(next)` goes to the next page; `notYet()` is called if finishing showed something to decide first;
   *   `listen` milliseconds between refreshes (optional)
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
      queue: () => note.batch,
      post: (changes) => {
        this.#sent = changes.length;
        return page.post(changes);
      },
      accepted: (answer) => this.#accepted(answer),
      refused: (answer) => this.#refused(answer),
      show: (state) => this.#show(state),
    });
    this.#listen();
  }

  /** A change was queued. The request starts a little later, so that the page is drawn first. */
  poke() {
    this.#show(this.#outbox.state === "saved" ? "saving" : this.#outbox.state);
    setTimeout(() => this.#outbox.poke(), DRAWN);
  }

  #listen() {
    window.addEventListener("online", () => this.#outbox.poke());
    window.addEventListener("focus", () => this.#back());
    window.addEventListener("pageshow", (event) => event.persisted && this.#back());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#back());
    const { listen } = this.#page;
    if (listen) setInterval(() => document.visibilityState === "visible" && !this.#noticeState && this.#back(), listen);
    window.addEventListener("beforeunload", (event) => {
      if (this.#note.waiting) event.preventDefault();
    });
    byId("finish-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.finish();
    });
  }

  #show(state) {
    this.#panel.save(state, this.#note.waiting);
    if (STATE_MESSAGES[state] && state !== this.#noticeState) {
      this.#noticeState = state;
      this.#panel.tell(STATE_MESSAGES[state]);
    } else if (state === "saved" && this.#noticeState) {
      this.#noticeState = "";
      this.#panel.tell(shared.savedAgain, "ok");
    }
  }

  #accepted(answer) {
    const news = this.#note.accepted(answer);
    this.#work.redraw();
    const said = this.#wordsOf(news);
    if (news.refused) this.#tellRefused(news.refused, news);
    else if (said) this.#panel.tell(said);
    else if (news.touched) this.#work.selectSpan(news.touched);
  }

  #refused(answer) {
    const refused = this.#note.pending.slice(0, this.#sent).map((change) => [change, answer]);
    const news = this.#note.refused(answer, this.#sent);
    this.#work.redraw();
    this.#tellRefused(refused, news);
  }

  /** Tell why changes were refused: the first, and how many more. */
  #tellRefused(refused, news) {
    const [[change, { error, message }]] = refused;
    const key = this.#note.keyOf(change);
    // The page has gone on to the next item, which the person would now decide in place of the refused one.
    if (key && !this.#note.waiting) this.#work.selectSpan(key);
    // A conflict with the code "moved" already says what others decided.
    const more = this.#wordsOf(error === "moved" ? { ...news, elsewhere: false } : news);
    this.#panel.tell([message, refused.length > 1 && shared.refusedMore(refused.length - 1), more].filter(Boolean).join(" "));
    this.#panel.offerUndo("");
    this.#noticeState = ""; // so that the notice "saved again" doesn't replace this message
  }

  #wordsOf(news) {
    return this.#page.news?.(news) || (news.elsewhere ? this.#words.elsewhere : "");
  }

  /** The page became visible again: refresh it, because others may have decided or the connection may be back. */
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
    else if (STATE_MESSAGES[outcome.kind]) this.#show(outcome.kind);
  }

  #refreshed(answer) {
    const { finished } = this.#note;
    const said = this.#wordsOf(this.#note.refreshed(answer));
    const turned = finished !== this.#note.finished;
    if (said || turned) this.#work.redraw();
    if (this.#noticeState) this.#show("saved");
    if (turned) this.#panel.tell(finished ? this.#words.reopenedElsewhere : this.#words.finishedElsewhere);
    else if (said) this.#panel.tell(said);
  }

  /** Finish the note once everything is decided and saved. `more` is further data for the request. */
  async finish(more = null) {
    if (this.#finishing || !(more || this.#page.mayFinish())) return;
    this.#finishing = true;
    byId("finish").disabled = true;
    if (await this.#outbox.drained()) {
      const { kind, data } = await this.#api.post(this.#urls.finish, { ...more, ...this.#page.finishData?.() });
      if (kind === "ok" && data.next) {
        this.#page.finished(data.next);
        return;
      }
      if (kind === "refused" || kind === "ok") {
        this.#note.refreshed(data);
        this.#work.redraw();
      }
      if (kind === "ok") this.#page.notYet();
      else this.#panel.tell(kind === "refused" ? data.message : (STATE_MESSAGES[kind] ?? this.#words.finishLost));
    } else this.#panel.tell(this.#words.notFinished);
    this.#finishing = false;
    byId("finish").disabled = false;
  }

  /** Go to another page after sending the waiting changes. If that fails, the browser asks before leaving. */
  async leaveFor(url) {
    await this.#outbox.drained();
    window.location.assign(url);
  }
}
