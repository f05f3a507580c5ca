/**
 * The workbench: what belongs together on the page, and where its parts meet.
 *
 * A part is any object that is added before `start`. If it has `actions()`, its keys are bound and listed on the `?` sheet. It
 * hears of what happens by `on`:
 *   open (note)      a note was opened        drawn (note)     spans were drawn anew
 *   leave (note)     it is about to be left   selected (note)  another span or stretch of text is selected, or none
 *   fetched (note)   one was fetched ahead    submitted (note) one was handed in
 *   reopened (note)  one was taken back           flagged (note)   it was flagged, or its flag cleared
 */

import { actions, labelActions } from "./actions.js";
import { Api } from "../editor/api.js";
import { byId } from "../editor/dom.js";
import { Gestures } from "./gestures.js";
import { Keys } from "../editor/keys.js";
import { Handing } from "./handing.js";
import { KeySheet } from "../editor/sheet.js";
import { Mouse } from "../editor/mouse.js";
import { Palette } from "../editor/palette.js";
import { Panel } from "../editor/panel.js";
import { Frame } from "./frame.js";
import { Saving } from "./saving.js";
import { Visit } from "./visit.js";
import { Visiting } from "./visiting.js";

/** @typedef {{actions?: () => import("../editor/keys.js").Action[]}} Part */

export class Workbench {
  #listeners = new Map(); // name -> functions
  #parts = [];
  #keys;
  #visiting;
  /** The visit that is open: see visit.js. */
  note;

  /** @param {object} data  the page's JSON: the open note's, and what is the same for all notes of the project */
  constructor(data) {
    /** @type {Map<number, {id: number, name: string, key: string, category: string, hue: number, underline: number}>} */
    this.labels = new Map(data.labels.map((label) => [label.id, label]));
    /** Of the labels as this page knows them: a note that was fetched with others can't be shown. */
    this.stamp = data.labels_stamp;
    this.project = { ...data.project, person: data.person };
    this.api = new Api({
      token: document.querySelector("#submit-form [name=csrfmiddlewaretoken]").value,
      person: data.person,
      renewal: () => `${this.note.urls.spans}?version=${this.note.reading.version}`,
    });
    this.panel = new Panel(this.labels);
    this.note = new Visit(data);
    this.note.adopt(this.labels);
    this.work = new Gestures(this);
    this.saving = new Saving(this);
    this.handing = new Handing(this);
    this.#visiting = new Visiting(this, (visit) => this.saving.attach(visit));
    this.add(new Frame(this));
    this.palette = new Palette(byId("palette"), data.labels, (label) => this.work.applyLabel(label), () => this.work.focusNote());
    this.mouse = new Mouse(this.work, byId("note"));
  }

  /** @param {Part} part */
  add(part) {
    this.#parts.push(part);
    return this;
  }

  start() {
    this.bind();
    document.addEventListener("keydown", (event) => this.#key(event));
    byId("undo").addEventListener("click", () => this.work.labelling.undo());
    byId("redo").addEventListener("click", () => this.work.labelling.redo());
    byId("show-keys").addEventListener("click", () => this.sheet.open());
    this.#visiting.begin();
  }

  /** Bind the keys, and list them; again whenever they change. Of two that want a key the first has it: a label keeps its own. */
  bind() {
    const own = this.#parts.flatMap((part) => part.actions?.() ?? []);
    this.#keys = new Keys([...labelActions(this), ...actions(this), ...own]);
    this.sheet = new KeySheet(byId("keys"), byId("keys-list"), this.#keys);
  }

  #key(event) {
    if (event.defaultPrevented || this.sheet.isOpen || isWriting(event.target) || isElsewhere(event)) return;
    // A key that is held down would submit one note after the other.
    if (event.repeat && ["Enter", "n", "p"].includes(event.key)) return;
    this.mouse.settle();
    this.work.labelling.goingOn.settle();
    this.#keys.handle(event);
  }

  /** Call `listener(note)` whenever this happens. */
  on(name, listener) {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]);
  }

  /** @param {Visit} [note]  that it is about: else the open one */
  emit(name, note = this.note) {
    for (const listener of this.#listeners.get(name) ?? []) listener(note);
  }

  /** For screen readers. */
  say(text) {
    this.panel.say(text);
  }

  /** A notice that stays until it is closed or replaced. @param {"warn"|"ok"} [kind] */
  tell(text, kind) {
    this.panel.tell(text, kind);
  }

  /** All notes that the page has in memory. */
  visits() {
    return this.#visiting.all();
  }

  /** Go to the page at an address: to a note of this project in place, with all that waits still being sent. */
  go(url) {
    return this.#visiting.go(url);
  }
}

/** Keys that a field or a dialog of the page needs for itself. */
function isWriting(target) {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable], dialog *");
}

/** Tab and arrows are for the note only while it has the focus, or nothing has; Enter belongs to a button that has it. */
function isElsewhere({ key, target }) {
  if (key === "Enter" || key === " ") return target instanceof Element && target.matches("a, button, summary");
  return /^(Tab|Arrow)/.test(key) && target !== byId("note") && target !== document.body;
}
