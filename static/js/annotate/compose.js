/** The form for a comment. The text is kept until it is saved or canceled. */

import { byId, el } from "../editor/dom.js";
import { talk as words } from "./talk_words.js";

const LONGEST = 4000;

export class Compose {
  #root;
  #send;
  #closed;
  #body = null; // the request's fields other than the text
  #begun = ""; // the initial text

  /**
   * @param {HTMLElement} root  empty; hidden while the form is closed
   * @param {{send: (body: object) => Promise<string|null>, closed: (saved: boolean) => void}} calls  `send` resolves to null or an error message
   */
  constructor(root, { send, closed }) {
    this.#root = root;
    this.#send = send;
    this.#closed = closed;
  }

  get hasText() {
    return Boolean(this.#field?.value.trim());
  }

  get #field() {
    return this.#root.querySelector("textarea");
  }

  /** Whether there is text that is neither saved nor canceled. */
  get #isUnsaved() {
    return this.hasText && this.#field.value !== this.#begun;
  }

  /** Open the form, unless it holds unsaved text. The change id prevents a comment that is sent twice from being added twice. */
  open(body, title, save, text = "") {
    if (this.#isUnsaved) byId("comment-error").textContent = words.unsaved;
    else this.#show({ body: { change_id: crypto.randomUUID(), ...body }, title, save, text });
    this.#field.focus();
  }

  /** The unsaved comment, for `restore`; null if there is none. */
  draft() {
    return this.hasText ? { body: this.#body, title: this.#root.dataset.title, save: this.#root.dataset.save, text: this.#field.value } : null;
  }

  restore(draft) {
    this.#show(draft);
    this.#begun = "";
  }

  close() {
    this.#body = null;
    this.#root.hidden = true;
    this.#root.replaceChildren();
  }

  #show({ body, title, save, text }) {
    this.#body = body;
    this.#begun = text;
    Object.assign(this.#root.dataset, { title, save });
    const field = el("textarea", { id: "comment-text", rows: 3, maxlength: LONGEST, dir: "auto", "aria-describedby": "comment-error" });
    field.value = text;
    const cancel = el("button", { type: "button", class: "btn quiet small" }, words.cancel);
    const form = el(
      "form",
      { class: "compose" },
      el("label", { for: "comment-text" }, el("span", { class: "sr-only" }, `${words.write} `), title),
      field,
      el("p", { class: "errorlist", id: "comment-error", role: "alert" }),
      el("div", { class: "actions" }, el("button", { type: "submit", class: "btn primary small" }, save), cancel),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(form);
    });
    cancel.addEventListener("click", () => this.#cancel());
    form.addEventListener("keydown", (event) => this.#key(event, form));
    this.#root.hidden = false;
    this.#root.replaceChildren(form);
  }

  #key(event, form) {
    if (event.key === "Escape") this.#cancel();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #cancel() {
    this.close();
    this.#closed(false);
  }

  async #submit(form) {
    const text = this.#field.value;
    const body = this.#body;
    if (!text.trim() || form.dataset.sending) return;
    form.dataset.sending = "yes";
    const trouble = await this.#send({ ...body, text });
    delete form.dataset.sending;
    // Another note may have been opened meanwhile: its form isn't this one.
    if (body !== this.#body) return;
    if (trouble) {
      byId("comment-error").textContent = trouble;
      return;
    }
    this.close();
    this.#closed(true);
  }
}
