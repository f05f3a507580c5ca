/** Comments on spans and on the note in the side panel: write, answer, resolve. Spans with comments are marked in the text. */

import { byId, el } from "../editor/dom.js";
import { Compose } from "./compose.js";
import { shorten } from "../editor/panel.js";
import { talk as words } from "./talk_words.js";
import { threadNode } from "./threads.js";
import { words as pageWords } from "../editor/words.js";

const QUOTE = 60;

export class Comments {
  #workbench;
  #talk;
  #drafts = new Map(); // note id -> the unsaved comment there
  #compose;
  #about = null; // the bounds that the comment being written is about
  #marked = new Map(); // key of a commented span -> its pieces on the page

  /** @param {import("./workbench.js").Workbench} workbench @param {import("./talk.js").Talk} talk */
  constructor(workbench, talk) {
    this.#workbench = workbench;
    this.#talk = talk;
    this.#compose = new Compose(byId("comment-compose"), {
      send: (body) => this.#send(body),
      closed: (saved) => this.#closed(saved),
    });
    talk.on(() => this.#show());
    workbench.on("drawn", () => {
      this.#drawn();
      this.#paint();
    });
    workbench.on("selected", () => this.#point());
    workbench.on("leave", (note) => this.#leave(note));
    workbench.on("open", (note) => this.#open(note));
    byId("comment-add").addEventListener("click", () => this.begin());
    byId("comments-earlier").addEventListener("click", () => this.#earlier());
    byId("threads").addEventListener("click", (event) => this.#click(event));
    window.addEventListener("beforeunload", (event) => {
      if (this.#compose.hasText || [...this.#drafts.values()].some(({ text }) => text.trim())) event.preventDefault();
    });
  }

  actions() {
    return [{ keys: ["m"], group: pageWords.groups.note, what: words.action, run: () => this.begin() }];
  }

  /** Write a comment on the selected span, on the selected text, or on the note. */
  begin() {
    const { work, note } = this.#workbench;
    const { selected, range } = work;
    const bounds = selected ?? range;
    const about = bounds ? { start: bounds.start, end: bounds.end } : {};
    if (selected) about.key = selected.key;
    this.#compose.open({ act: "add", ...about }, this.#title(bounds, selected), words.save);
    this.#keep(bounds);
    byId("comments").scrollIntoView({ block: "nearest" });
    this.#drafts.delete(note.id);
    return true;
  }

  /** Show what the comment is about for as long as it is written: the browser's selection ends where the writing begins. */
  #keep(bounds) {
    this.#about = bounds ? { start: bounds.start, end: bounds.end } : null;
    this.#paint();
  }

  #paint() {
    if (!globalThis.CSS?.highlights) return;
    if (this.#about) CSS.highlights.set("about", new Highlight(this.#workbench.note.layout.range(this.#about.start, this.#about.end)));
    else CSS.highlights.delete("about");
  }

  #title(bounds, span) {
    if (!bounds) return words.onNote;
    const quote = shorten(this.#workbench.note.index.slice(bounds.start, bounds.end), QUOTE);
    const label = span && this.#workbench.labels.get(span.label)?.name;
    return label ? words.onSpan(label, quote) : words.onText(quote);
  }

  async #send({ key, ...body }) {
    const { note } = this.#workbench;
    const span = key === undefined ? null : note.annotationSet.idOf(key);
    const trouble = await this.#talk.post(note.urls.comments, span === null ? body : { ...body, span });
    if (trouble === null) this.#workbench.say(words.saved);
    return trouble;
  }

  #closed(saved) {
    this.#keep(null);
    if (saved || !byId("comment-add").isConnected) this.#workbench.work.focusNote();
    else byId("comment-add").focus();
  }

  #leave(note) {
    const draft = this.#compose.draft();
    if (draft) this.#drafts.set(note.id, draft);
    this.#compose.close();
    this.#keep(null);
  }

  #open(note) {
    this.#marked.clear();
    const draft = this.#drafts.get(note.id);
    if (draft) {
      this.#compose.restore(draft);
      this.#keep(draft.body.start === undefined ? null : draft.body);
    }
    this.#drafts.delete(note.id);
  }

  // ── The list ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #show() {
    const { threads, mayComment } = this.#talk;
    const open = threads.filter(({ resolved }) => !resolved);
    const resolved = threads.filter((thread) => thread.resolved);
    const root = byId("threads");
    const focused = root.contains(document.activeElement) ? document.activeElement : null;
    const unfolded = root.querySelector("details")?.open ?? false;
    const node = (thread) => threadNode(thread, { mayComment, title: this.#titleOf(thread) });
    root.replaceChildren(
      ...open.map(node),
      ...(resolved.length
        ? [el("li", {}, el("details", { open: unfolded }, el("summary", {}, words.resolvedOnes(resolved.length)), el("ol", { class: "threads" }, ...resolved.map(node))))]
        : []),
    );
    const more = this.#talk.earlier !== null;
    byId("comments-count").textContent = open.length ? `${open.length}${more ? "+" : ""}` : "";
    byId("comment-add").hidden = !mayComment;
    byId("comments-earlier").hidden = !more;
    if (focused) this.#focusAgain(focused);
    this.#mark();
    this.#point();
  }

  /** Load earlier threads. If the button is hidden afterwards, the list gets the focus. */
  async #earlier() {
    await this.#talk.loadEarlier();
    const button = byId("comments-earlier");
    if (!button.hidden) return;
    if (document.activeElement === button || document.activeElement === document.body) byId("threads").querySelector("button")?.focus();
  }

  /** After the list was redrawn, focus the element that replaces the one that had the focus, or one near it. */
  #focusAgain(element) {
    const root = byId("threads");
    const { comment } = element.closest("[data-comment]")?.dataset ?? {};
    const { thread } = element.closest("[data-thread]")?.dataset ?? {};
    const near = [
      root.querySelector(`[data-comment="${comment}"] button[data-act="${element.dataset.act}"]`),
      root.querySelector(`[data-thread="${thread}"] button`),
      root.querySelector("summary"),
      byId("comment-add"),
    ];
    // A resolved thread may be hidden in the folded list.
    near.find((each) => each?.checkVisibility())?.focus();
  }

  /** What a thread is about: the span's current label and text, the text, or the note. */
  #titleOf(thread) {
    if (thread.start === null) return words.onNote;
    const span = this.#spanOf(thread);
    // This page knows the person's own spans better than the server's answer, which may be older.
    if (!span && (thread.mine ? thread.span !== null : thread.gone)) return words.wasAt(thread.start, thread.end);
    return this.#title(span ?? thread, span);
  }

  #spanOf(thread) {
    const { annotationSet } = this.#workbench.note;
    return thread.span === null ? null : annotationSet.get(annotationSet.keyOf(thread.span));
  }

  async #click(event) {
    const button = event.target.closest("button[data-act]");
    if (!button) return;
    const id = Number(button.closest("[data-comment]").dataset.comment);
    const thread = this.#talk.threads.find((each) => each.id === id || each.answers.some((answer) => answer.id === id));
    const { act } = button.dataset;
    if (act === "go") this.#go(thread);
    else if (act === "answer") this.#compose.open({ act, comment: id }, words.answerTo(this.#titleOf(thread)), words.saveAnswer);
    else if (act === "edit") {
      const comment = [thread, ...thread.answers].find((each) => each.id === id);
      this.#compose.open({ act, comment: id }, words.edit, words.saveEdit, comment.text);
    } else if (act === "delete" && button.dataset.sure !== "yes") {
      button.dataset.sure = "yes";
      button.textContent = words.removeSure;
    } else await this.#do(act, id);
  }

  async #do(act, comment) {
    const trouble = await this.#talk.post(this.#workbench.note.urls.comments, { act, comment });
    if (trouble) this.#workbench.tell(trouble);
    else this.#workbench.say({ delete: words.removed, resolve: words.resolved, open: words.opened }[act]);
  }

  /** Go to what a thread is about: the span if it still exists, else the text. */
  #go(thread) {
    const { work, note } = this.#workbench;
    if (thread.start === null) return;
    const span = this.#spanOf(thread);
    if (span) work.selectSpan(span.key);
    else work.selectText(thread.start, Math.min(thread.end, note.index.length), { exact: true });
    work.focusNote();
  }

  /** Update the titles of threads after spans have changed. */
  #drawn() {
    if (!this.#talk.threads.length) return;
    for (const thread of this.#talk.threads) {
      const shown = thread.span !== null && byId("threads").querySelector(`[data-thread="${thread.id}"] > .thread-subject`);
      if (!shown) continue;
      const title = this.#titleOf(thread);
      if (shown.textContent !== title) shown.textContent = title;
    }
    this.#mark();
  }

  // ── Marks in the text ───────────────────────────────────────────────────────────────────────────────────────────────

  /** Mark the spans with comments. Only spans whose pieces were redrawn are looked up again. */
  #mark() {
    const { annotationSet, view } = this.#workbench.note;
    const wanted = new Set(this.#talk.threads.filter(({ span, resolved }) => span !== null && !resolved).map(({ span }) => annotationSet.keyOf(span)));
    for (const [key, pieces] of this.#marked) {
      if (wanted.has(key)) continue;
      for (const piece of pieces) unmark(piece);
      this.#marked.delete(key);
    }
    for (const key of wanted) {
      const known = this.#marked.get(key);
      if (known?.length && known.every((piece) => piece.isConnected)) continue;
      const pieces = annotationSet.get(key) ? view.pieces(key) : [];
      for (const piece of pieces) mark(piece);
      this.#marked.set(key, pieces);
    }
  }

  /** Highlight the threads of the selected span. */
  #point() {
    const { work, note } = this.#workbench;
    const key = work?.selected?.key;
    const id = key === undefined ? null : note.annotationSet.idOf(key);
    for (const node of byId("threads").querySelectorAll("[data-thread]")) {
      node.classList.toggle("is-here", id !== null && node.dataset.span === String(id));
    }
  }
}

function mark(piece) {
  piece.classList.add("has-comment");
  piece.setAttribute("aria-description", words.hasComment);
}

function unmark(piece) {
  piece.classList.remove("has-comment");
  piece.removeAttribute("aria-description");
}
