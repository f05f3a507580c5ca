/**
 * Draws the spans of a note. Only lines that change are touched, and only through DOM methods: nothing of a note or a label is
 * ever parsed as markup. Draws as `annotations/templatetags/note_text.py` does.
 */

import { lanes } from "./lanes.js";
import { segmentLines } from "../text/segments.js";
import { words } from "./words.js";

/** How one piece of a span looks and reads: what the server's template tag writes. */
function lookOf(span, lane, label) {
  const name = label ? label.name : "?";
  return {
    key: span.key,
    name,
    // Under review a span also has a state: a class, and a word for those who hear the page.
    spoken: span.stateWord ? `${name}, ${span.stateWord}` : name,
    classes: `span hue-${label ? label.hue : 0} underline-${label ? label.underline : 0} lane-${lane}${span.look ? ` ${span.look}` : ""}`,
  };
}

/** The segments as a tree of pieces: a span that goes on into the next segment stays one piece. Leaves are segments. */
export function piecesOf(segments) {
  const root = { children: [] };
  let open = []; // {index, piece}
  for (const segment of segments) {
    let shared = 0;
    while (shared < open.length && shared < segment.spans.length && open[shared].index === segment.spans[shared]) shared += 1;
    open = open.slice(0, shared);
    for (const index of segment.spans.slice(shared)) {
      const piece = { index, first: segment.starts.includes(index), last: false, children: [] };
      (open.at(-1)?.piece ?? root).children.push(piece);
      open.push({ index, piece });
    }
    for (const { index, piece } of open) if (segment.ends.includes(index)) piece.last = true;
    (open.at(-1)?.piece ?? root).children.push(segment);
  }
  return root.children;
}

export class NoteView {
  #index;
  #labels;
  #texts; // the .line-text of each line
  #drawn = []; // what each line shows, as a string to compare
  #selected = null;

  /**
   * @param {HTMLElement} root  the .note
   * @param {import("../text/offsets.js").TextIndex} index  of the note's text
   * @param {Map<number, object>} labels  by id
   */
  constructor(root, index, labels) {
    this.root = root;
    this.#index = index;
    this.#labels = labels;
    this.#texts = [...root.querySelectorAll(".line-text")];
  }

  /** The page shows these spans already: the server drew them. */
  adopt(spans) {
    this.#drawn = this.#rows(spans).map(({ signature }) => signature);
  }

  /** Show these spans. Returns how many lines were drawn. */
  draw(spans) {
    let count = 0;
    const rows = this.#rows(spans);
    for (let at = 0; at < rows.length; at += 1) {
      if (rows[at].signature === this.#drawn[at]) continue;
      this.#drawn[at] = rows[at].signature;
      this.#texts[at].replaceChildren(...this.#nodes(piecesOf(rows[at].segments), rows[at].looks));
      count += 1;
    }
    if (count && this.#selected !== null) this.select(this.#selected);
    return count;
  }

  /** Mark one span, or none. Returns its first piece. */
  select(key) {
    for (const piece of this.root.querySelectorAll(".span.is-selected")) piece.classList.remove("is-selected");
    this.#selected = key;
    if (key === null) return null;
    const pieces = this.pieces(key);
    for (const piece of pieces) piece.classList.add("is-selected");
    return pieces[0] ?? null;
  }

  pieces(key) {
    return [...this.root.querySelectorAll(`.span[data-span="${CSS.escape(key)}"]`)];
  }

  /** Draw every line anew, as a check that the server and the browser draw alike. */
  redrawAll(spans) {
    this.#drawn = [];
    return this.draw(spans);
  }

  #rows(spans) {
    const placed = lanes(spans);
    const looks = spans.map((span, at) => lookOf(span, placed[at], this.#labels.get(span.label)));
    return segmentLines(this.#index.text, spans, this.#index).map(({ segments }) => ({
      segments,
      looks,
      signature: segments.map((segment) => signatureOf(segment, looks)).join(""),
    }));
  }

  #nodes(pieces, looks) {
    return pieces.map((piece) => {
      if (!piece.children) return document.createTextNode(this.#index.slice(piece.start, piece.end));
      const look = looks[piece.index];
      const node = document.createElement("span");
      node.className = piece.last ? look.classes : `${look.classes} is-continued`;
      node.setAttribute("role", "group");
      node.setAttribute("aria-label", piece.first ? look.spoken : words.continued(look.spoken));
      node.dataset.span = look.key;
      if (piece.last) node.dataset.label = look.name;
      node.append(...this.#nodes(piece.children, looks));
      return node;
    });
  }
}

function signatureOf({ start, end, spans, starts, ends }, looks) {
  const marks = spans.map((at) => {
    const { key, name, spoken, classes } = looks[at];
    return [key, name, spoken, classes, +starts.includes(at), +ends.includes(at)].join("/");
  });
  return `${start}-${end}[${marks.join(",")}]`;
}
