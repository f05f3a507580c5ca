/** The guidelines next to the text, below the description of the current label. */

import { byId, el } from "../editor/dom.js";
import { guideWords as words } from "./talk_words.js";
import { recall, remember } from "./keeping.js";
import { words as pageWords } from "../editor/words.js";

export class Guide {
  #workbench;
  #root = byId("guide");
  #button = byId("guidelines");
  #back = null; // the element that had the focus before
  #seen; // the key under which this browser keeps the version that the person has seen

  /** @param {import("./workbench.js").Workbench} workbench */
  constructor(workbench) {
    this.#workbench = workbench;
    const { slug, person } = workbench.project;
    this.#seen = `deidreview.guidelines.${slug}.${person}`;
    this.#button.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.toggle();
    });
    byId("guide-close").addEventListener("click", () => this.close());
    this.#root.addEventListener("click", (event) => this.#jump(event));
    byId("notes-list").querySelector("summary").addEventListener("click", (event) => this.#give(event));
    // Handled before the keys of the note: if nothing is selected there, Escape closes the guidelines.
    document.addEventListener("keydown", (event) => this.#escape(event), { capture: true });
    workbench.on("selected", () => this.#label());
    const known = recall(this.#seen);
    if (known !== null && known.split(".")[0] !== String(workbench.project.guidelines)) this.#button.dataset.news = words.news;
  }

  actions() {
    return [{ keys: ["g"], group: pageWords.groups.note, what: words.action, run: () => this.toggle() }];
  }

  get isOpen() {
    return !this.#root.hidden;
  }

  toggle() {
    if (this.isOpen) this.close();
    else this.open();
  }

  open() {
    this.#back = document.activeElement;
    this.#set(true);
    this.#label();
    byId("guide-scroll").focus({ preventScroll: true });
    this.#workbench.say(words.opened);
    this.#load();
  }

  close() {
    const inside = this.#root.contains(document.activeElement);
    this.#set(false);
    if (inside || document.activeElement === document.body) {
      if (this.#back?.isConnected && this.#back !== document.body) this.#back.focus({ preventScroll: true });
      else this.#workbench.work.focusNote();
    }
    this.#workbench.say(words.closed);
  }

  #set(open) {
    this.#root.hidden = !open;
    byId("workbench").classList.toggle("has-guide", open);
    this.#button.setAttribute("aria-expanded", String(open));
  }

  /** Open the list of notes; where there is no room for both, close the guidelines. */
  #give(event) {
    const [list, items] = [byId("notes-list"), byId("notes-items")];
    if (!this.isOpen || items.checkVisibility()) return;
    event.preventDefault();
    list.open = true;
    if (!items.checkVisibility()) this.close();
  }

  #escape(event) {
    if (event.key !== "Escape" || !this.isOpen || event.isComposing) return;
    const { work, palette } = this.#workbench;
    const inside = this.#root.contains(event.target);
    const inNote = event.target === byId("note") || event.target === document.body;
    const busy = work.range || work.selected || work.armed !== null || palette.isOpen;
    if (!inside && (!inNote || busy)) return;
    this.close();
    event.preventDefault();
    event.stopPropagation();
  }

  /** Load the guidelines, each time again because they may have changed. */
  async #load() {
    const body = byId("guide-body");
    try {
      const response = await fetch(this.#workbench.project.urls.guidelines_beside, {
        headers: { "HX-Request": "true" },
        credentials: "same-origin",
        cache: "no-store",
        redirect: "manual",
      });
      if (!response.ok) throw new Error(String(response.status));
      // The server sanitizes the Markdown, and scripts of a parsed document don't run.
      const part = new DOMParser().parseFromString(await response.text(), "text/html").querySelector(".guide");
      for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (part.querySelectorAll('a[href]:not([href^="#"])'))) {
        link.target = "_blank";
        link.rel = "noopener noreferrer";
      }
      body.replaceChildren(document.adoptNode(part));
      this.#version(part.dataset.version);
    } catch {
      body.replaceChildren(el("p", { class: "notice warn" }, words.failed));
    }
  }

  #version(version) {
    const known = recall(this.#seen);
    byId("guide-news").hidden = known === null || known === version;
    delete this.#button.dataset.news;
    remember(this.#seen, version);
  }

  /** Show the description of the selected span's label, else of the armed label. */
  #label() {
    if (!this.isOpen) return;
    const { work, labels } = this.#workbench;
    const label = labels.get(work.selected?.label ?? work.armed);
    const root = byId("guide-label");
    root.hidden = !label;
    if (!label) return;
    root.className = `guide-label hue-${label.hue}`;
    root.replaceChildren(
      el("span", { class: "chip" }, label.name),
      el("p", { class: label.description ? "said" : "mute", dir: "auto" }, label.description || words.undescribed),
    );
  }

  #jump(event) {
    const link = event.target.closest('a[href^="#"]');
    const heading = link && this.#root.querySelector(`[id="${CSS.escape(link.hash.slice(1))}"]`);
    if (!heading) return;
    event.preventDefault();
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    heading.scrollIntoView({ block: "start" });
  }
}
