/** The side panel of the review page (selected item, suggestions, hints, recent decisions) and the bar. */

import { WindowedList } from "../editor/deciding/list.js";
import { Panel, fill, row } from "../editor/deciding/panel.js";
import { byId, el } from "../editor/dom.js";
import { shorten } from "../editor/panel.js";
import { placesLine, placesOf } from "../editor/source_page.js";
import { attributeWords, words as editor } from "../editor/words.js";
import { boundsOf, lookOf } from "./model.js";
import { words } from "./words.js";

// Number of recent decisions that are listed.
const RECENT = 8;

export class ReviewPanel extends Panel {
  /** What the view of the text shows in place of a span, undefined for its own text. @type {(span: object) => string | undefined} */
  instead = () => undefined;
  #source;
  #list = new WindowedList(byId("suggestions"), "suggestion", (suggestion) => this.#row(suggestion), ({ state }) => state !== "open");
  #recent = new WindowedList(byId("recent"), "suggestion", (suggestion) => this.#row(suggestion));
  #hints = new WindowedList(byId("hints"), "hint", (hint) => this.#hintRow(hint));

  /**
   * @param {ConstructorParameters<typeof Panel>[0] & {acts: Record<string, (value?: any) => void>, source: import("../editor/source_page.js").Place[]}} parts
   *   `source`: the source map of the note; `acts`: choose, walk, accept, reject, remove, ends, drop, attributes, first
   */
  constructor({ acts, source, ...parts }) {
    super(parts);
    this.#source = source;
    for (const list of ["suggestions", "recent", "chosen"]) {
      this.listen(byId(list), "suggestion", (button) => acts.choose(`p${button.dataset.suggestion}`));
    }
    this.listen(byId("hints"), "hint", (button) => acts.choose(button.dataset.hint));
    this.listen(byId("chosen"), "act", (button) => acts[button.dataset.act]());
    byId("before-suggestion").addEventListener("click", () => acts.walk(-1));
    byId("after-suggestion").addEventListener("click", () => acts.walk(1));
  }

  /**
   * @param {object|null} chosen see Review.find @param {string|null} text the text selected in the note
   * @param {{isRest: boolean, rest?: string}} left  `isRest`: the selected text is what a correction left out; `rest`: what the correction of
   *   the selected suggestion left out
   */
  show(review, chosen, text, hints, left) {
    const suggestions = review.listed();
    const at = chosen?.suggestion ? suggestions.findIndex(({ id }) => id === chosen.suggestion.id) : -1;
    this.count({ words, at, open: review.open, total: review.suggestions().length, listed: suggestions.length, before: "before-suggestion", after: "after-suggestion" });
    const kind = text !== null ? "text" : chosen?.other ? "gold" : chosen?.hint ? "hint" : chosen?.suggestion?.removal ? "removal" : "suggestion";
    byId("chosen-title").textContent = words.titles[kind];
    fill(byId("chosen"), this.#chosen(review, chosen, text, left), "act");
    this.#stage(review);
    this.#lists(review, chosen, hints);
    this.#list.show(suggestions, at); // last, because the others leave it their room
    this.state(review.finished, "reopen-form");
  }

  /** Explain the stage of a second review. */
  #stage({ stage, between }) {
    const node = byId("stage");
    node.hidden = !between;
    node.textContent = between ? words.stages[between.blind && stage === "second" ? "blind" : stage](between.first) : "";
  }

  #lists(review, chosen, hints) {
    byId("hints-box").hidden = review.finished || (review.open > 0 && !hints.length);
    const all = review.rest();
    const rest = all.length;
    const removals = review.restRemovals().length;
    byId("finish-rest").hidden = review.finished || !(rest + removals) || review.plantedOpen;
    byId("rest-count").textContent = rest + removals;
    byId("has-removals").hidden = review.finished || !removals;
    byId("removal-count").textContent = removals ? words.restRemovals(removals) : "";
    this.restSkipped(review.finished ? 0 : rest);
    const doubtful = review.finished ? 0 : all.filter(({ doubt }) => doubt).length;
    byId("has-doubtful").hidden = !doubtful;
    byId("doubtful-count").textContent = doubtful ? words.restDoubtful(doubtful) : "";
    byId("hints-left").textContent = words.hintsLeft(hints.length);
    this.#hints.show(hints, chosen?.hint ? hints.findIndex(({ key }) => key === chosen.hint.key) : -1);
    this.#recent.show(review.recent(RECENT), -1);
  }

  /** Say how many suggestions "Accept the rest" skips because the note already has gold. */
  restSkipped(rest) {
    const box = byId("with-gold");
    if (box) byId("rest-skipped").textContent = rest && !box.checked ? words.restSkipped(rest) : "";
  }

  /** @param {{isRest: boolean, rest?: string}} left  see show */
  #chosen(review, chosen, text, left) {
    if (text !== null) return this.#text(review, chosen, text, left.isRest);
    if (chosen?.other) return this.#gold(review, chosen.other);
    if (chosen?.hint) return this.#hint(review, chosen.hint);
    if (chosen) return this.#suggestion(review, chosen.suggestion, left.rest);
    const { none, finishedNote, nothing, filteredOut, allDone } = words;
    const open = review.listed().length ? nothing : filteredOut;
    const said = review.finished ? finishedNote : !review.suggestions().length ? none : review.open ? open : allDone;
    return [el("p", { class: "mute" }, said)];
  }

  #text(review, chosen, text, isRest) {
    const label = chosen?.suggestion && this.label(boundsOf(chosen.suggestion).label).name;
    return [
      el("p", { class: "wb-quote" }, el("bdi", {}, text)),
      el("p", { class: "mute small" }, isRest ? words.hintRest : words.hintText),
      this.#buttons(review, [label && !isRest && ["ends", words.ends(label), "", "e"], ["drop", words.letGo, "quiet", "Esc"]]),
    ];
  }

  #gold(review, span) {
    const own = span.from === `reviewer:${span.by}`;
    const history = own ? words.added(this.#who(span.by), span.at) : words.history(span.from, this.#who(span.by), span.at);
    return [
      this.#line(span, "is-accepted"),
      this.#attributes(span),
      history && el("p", { class: "mute small" }, history),
      this.#buttons(review, [["remove", words.remove, "danger", "Del"], this.#attributesButton(span)]),
    ];
  }

  #hint(review, hint) {
    return [
      this.#line(hint),
      el("p", { class: "mute small" }, words.why(hint)),
      this.#buttons(review, [["accept", words.addIt, "primary", "a"], ["reject", words.notOne, "", "x"]]),
      el("p", { class: "mute small rv-hint" }, words.hintOther),
    ];
  }

  #suggestion(review, suggestion, rest) {
    const { state, removal } = suggestion;
    const look = state === "open" || !removal ? `is-${state}` : suggestion.bounds ? "is-accepted" : "is-rejected";
    const facts = words.facts([suggestion.runs ? "" : words.source(suggestion.source), words.confidence(suggestion.confidence)]);
    const bounds = boundsOf(suggestion);
    const changed = ["start", "end", "label"].some((part) => bounds[part] !== suggestion[part]);
    return [
      this.#line(suggestion, lookOf(suggestion)),
      this.#attributes((suggestion.bounds && review.goldAt(bounds)) || suggestion),
      ...this.#refined(suggestion),
      facts && el("p", { class: "mute small" }, facts),
      suggestion.planted && el("p", { class: "small rv-planted" }, words.planted[suggestion.planted]),
      state === "open" ? null : el("p", { class: `rv-verdict ${look}` }, this.#verdict(review, suggestion)),
      changed && el("p", { class: "small" }, `${words.as} `, ...this.#parts(bounds, lookOf(suggestion))),
      this.#first(review, suggestion),
      suggestion.runs && this.#backing(suggestion),
      ...this.#doubt(suggestion),
      ...this.#conflicting(review, suggestion),
      this.#buttons(review, [
        ["accept", removal ? words.acceptRemoval : words.accept, state === "open" ? "primary" : "", "a"],
        ["reject", removal ? words.rejectRemoval : words.reject, removal ? "" : "danger", "x"],
        suggestion.differs && ["first", words.decideLikeFirst(review.between.first), "", "="],
        suggestion.bounds && this.#attributesButton(bounds),
        rest && ["ends", words.labelRest(rest), "", "e"],
      ]),
      state === "open" && el("p", { class: "mute small rv-hint" }, removal ? words.hintRemoval : words.hint),
    ];
  }

  /** What a refiner did with the annotation: kept, changed from what, or proposes to remove; and why. */
  #refined({ removal, reason, refined, ...now }) {
    if (removal) return [el("p", { class: "small rv-refined" }, el("strong", {}, words.actions.remove), " ", el("bdi", {}, reason))];
    if (!refined) return [];
    const said = el("p", { class: "small rv-refined" }, el("strong", {}, words.actions[refined.action]), " ", el("bdi", {}, refined.reason));
    if (refined.action !== "update") return [said];
    const old = refined.label === null ? [el("bdi", {}, shorten(this.quote(refined))), ` ${refined.code}`] : this.#parts(refined);
    const from = [el("span", { class: "sr-only" }, words.before), " ", el("span", { class: "rv-old" }, ...old)];
    const to = [el("span", { "aria-hidden": "true" }, " → "), el("span", { class: "sr-only" }, words.after), " ", ...this.#parts(now)];
    return [el("p", { class: "small rv-change" }, ...from, ...to), said];
  }

  /** The first reviewer's decision, if the second reviewer decided differently. */
  #first(review, suggestion) {
    if (!suggestion.differs) return null;
    const first = review.firstOf(suggestion);
    const [start, end, label] = first.bounds ?? [];
    const parts = first.bounds ? this.#parts({ start, end, label }) : [];
    return el("p", { class: "small rv-first" }, words.firstDecided(review.between.first, (suggestion.removal ? words.states.removal : words.states)[first.state]), " ", ...parts);
  }

  /** The merged runs that suggest the span, with their confidence. */
  #backing({ runs, of, differing }) {
    const each = words.facts(runs.map(({ run, confidence }) => words.backer(run, confidence)));
    const said = differing ? ` ${words.differing(differing)}` : "";
    return el("p", { class: "small rv-backing" }, el("strong", {}, words.agree(runs.length, of)), ` ${each}${said}`);
  }

  /** Why the suggestion is doubtful: the place that the model means is unclear, or words make the bounds doubtful. */
  #doubt({ doubt }) {
    if (!doubt) return [];
    const said = (sentence, bounds) =>
      bounds.length > 0 &&
      el("p", { class: "small rv-planted" }, `${sentence} `, ...bounds.flatMap(([start, end], at) => [at ? ", " : "", el("bdi", { class: "rv-doubt" }, shorten(this.quote({ start, end }), 60))]));
    return [
      doubt.places && el("p", { class: "small rv-planted" }, words.places(doubt.places)),
      said(words.removedToo, doubt.removed),
      said(words.unsupported, doubt.unsupported),
    ];
  }

  /** The conflicting suggestions, and whether accepting this one rejects them. */
  #conflicting(review, suggestion) {
    const conflicting = review.conflicting(suggestion);
    if (!conflicting.length) return [];
    const rows = conflicting.map((one) => this.#row(one));
    const list = el("ul", { class: "rv-conflicting", "aria-label": words.conflicting }, ...rows);
    const open = suggestion.state === "open" && conflicting.some(({ state }) => state === "open");
    return [el("p", { class: "mute small" }, open ? words.rejectsConflicting : words.conflicting), list];
  }

  #verdict(review, suggestion) {
    const decided = suggestion.removal ? words.removalDecided : words.decided;
    if (suggestion.by) return decided[suggestion.state](this.#who(suggestion.by), suggestion.at);
    const gold = review.goldAt(boundsOf(suggestion));
    const history = gold ? words.history(gold.from, this.#who(gold.by), gold.at) : "";
    if (review.goldIsDraft) return history ? words.thereInDraftSince(history) : words.thereInDraft;
    return history ? words.thereSince(history) : words.there;
  }

  #who(name) {
    return name && name === this.person ? words.you : name;
  }

  #buttons(review, buttons) {
    return el(
      "div",
      { class: "actions" },
      ...buttons
        .filter(Boolean)
        .map(([name, text, kind, key]) =>
          el("button", { type: "button", class: `btn small ${kind}`, disabled: review.finished && name !== "drop", "data-act": name }, text, " ", el("kbd", {}, key)),
        ),
    );
  }

  /** The quote and the label of a span. `look`: as the note shows it, because a masked text masks the name here, too. */
  #parts(span, look = "") {
    const label = this.label(span.label);
    return [el("bdi", {}, this.instead({ ...span, look }) ?? shorten(this.quote(span))), " ", el("span", { class: `chip hue-${label.hue}`, title: label.name }, label.name)];
  }

  #attributesButton({ label }) {
    return this.label(label).attributes && ["attributes", editor.attributes, "", "F4"];
  }

  #attributes({ attributes }) {
    const shown = attributeWords(attributes);
    return shown.length > 0 && el("p", { class: "small wb-attributes" }, shown.join(" · "));
  }

  #line(span, look = "") {
    const line = el("p", { class: "wb-quote" }, ...this.#parts(span, look));
    const places = placesLine(placesOf(this.#source, span));
    return places ? el("div", {}, line, places) : line;
  }

  #hintRow(hint) {
    const label = this.label(hint.label);
    return row({
      look: "is-hint",
      data: ["hint", hint.key],
      mark: el("span", { class: `chip hue-${label.hue}`, title: label.name }, label.name),
      quote: shorten(this.quote(hint), 60),
      state: words.whyTag(hint),
    });
  }

  #row(suggestion) {
    const bounds = boundsOf(suggestion);
    const label = this.label(bounds.label);
    return row({
      look: suggestion.removal && suggestion.state !== "open" ? lookOf(suggestion) : `is-${suggestion.state}${suggestion.removal ? " is-removal" : ""}`,
      data: ["suggestion", suggestion.id],
      mark: el("span", { class: `chip hue-${label.hue}`, title: label.name }, label.name),
      quote: shorten(this.quote(bounds), 60),
      state: [suggestion.runs && words.agreeShort(suggestion.runs.length, suggestion.of), suggestion.removal ? words.states.removal[suggestion.state] : words.stateTags[suggestion.state], suggestion.refined?.action === "update" && words.stateTags.changed, suggestion.doubt && words.stateTags.doubt, suggestion.planted && words.stateTags.planted, suggestion.differs && words.stateTags.differs]
        .filter(Boolean)
        .join(" · "),
      more: words.confidence(suggestion.confidence),
    });
  }
}
