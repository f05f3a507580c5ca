/**
 * Draw the spans of a note. Only the changed pieces of a line are replaced, and only through DOM methods: no text of a note or label is
 * ever parsed as markup. The result is the same as that of `annotations/core/templatetags/note_text.py`.
 */

import { Runs, changes } from "./runs.js";
import { lineAt, linesOf, segmentSome } from "../text/segments.js";
import { el } from "./dom.js";
import { attributeWords, words } from "./words.js";

/** Name, classes and accessible name of the pieces of a span, as the server's template tag writes them. */
function lookOf(span, lane, label) {
  const name = label ? label.name : "?";
  const attributes = attributeWords(span.attributes);
  return {
    key: span.key,
    name,
    // In review and adjudication a span also has a state: a class, and a word for screen readers.
    spoken: [name, ...attributes, span.stateWord].filter(Boolean).join(", "),
    // What a view shows in place of the text: a placeholder or a surrogate.
    instead: span.instead,
    classes: `span hue-${label ? label.hue : 0} underline-${label ? label.underline : 0} lane-${lane}${attributes.length ? " has-attributes" : ""}${span.look ? ` ${span.look}` : ""}`,
  };
}

/** The segments as a tree of pieces, in which a span that continues in the next segment stays one piece. Leaves are segments. */
export function piecesOf(segments) {
  const root = { children: [] };
  let open = []; // {index, piece}
  for (const segment of segments) {
    let shared = 0;
    while (shared < open.length && shared < segment.spans.length && open[shared].index === segment.spans[shared]) shared += 1;
    open = open.slice(0, shared);
    for (const index of segment.spans.slice(shared)) {
      const piece = { index, first: segment.starts.includes(index), stacked: open.length > shared, children: [] };
      (open.at(-1)?.piece ?? root).children.push(piece);
      open.push({ index, piece });
    }
    (open.at(-1)?.piece ?? root).children.push(segment);
  }
  return root.children;
}

// The size at which a block of lines is full, in lines and in code points.
const BLOCK_LINES = 24;
const BLOCK_CHARACTERS = 3000;

/**
 * The lines of a note as empty elements, in blocks that the browser lays out and paints only near the window.
 */
export function emptyLines(lines) {
  const blocks = [[]];
  for (const line of lines) {
    const block = blocks.at(-1);
    const full = block.length >= BLOCK_LINES || (block.length && line.start - block[0].start >= BLOCK_CHARACTERS);
    if (full) blocks.push([line]);
    else block.push(line);
  }
  return blocks.map((block) => el("div", { class: "lines" }, ...block.map(emptyLine)));
}

function emptyLine({ number, start, end }) {
  return el(
    "div",
    { class: "line", id: `L${number}` },
    el("span", { class: "gutter", "aria-hidden": "true" }, String(number)),
    el("div", { class: "line-text", dir: "auto", "data-start": String(start), "data-end": String(end) }),
  );
}

export class NoteView {
  #index;
  #labels;
  #lines;
  #texts; // the .line-text of each line
  #runs = new Runs();
  #list = []; // the drawn spans, as given
  #drawn; // for each line the signatures of its pieces
  #selected = []; // keys
  #selectedPieces = [];

  /**
   * @param {HTMLElement} root  the .note, with its lines
   * @param {import("../text/offsets.js").TextIndex} index  of the note's text
   * @param {{get(id: number): any}} labels  by id
   */
  constructor(root, index, labels) {
    this.root = root;
    this.#index = index;
    this.#labels = labels;
    this.#lines = linesOf(index);
    this.#texts = [...root.querySelectorAll(".line-text")];
    this.#drawn = this.#lines.map(() => null);
  }

  /** Take over spans that the server has drawn. */
  adopt(spans) {
    this.#list = spans;
    this.#runs = new Runs();
    this.#runs.change([], spans);
    for (const { line, signatures } of this.#rows(0, this.#lines.length)) this.#drawn[line] = signatures;
  }

  /** Draw spans, which must be in text order. Returns the number of changed lines. */
  draw(spans) {
    const { gone, come } = changes(this.#list, spans);
    this.#list = spans;
    const dirty = new Set();
    for (const span of [...gone, ...come, ...this.#runs.change(gone, come)]) {
      const last = lineAt(this.#lines, span.end - 1);
      for (let line = lineAt(this.#lines, span.start); line <= last; line += 1) dirty.add(line);
    }
    return this.#drawLines([...dirty].sort((a, b) => a - b));
  }

  /** Draw every line: for a note that the browser builds, and to check that server and browser draw alike. */
  redrawAll(spans) {
    this.adopt(spans);
    this.#drawn.fill(null);
    return this.#drawLines(this.#lines.keys());
  }

  /** Mark spans as selected, and no others. Returns the first piece. @param {string|string[]|null} keys */
  select(keys) {
    for (const piece of this.#selectedPieces) piece.classList.remove("is-selected");
    this.#selected = keys === null ? [] : [keys].flat();
    this.#selectedPieces = this.#selected.flatMap((key) => this.pieces(key));
    for (const piece of this.#selectedPieces) piece.classList.add("is-selected");
    return this.#selectedPieces[0] ?? null;
  }

  /** The elements of a span in text order. Only the lines of the span are searched. */
  pieces(key) {
    const span = this.#runs.get(key);
    if (!span) return [];
    const lines = this.#texts.slice(lineAt(this.#lines, span.start), lineAt(this.#lines, span.end - 1) + 1);
    return lines.flatMap((line) => [...line.querySelectorAll(`.span[data-span="${CSS.escape(key)}"]`)]);
  }

  /** Draw the lines with these ascending numbers. Returns how many have changed. */
  #drawLines(numbers) {
    let count = 0;
    for (const [from, past] of stretches(numbers)) {
      for (const row of this.#rows(from, past)) count += this.#show(row);
    }
    if (count && this.#selected.length) this.select(this.#selected);
    return count;
  }

  /** The pieces of lines, with a signature of each piece. */
  *#rows(from, past) {
    const spans = this.#runs.within(this.#lines[from].start, this.#lines[past - 1].breakEnd);
    const looks = spans.map((span) => lookOf(span, this.#runs.lane(span.key), this.#labels.get(span.label)));
    const rows = segmentSome(this.#lines, from, past, spans);
    for (let row = 0; row < rows.length; row += 1) {
      const pieces = piecesOf(rows[row].segments);
      yield { line: from + row, pieces, looks, signatures: pieces.map((piece) => signatureOf(piece, looks)) };
    }
  }

  /** Replace the changed pieces of a line; unchanged pieces at its start and end stay. */
  #show({ line, pieces, looks, signatures }) {
    const node = this.#texts[line];
    const known = this.#drawn[line];
    const before = known !== null && known.length === node.childNodes.length ? known : null;
    this.#drawn[line] = signatures;
    if (before === null) {
      node.replaceChildren(...this.#nodes(pieces, looks));
      return 1;
    }
    const { head, tail } = ends(before, signatures);
    if (head + tail === before.length && head + tail === signatures.length) return 0;
    const after = node.childNodes[before.length - tail] ?? null;
    for (let left = before.length - tail - head; left > 0; left -= 1) node.childNodes[head].remove();
    for (const fresh of this.#nodes(pieces.slice(head, pieces.length - tail), looks)) node.insertBefore(fresh, after);
    return 1;
  }

  #nodes(pieces, looks) {
    return pieces.map((piece) => {
      if (!piece.children) return document.createTextNode(this.#index.slice(piece.start, piece.end));
      const look = looks[piece.index];
      const node = document.createElement("span");
      node.className = piece.stacked ? `${look.classes} is-stacked` : look.classes;
      node.setAttribute("role", "group");
      node.setAttribute("aria-label", piece.first ? look.spoken : words.continued(look.spoken));
      node.dataset.span = look.key;
      if (piece.first) node.dataset.label = look.name;
      if (piece.first && look.instead !== undefined) node.dataset.instead = look.instead;
      node.append(...this.#nodes(piece.children, looks));
      return node;
    });
  }
}

/** Everything that a piece shows, as a string for comparison. */
function signatureOf(piece, looks) {
  if (!piece.children) return `${piece.start}-${piece.end}`;
  const { key, name, spoken, classes, instead = "" } = looks[piece.index];
  const inside = piece.children.map((child) => signatureOf(child, looks)).join();
  return `${key}/${name}/${spoken}/${classes}/${instead}/${+piece.first}[${inside}]`;
}

/** How many items two lists have in common at their start, and at their end. */
function ends(before, after) {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return { head, tail };
}

/** Ascending numbers as half-open ranges of consecutive numbers. */
function stretches(numbers) {
  const out = [];
  for (const number of numbers) {
    if (out.length && out.at(-1)[1] === number) out.at(-1)[1] += 1;
    else out.push([number, number + 1]);
  }
  return out;
}
