/**
 * The annotators' versions of a place under each other: its words, a row of spans for each annotator, and what is decided.
 * Every row that can be taken is a button with its key.
 */

import { covered } from "../text/tokens.js";
import { el } from "../editor/dom.js";
import { lanes } from "../editor/lanes.js";
import { words } from "./words.js";

// Words shown before and after the place.
const AROUND = 6;
// A place longer than that many words shows its beginning and end.
const MOST = 60;

/** The tokens of a place and a few on either side, as [start, end]; a longer place is cut at the ends of its spans too. */
export function tokensAround(tokens, place) {
  const [first, past] = covered(tokens, place.start, place.end);
  const low = Math.max(0, first - AROUND);
  const high = Math.min(tokens.length, past + AROUND);
  const edges = new Set([...place.versions.flat(), ...(place.outcome ?? [])].flatMap(([start, end]) => [start, end]));
  return tokens.slice(low, high).flatMap((token) => cut(token, edges));
}

function cut({ start, end }, edges) {
  const inside = [...edges].filter((edge) => start < edge && edge < end).sort((a, b) => a - b);
  return [start, ...inside].map((from, at) => ({ start: from, end: inside[at] ?? end }));
}

/** Spans in rows without overlaps: each row a list of cells {at, size, span}, where span may be null. */
export function rowsOf(spans, tokens) {
  const placed = spans.map(([start, end, label]) => ({ start, end, label }));
  const lane = lanes(placed);
  const count = Math.max(1, ...lane.map((one) => one + 1));
  return Array.from({ length: count }, (_, row) => cellsOf(placed.filter((_span, at) => lane[at] === row), tokens));
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

  /** @param {{labels: Map<number, object>, tokens: object[], quote: (place: object) => string}} parts */
  constructor({ labels, tokens, quote }) {
    this.#labels = labels;
    this.#tokens = tokens;
    this.#quote = quote;
  }

  /** The table of a place. `closed`: nothing can be taken. */
  table(note, place, closed) {
    const tokens = tokensAround(this.#tokens, place).slice(0, MOST + 2 * AROUND);
    const rows = note.readers.flatMap((reader, at) =>
      this.#layer(tokens, place, place.versions[at] ?? [], {
        act: "reader",
        number: reader.number,
        key: reader.number <= 9 ? String(reader.number) : "",
        name: reader.name,
        chosen: place.standing === "decided" && place.choice === "reader" && place.reader === reader.number,
        closed,
      }),
    );
    return el(
      "div",
      { class: "ad-scroll", tabindex: "0", role: "region", "aria-label": words.text },
      el(
        "table",
        { class: "ad-layers", dir: "auto" },
        el("thead", {}, this.#head(tokens, place)),
        el("tbody", {}, ...rows, ...this.#vote(tokens, place, closed), ...this.#outcome(tokens, place)),
      ),
    );
  }

  #head(tokens, place) {
    const cells = tokens.map((token) =>
      el("th", { scope: "col", class: inside(token, place) ? "here" : null }, el("bdi", {}, this.#quote(token))),
    );
    return el("tr", {}, el("td", {}), ...cells);
  }

  /** The majority's version where there is one that is not simply what all say. */
  #vote(tokens, place, closed) {
    if (place.consensus === "all" || place.majority === null) return [];
    const chosen = place.standing === "decided" && place.choice === "majority";
    return this.#layer(tokens, place, place.majority, { act: "majority", key: "a", name: words.majority, chosen, closed, kind: "is-vote" });
  }

  #outcome(tokens, place) {
    if (place.outcome === null) return [];
    const name = place.standing === "changed" ? words.before : words.outcome;
    return this.#layer(tokens, place, place.outcome, { name, kind: "is-outcome" });
  }

  #layer(tokens, place, spans, { act = "", number = null, key = "", name, chosen = false, closed = false, kind = "" }) {
    const rows = rowsOf(spans, tokens);
    const title = act
      ? el(
          "button",
          {
            type: "button",
            class: "btn small quiet",
            "data-act": act,
            "data-reader": number,
            "aria-pressed": chosen ? "true" : "false",
            disabled: closed,
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
        ...cells.map((cell) => this.#cell(cell, tokens, place)),
      ),
    );
  }

  #cell({ at, size, span }, tokens, place) {
    if (!span) return el("td", { class: inside(tokens[at], place) ? "here none" : "none" });
    const label = this.#labels.get(span.label) ?? { name: "?", hue: 0, underline: 0 };
    return el("td", { colspan: size, class: `marked hue-${label.hue}` }, el("span", { class: `swatch underline-${label.underline}` }, label.name));
  }
}

const inside = (token, place) => token.start < place.end && place.start < token.end;
