/** `*`: label the other mentions of the selected span's text, from a list in which the person can untick some. */

import { Cover } from "./cover.js";
import { Popover } from "../editor/popover.js";
import { byId, el } from "../editor/dom.js";
import { covered } from "../text/tokens.js";
import { shorten } from "../editor/panel.js";
import { words } from "../editor/words.js";

// Code points of context on each side: few, so that the mention itself is visible on a phone too.
const BEFORE = 18;
const AFTER = 40;

/** A pattern for the same text with any white space between its words. */
function patternOf(quote, anyCase) {
  const source = quote
    .split(/\s+/u)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&"))
    .join("\\s+");
  return new RegExp(source, anyCase ? "giu" : "gu");
}

/**
 * The other mentions of a span's text that consist of whole tokens: [{start, end}] in text order, without those that have a span
 * of the same label already.
 * @param {import("../text/offsets.js").TextIndex} index
 * @param {Array<{start: number, end: number}>} tokens
 * @param {{start: number, end: number, label: number}} span
 * @param {(bounds: {start: number, end: number, label: number}) => boolean} isThere  whether such a span exists
 */
export function mentionsOf(index, tokens, span, isThere, { anyCase = false } = {}) {
  const quote = index.slice(span.start, span.end);
  if (!quote.trim()) return [];
  const out = [];
  for (const match of index.text.matchAll(patternOf(quote, anyCase))) {
    const start = index.toCodePoint(match.index);
    const end = index.toCodePoint(match.index + match[0].length);
    if (start === span.start && end === span.end) continue;
    if (isWhole(tokens, start, end) && !isThere({ start, end, label: span.label })) out.push({ start, end });
  }
  return out;
}

/** Whether both ends lie on token boundaries. */
function isWhole(tokens, start, end) {
  const [first, past] = covered(tokens, start, end);
  return first < past && tokens[first].start >= start && tokens[past - 1].end <= end;
}

export class Mentions {
  #workbench;
  #popover;
  #root;
  #span = null;
  #anyCase = false;
  #found = [];

  constructor(workbench) {
    this.#workbench = workbench;
    this.#root = el("div", { class: "wb-pop wb-mentions", role: "dialog", "aria-label": words.mentions, hidden: true });
    byId("palette").after(this.#root);
    this.#popover = new Popover(this.#root, () => workbench.work.focusNote());
    this.#root.addEventListener("keydown", (event) => this.#key(event));
    this.#root.addEventListener("change", (event) => this.#changed(event));
    workbench.on("leave", () => this.#popover.close());
  }

  actions() {
    return [{ keys: ["*"], group: words.groups.change, what: words.mentionsKey, run: () => this.open() }];
  }

  /** The number of other mentions of a span's text that overlap no span. */
  count(span) {
    const cover = new Cover(this.#workbench.note.annotationSet.spans());
    return this.#others(span, false).filter((bounds) => cover.isFree(bounds)).length;
  }

  #others(span, anyCase) {
    const { annotationSet, index, cursor } = this.#workbench.note;
    return mentionsOf(index, cursor.tokens, span, (bounds) => annotationSet.find(bounds) !== null, { anyCase });
  }

  open() {
    const { work, note } = this.#workbench;
    const span = work.selected ?? work.labeling.autoNext.made;
    if (!span || !work.labeling.mayChange()) return false;
    this.#span = span;
    this.#anyCase = false;
    this.#list();
    if (!this.#found.length && !this.#others(span, true).length) {
      this.#workbench.say(words.noMentions);
      work.hint(words.noMentions);
      return true;
    }
    work.palette.close();
    this.#popover.open(note.layout.box(span.start, span.end));
    (this.#boxes[0] ?? this.#root.querySelector("input")).focus();
    return true;
  }

  get #boxes() {
    return [...this.#root.querySelectorAll("input[data-at]")];
  }

  #list() {
    this.#found = this.#others(this.#span, this.#anyCase);
    const cover = new Cover(this.#workbench.note.annotationSet.spans());
    const label = this.#workbench.labels.get(this.#span.label);
    const apply = el("button", { type: "button", class: "btn small primary" }, words.applyTo(this.#found.length), " ", el("kbd", {}, "Enter"));
    apply.addEventListener("click", () => this.#apply());
    const leave = el("button", { type: "button", class: "btn small" }, words.cancel, " ", el("kbd", {}, "Esc"));
    leave.addEventListener("click", () => this.#popover.close());
    this.#root.replaceChildren(
      el(
        "p",
        { class: "wb-pop-head" },
        el("span", { class: `chip hue-${label?.hue ?? 0}` }, label?.name ?? "?"),
        " ",
        el("bdi", {}, shorten(this.#workbench.note.index.slice(this.#span.start, this.#span.end), 60)),
      ),
      this.#found.length ? el("ul", {}, ...this.#found.map((bounds, at) => this.#row(bounds, at, cover.over(bounds)))) : el("p", { class: "mute" }, words.noMentions),
      el("label", { class: "wb-any-case" }, el("input", { type: "checkbox", "data-case": true, ...(this.#anyCase ? { checked: true } : {}) }), words.anyCase),
      el("div", { class: "actions" }, apply, leave),
    );
    this.#tally();
  }

  /** @param {object|null} touched a span that overlaps the mention */
  #row({ start, end }, at, touched) {
    const { index } = this.#workbench.note;
    const over = this.#workbench.labels.get(touched?.label);
    const flat = (from, to) => index.slice(from, to).replace(/\s+/gu, " ");
    return el(
      "li",
      {},
      el(
        "label",
        {},
        // A mention that overlaps a span is not ticked: the person decides.
        el("input", { type: "checkbox", checked: !over, "data-at": at }),
        el(
          "bdi",
          { class: "wb-item-text" },
          `${start > BEFORE ? "…" : ""}${flat(Math.max(0, start - BEFORE), start)}`,
          el("mark", {}, flat(start, end)),
          `${flat(end, Math.min(index.length, end + AFTER))}${end + AFTER < index.length ? "…" : ""}`,
        ),
        over && el("span", { class: `chip hue-${over.hue}` }, over.name),
      ),
    );
  }

  get #ticked() {
    return this.#boxes.filter((box) => box.checked).map((box) => this.#found[Number(box.dataset.at)]);
  }

  #tally() {
    const button = this.#root.querySelector(".btn.primary");
    const count = this.#ticked.length;
    button.firstChild.data = words.applyTo(count);
    button.disabled = count === 0;
  }

  #changed({ target }) {
    if (!("case" in target.dataset)) {
      this.#tally();
      return;
    }
    this.#anyCase = target.checked;
    this.#list();
    this.#root.querySelector("[data-case]").focus();
  }

  #apply() {
    const { label } = this.#span;
    const wanted = this.#ticked.map(({ start, end }) => ({ start, end, label }));
    if (!wanted.length) return;
    this.#popover.close();
    this.#workbench.work.labeling.createMany(wanted);
  }

  #key(event) {
    const boxes = [...this.#root.querySelectorAll("input, button:not([disabled])")];
    const at = boxes.indexOf(document.activeElement);
    if (event.key === "Enter" && !document.activeElement.matches("button")) this.#apply();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp" || event.key === "Tab") {
      const back = event.key === "ArrowUp" || event.shiftKey;
      boxes[(at + (back ? -1 : 1) + boxes.length) % boxes.length].focus();
    } else {
      // Space and Enter act on the focused element. Other keys do nothing, neither here nor in the note.
      event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
