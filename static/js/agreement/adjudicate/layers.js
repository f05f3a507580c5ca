/**
 * The annotators' versions of a location in a table: its words, a row of spans for each annotator, and the decision.
 * Every version that can be accepted has a button with its key.
 */

import { covered } from "../../text/tokens.js";
import { el } from "../../editor/dom.js";
import { lanes } from "../../editor/lanes.js";
import { attributeWords } from "../../editor/words.js";
import { words } from "./words.js";

// How many words are shown before and after the location.
const AROUND = 6;
// Of a location, only this many words are shown.
const MOST = 60;

/** The tokens of a location and a few on either side, split where spans start or end inside a token. */
export function tokensAround(tokens, location) {
  const [first, past] = covered(tokens, location.start, location.end);
  const low = Math.max(0, first - AROUND);
  const high = Math.min(tokens.length, past + AROUND);
  const edges = new Set([...location.versions.flat(), ...(location.outcome ?? [])].flatMap(([start, end]) => [start, end]));
  return tokens.slice(low, high).flatMap((token) => cut(token, edges));
}

function cut({ start, end }, edges) {
  const inside = [...edges].filter((edge) => start < edge && edge < end).sort((a, b) => a - b);
  return [start, ...inside].map((from, index) => ({ start: from, end: inside[index] ?? end }));
}

/** Spans in rows without overlaps. A row is a list of cells {at, size, span}: first token, number of tokens, span or null. */
export function rowsOf(spans, tokens) {
  const placed = spans.map(([start, end, label]) => ({ start, end, label }));
  const lane = lanes(placed);
  const count = Math.max(1, ...lane.map((one) => one + 1));
  return Array.from({ length: count }, (_, row) => cellsOf(placed.filter((_span, index) => lane[index] === row), tokens));
}

function cellsOf(spans, tokens) {
  const cells = [];
  let at = 0;
  for (const span of spans) {
    const [first, past] = covered(tokens, span.start, span.end);
    if (first < at || first >= past) continue;
    for (; at < first; at += 1) cells.push({ at, size: 1, span: null });
    cells.push({ at, size: past - first, span });
    at = past;
  }
  for (; at < tokens.length; at += 1) cells.push({ at, size: 1, span: null });
  return cells;
}

export class Layers {
  #labels;
  #tokens;
  #quote;

  /** @param {{labels: Map<number, object>, tokens: object[], quote: (location: object) => string}} parts */
  constructor({ labels, tokens, quote }) {
    this.#labels = labels;
    this.#tokens = tokens;
    this.#quote = quote;
  }

  /** The table of a location. `disabled`: whether its buttons are. */
  table(note, location, disabled) {
    const tokens = tokensAround(this.#tokens, location).slice(0, MOST + 2 * AROUND);
    const rows = note.annotators.flatMap((annotator, index) =>
      this.#layer(tokens, location, location.versions[index] ?? [], {
        act: "annotator",
        number: annotator.number,
        key: annotator.number <= 9 ? String(annotator.number) : "",
        name: annotator.name,
        chosen: location.state === "decided" && location.choice === "annotator" && location.annotator === annotator.number,
        disabled,
        attributes: location.attributes?.versions[index],
      }),
    );
    return el(
      "div",
      { class: "ad-scroll", tabindex: "0", role: "region", "aria-label": words.text },
      el(
        "table",
        { class: "ad-layers", dir: "auto" },
        el("thead", {}, this.#head(tokens, location)),
        el("tbody", {}, ...rows, ...this.#majority(tokens, location, disabled), ...this.#outcome(tokens, location)),
      ),
    );
  }

  #head(tokens, location) {
    const cells = tokens.map((token) =>
      el("th", { scope: "col", class: inside(token, location) ? "here" : null }, el("bdi", {}, this.#quote(token))),
    );
    return el("tr", {}, el("td", {}), ...cells);
  }

  /** The majority version, where there is one and the location is not unanimous. */
  #majority(tokens, location, disabled) {
    if (location.consensus === "all" || location.majority === null) return [];
    const chosen = location.state === "decided" && location.choice === "majority";
    return this.#layer(tokens, location, location.majority, {
      act: "majority",
      key: "a",
      name: words.majority,
      chosen,
      disabled,
      kind: "is-vote",
      attributes: location.attributes?.majority,
    });
  }

  #outcome(tokens, location) {
    if (location.outcome === null) return [];
    const name = location.state === "changed" ? words.before : words.outcome;
    return this.#layer(tokens, location, location.outcome, { name, kind: "is-outcome", attributes: location.attributes?.outcome });
  }

  #layer(tokens, location, spans, { act = "", number = null, key = "", name, chosen = false, disabled = false, kind = "", attributes = {} }) {
    const rows = rowsOf(spans, tokens);
    const title = act
      ? el(
          "button",
          {
            type: "button",
            class: "btn small quiet",
            "data-act": act,
            "data-annotator": number,
            "aria-pressed": chosen ? "true" : "false",
            disabled,
          },
          key && el("kbd", {}, key),
          el("bdi", {}, name),
        )
      : el("span", {}, name);
    return rows.map((cells, at) =>
      el(
        "tr",
        { class: `${kind}${chosen ? " is-chosen" : ""}` },
        at === 0 && el("th", { scope: "row", rowspan: rows.length }, title, !spans.length && el("span", { class: "sr-only" }, ` ${words.none}`)),
        ...cells.map((cell) => this.#cell(cell, tokens, location, attributes)),
      ),
    );
  }

  #cell({ at, size, span }, tokens, location, attributes) {
    if (!span) return el("td", { class: inside(tokens[at], location) ? "here none" : "none" });
    const label = this.#labels.get(span.label) ?? { name: "?", hue: 0, underline: 0 };
    const shown = attributeWords(attributes[`${span.start}-${span.end}-${span.label}`]);
    return el(
      "td",
      { colspan: size, class: `marked hue-${label.hue}` },
      el("span", { class: `swatch underline-${label.underline}` }, label.name),
      shown.length > 0 && el("span", { class: "small ad-attributes" }, ` ${shown.join(" · ")}`),
    );
  }
}

const inside = (token, location) => token.start < location.end && location.start < token.end;
