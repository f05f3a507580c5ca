/** One note: its text, its reading, where the cursor is; and while it is on the screen, its view. */

import { Cursor } from "../editor/cursor.js";
import { byId } from "../editor/dom.js";
import { NoteView, emptyLines } from "../editor/render.js";
import { Places } from "../editor/selection.js";
import { Reading } from "../editor/model.js";
import { TextIndex } from "../text/offsets.js";
import { linesOf } from "../text/segments.js";
import { stopsOf } from "../text/steps.js";
import { tokenize } from "../text/tokens.js";

export class Visit {
  /** Kinds are sent by it: see saving.js. @type {import("../editor/outbox.js").Outbox} */
  outbox = null;
  /** The server was asked whether what is shown is what is saved. */
  confirmed = false;
  view = null;
  places = null;

  /** @param {object} data  what the server says of the note */
  constructor(data) {
    this.data = data;
    this.id = data.note.id;
    this.name = data.note.name;
    this.language = data.note.language;
    this.text = data.text;
    this.urls = data.urls;
    this.index = new TextIndex(data.text);
    this.reading = new Reading(data);
    this.cursor = new Cursor(stopsOf(this.index, tokenize(data.text)));
  }

  /** Put the note on the page in the place of the one that is there. @param {Map<number, object>} labels by id */
  mount(labels) {
    const root = byId("note");
    root.replaceChildren(...emptyLines(linesOf(this.index)));
    this.#see(root, labels);
    this.view.redrawAll(this.reading.spans());
  }

  /** The server drew the note on the page. */
  adopt(labels) {
    this.#see(byId("note"), labels);
    this.view.adopt(this.reading.spans());
    this.confirmed = true;
  }

  /** Off the screen: nothing of the page is held. */
  unmount() {
    this.view = null;
    this.places = null;
    this.confirmed = false;
    this.cursor.clear();
  }

  #see(root, labels) {
    this.view = new NoteView(root, this.index, labels);
    this.places = new Places(root, this.index);
  }
}
