/** One note in memory: its text, annotation set and cursor, and, while it is on the screen, its view. */

import { Cursor } from "../editor/cursor.js";
import { byId } from "../editor/dom.js";
import { NoteView, emptyLines } from "../editor/render.js";
import { TextLayout } from "../editor/selection.js";
import { AnnotationSet } from "../editor/model.js";
import { TextIndex } from "../text/offsets.js";
import { linesOf } from "../text/segments.js";
import { stopsOf } from "../text/steps.js";
import { tokenize } from "../text/tokens.js";

export class Visit {
  /** Sends the changes: see saving.js. @type {import("../editor/outbox.js").Outbox} */
  outbox = null;
  /** Whether the server has confirmed that the shown state is the saved one. */
  confirmed = false;
  view = null;
  layout = null;
  /** The request that starts the annotation set from a run's spans: "" (not sent), "sent" or "done". */
  start = "";
  /** When the note was requested (performance.now). */
  asked = 0;
  /** What the workbench offers here: see candidates.js and ranking.js. `uses`: how often the person gave each label in other notes. */
  offer = { isKnown: false, isShown: false, candidates: [], strings: [], uses: new Map(), dismissed: new Set() };

  /** @param {object} data  the note's data from the server */
  constructor(data) {
    this.data = data;
    this.id = data.note.id;
    this.name = data.note.name;
    this.language = data.note.language;
    this.text = data.text;
    this.urls = data.urls;
    this.source = data.source;
    this.index = new TextIndex(data.text);
    this.annotationSet = new AnnotationSet(data);
    this.cursor = new Cursor(stopsOf(this.index, tokenize(data.text)));
  }

  /** Take over the server's answer about candidates. */
  take({ shown, candidates, strings }) {
    const { offer } = this;
    offer.isKnown = true;
    offer.isShown = shown;
    offer.candidates = candidates.map(([start, end, label]) => ({ start, end, label }));
    offer.strings = strings.map(([text, label, times]) => ({ text, label, times }));
    for (const { label, times } of offer.strings) offer.uses.set(label, (offer.uses.get(label) ?? 0) + times);
  }

  /** Show the note instead of the one on the page. @param {Map<number, object>} labels by id */
  mount(labels) {
    const root = byId("note");
    root.replaceChildren(...emptyLines(linesOf(this.index)));
    this.#see(root, labels);
    this.view.redrawAll(this.annotationSet.spans());
  }

  /** Take over the note that the server has drawn; draw it again where the server left out overlapping spans. */
  adopt(labels) {
    if (byId("note").querySelector(".note-crowded")) {
      this.mount(labels);
    } else {
      this.#see(byId("note"), labels);
      this.view.adopt(this.annotationSet.spans());
    }
    this.confirmed = true;
  }

  /** Release the page's elements when another note is shown. */
  unmount() {
    this.view = null;
    this.layout = null;
    this.confirmed = false;
    this.cursor.clear();
  }

  #see(root, labels) {
    this.view = new NoteView(root, this.index, labels);
    this.layout = new TextLayout(root, this.index);
  }
}
