/**
 * Where in its document a span comes from, and the page of the document beside the text.
 *
 * @typedef {[number, number, string, string]} Place  start and end (code points, end-exclusive) of a part, its name, and the address of the
 *   picture of its page ("" if there is none)
 */

import { byId, el } from "./dom.js";
import { words } from "./words.js";

/** The parts of the document from which a span comes. @param {Place[]} source @returns {Place[]} */
export const placesOf = (source, { start, end }) => (source ?? []).filter(([from, to]) => from < end && start < to);

/** A line that names the parts, with links to their pages; null without parts. @param {Place[]} places */
export function placesLine(places) {
  if (!places.length) return null;
  const named = places.flatMap(([, , name, url], at) => [
    at > 0 && " · ",
    url ? el("a", { href: url, target: "_blank", "data-source-page": name }, name) : name,
  ]);
  const hasPage = places.some(([, , , url]) => url);
  return el("p", { class: "small wb-places" }, `${words.source} `, ...named, hasPage && " ", hasPage && el("kbd", {}, "F8"));
}

export class SourcePage {
  #root;
  #title;
  #scroll;
  #back;
  #tell;

  /** @param {{ back: () => void, tell: (message: string) => void }} note gives the focus back to the note; shows and announces a message */
  constructor({ back, tell }) {
    this.#back = back;
    this.#tell = tell;
    this.#title = el("h2", { id: "source-page-title" });
    this.#scroll = el("div", { class: "wb-page-scroll", tabindex: "0", role: "region", "aria-labelledby": "source-page-title" });
    const close = el("button", { type: "button", class: "btn quiet small" }, words.closePage, " ", el("kbd", {}, "F8"));
    close.addEventListener("click", () => this.close());
    this.#root = el("aside", { class: "wb-page", "aria-labelledby": "source-page-title", hidden: true }, el("div", { class: "wb-page-head" }, this.#title, close), this.#scroll);
    byId("scroll").closest(".wb-middle").after(this.#root);
    this.#root.addEventListener("keydown", (event) => this.#key(event));
    // A click with a key or another button opens the page elsewhere, as for every link.
    document.addEventListener("click", (event) => {
      const link = event.target instanceof Element && event.target.closest("a[data-source-page]");
      if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.#open(link.dataset.sourcePage, link.href);
    });
  }

  /** The key of both pages. @param {() => Place[]} places of the selected span @returns {import("./keys.js").Action} */
  action(group, places) {
    return { keys: ["F8"], group, what: words.keys.sourcePage, run: () => this.#toggle(places()) };
  }

  close() {
    const hadFocus = this.#root.contains(document.activeElement);
    this.#root.hidden = true;
    byId("workbench").classList.remove("has-page");
    if (hadFocus) this.#back();
  }

  #toggle(places) {
    if (!this.#root.hidden) {
      this.close();
      return true;
    }
    const place = places.find(([, , , url]) => url);
    if (!place) {
      this.#tell(words.noPlace);
      return true;
    }
    this.#open(place[2], place[3]);
    this.#scroll.focus({ preventScroll: true });
    return true;
  }

  #open(name, url) {
    const image = el("img", { src: url, alt: words.pageOf(name) });
    image.addEventListener("error", () => this.#scroll.replaceChildren(el("p", { class: "notice warn" }, words.noPage)));
    this.#title.textContent = name;
    this.#scroll.replaceChildren(image);
    this.#root.hidden = false;
    byId("workbench").classList.add("has-page");
  }

  #key(event) {
    if (event.key !== "Escape" && event.key !== "F8") return;
    event.preventDefault();
    event.stopPropagation();
    this.close();
  }
}
