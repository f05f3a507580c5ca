/**
 * The workbench: builds the main parts of the annotate page and connects them.
 *
 * A part is any object that is added before `start`. If it has `actions()`, its keys are bound and listed on the `?` sheet. Parts
 * listen to events by `on`:
 *   open (note)      a note was opened        drawn (note)     spans were redrawn
 *   leave (note)     it is about to be left   selected (note)  another span or stretch of text is selected, or none
 *   fetched (note)   one was fetched ahead    submitted (note) one was submitted
 *   reopened (note)  one was reopened        flagged (note)   it was flagged, or its flag cleared
 *   started (note)   the open note's annotation set was started from a run's spans
 */

import { actions, labelActions } from "./actions.js";
import { Candidates } from "./candidates.js";
import { Api } from "../editor/api.js";
import { byId } from "../editor/dom.js";
import { Gestures } from "./gestures.js";
import { Keys, namesOf } from "../editor/keys.js";
import { Ranking } from "./ranking.js";
import { SourcePage } from "../editor/source_page.js";
import { Submitting } from "./submitting.js";
import { KeySheet } from "../editor/sheet.js";
import { Mouse } from "../editor/mouse.js";
import { Palette } from "../editor/palette.js";
import { Panel } from "../editor/panel.js";
import { Frame } from "./frame.js";
import { Saving } from "./saving.js";
import { Visit } from "./visit.js";
import { Visiting } from "./visiting.js";

/** @typedef {object & {actions?: () => import("../editor/keys.js").Action[]}} Part */

export class Workbench {
  #listeners = new Map(); // name -> functions
  #parts = [];
  #keys;
  #visiting;
  /** The visit that is open: see visit.js. */
  note;

  /** @param {object} data  the page's JSON: the open note's, and what is the same for all notes of the project */
  constructor(data) {
    /** @type {Map<number, {id: number, name: string, key: string, category: string, description: string, hue: number, underline: number, attributes?: Array<{name: string, values?: string[]}>}>} */
    this.labels = new Map(data.labels.map((label) => [label.id, label]));
    /** The hash of the labels that this page knows: a note fetched with other labels can't be shown. */
    this.stamp = data.labels_stamp;
    this.project = { ...data.project, person: data.person };
    this.api = new Api({
      token: document.querySelector("#submit-form [name=csrfmiddlewaretoken]").value,
      person: data.person,
      renewal: () => `${this.note.urls.spans}?version=${this.note.annotationSet.version}`,
    });
    this.panel = new Panel(this.labels);
    this.note = new Visit(data);
    this.note.adopt(this.labels);
    this.candidates = new Candidates(this);
    this.work = new Gestures(this);
    this.ranking = new Ranking(this);
    this.saving = new Saving(this);
    this.submitting = new Submitting(this);
    this.#visiting = new Visiting(this, (visit) => this.saving.attach(visit));
    this.add(new Frame(this));
    this.palette = new Palette(byId("palette"), data.labels, (label) => this.work.applyLabel(label), () => this.work.focusNote());
    this.page = new SourcePage({
      back: () => this.work.focusNote(),
      tell: (message) => {
        this.say(message);
        this.work.hint(message);
      },
    });
    this.on("leave", () => this.page.close());
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
    byId("undo").addEventListener("click", () => this.work.labeling.undo());
    byId("redo").addEventListener("click", () => this.work.labeling.redo());
    for (const id of ["show-keys", "show-touch"]) byId(id).addEventListener("click", () => this.sheet.open());
    this.#visiting.begin();
  }

  /** Bind and list the keys; called again when they change. The first action with a key gets it, so labels keep their keys. */
  bind() {
    const own = this.#parts.flatMap((part) => part.actions?.() ?? []);
    this.#keys = new Keys([...labelActions(this), ...actions(this), ...own]);
    this.sheet = new KeySheet(byId("keys"), byId("keys-list"), this.#keys);
  }

  #key(event) {
    if (event.defaultPrevented || this.sheet.isOpen || isWriting(event.target) || isElsewhere(event)) return;
    // A key held down would submit one note after the other.
    if (event.repeat && namesOf(event).some((name) => ["Enter", "n", "p"].includes(name))) return;
    this.mouse.finishSelection();
    this.work.labeling.autoNext.selectNow();
    this.#keys.handle(event);
  }

  /** Call `listener(note)` on every event of this name. */
  on(name, listener) {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]);
  }

  /** @param {Visit} [note]  the note that the event is about; the open one by default */
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

  /** All notes in memory. */
  visits() {
    return this.#visiting.all();
  }

  /**
   * Go to an address. A note of this project is opened on this page, and unsent changes are still sent.
   * @param {string} url
   * @param {{submitted?: number}} [options]  `submitted`: id of the note that a newly loaded page offers to reopen
   */
  go(url, options) {
    return this.#visiting.go(url, options);
  }
}

/** Whether a field or a dialog needs the keys itself. */
function isWriting(target) {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable], dialog *");
}

/** Whether a key is not for the note: Tab and arrows need the focus in the note or nowhere; Enter belongs to a focused button. */
function isElsewhere({ key, target }) {
  if (key === "Enter" || key === " ") return target instanceof Element && target.matches("a, button, summary");
  return /^(Tab|Arrow)/.test(key) && target !== byId("note") && target !== document.body;
}
