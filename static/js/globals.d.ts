/**
 * What the type checker can't see by itself: what the pages hold, htmx's events, Django's catalog. Types only: no browser loads it.
 */

/** Pages hold HTML elements, other than a few icons that no script looks for. */
interface ParentNode {
  querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  querySelector(selectors: `${string}[name=csrfmiddlewaretoken]`): HTMLInputElement | null;
  querySelector(selectors: string): HTMLElement | null;
  querySelectorAll<K extends keyof HTMLElementTagNameMap>(selectors: K): NodeListOf<HTMLElementTagNameMap[K]>;
  querySelectorAll(selectors: string): NodeListOf<HTMLElement>;
}
interface Document {
  querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  querySelector(selectors: `${string}[name=csrfmiddlewaretoken]`): HTMLInputElement | null;
  querySelector(selectors: string): HTMLElement | null;
  querySelectorAll<K extends keyof HTMLElementTagNameMap>(selectors: K): NodeListOf<HTMLElementTagNameMap[K]>;
  querySelectorAll(selectors: string): NodeListOf<HTMLElement>;
}
interface Element {
  closest<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  closest(selectors: string): HTMLElement | null;
}

interface HtmxEventMap {
  "htmx:afterSettle": CustomEvent<{ elt: HTMLElement; requestConfig: { elt: HTMLElement } }>;
  "htmx:afterSwap": CustomEvent<{ target: HTMLElement; requestConfig: { verb: string; elt: HTMLElement; triggeringEvent?: Event; path: string } }>;
  "htmx:beforeSwap": CustomEvent<{ target: HTMLElement }>;
  "htmx:responseError": CustomEvent<{ xhr: XMLHttpRequest }>;
}
interface DocumentEventMap extends HtmxEventMap {}
interface HTMLElementEventMap extends HtmxEventMap {}

/** The catalog that Django's JavaScriptCatalog view serves; absent where the page is in English. */
declare var django: undefined | {
  gettext(text: string): string;
  ngettext(one: string, many: string, count: number): string;
  pgettext(context: string, text: string): string;
};

/** What the elements are that scripts know by their ids, where they are more than an HTMLElement. */
interface PageElements {
  "after-location": HTMLButtonElement;
  "before-location": HTMLButtonElement;
  "after-suggestion": HTMLButtonElement;
  "before-suggestion": HTMLButtonElement;
  finish: HTMLButtonElement;
  "done-icon": HTMLTemplateElement;
  filters: HTMLFormElement;
  "filters-box": HTMLDetailsElement;
  "find-next": HTMLButtonElement;
  "find-previous": HTMLButtonElement;
  "find-text": HTMLInputElement;
  "flag-dialog": HTMLDialogElement;
  "flag-form": HTMLFormElement;
  "flag-icon": HTMLTemplateElement;
  "next-note": HTMLAnchorElement;
  "notes-list": HTMLDetailsElement;
  outcome: HTMLAnchorElement;
  progress: HTMLProgressElement;
  redo: HTMLButtonElement;
  reopen: HTMLButtonElement;
  "reopen-form": HTMLFormElement;
  "sending-bar": HTMLProgressElement;
  start: HTMLButtonElement;
  "start-form": HTMLFormElement;
  "string-form": HTMLFormElement;
  submit: HTMLButtonElement;
  "submit-form": HTMLFormElement;
  "tick-all": HTMLInputElement;
  undo: HTMLButtonElement;
  "undo-form": HTMLFormElement;
  "undo-submit": HTMLButtonElement;
  upload: HTMLFormElement;
  "with-gold": HTMLInputElement;
  "with-doubtful": HTMLInputElement;
  "with-removals": HTMLInputElement;
  "rest-skipped": HTMLElement;
}
interface Document {
  getElementById<K extends keyof PageElements>(id: K): PageElements[K];
}
interface HTMLFormControlsCollection {
  /** A control by its name; several of one name are a RadioNodeList. */
  [name: string]: any;
}

/** htmx and idiomorph, which pages load before our classic scripts: as far as these use them. */
declare const htmx: {
  ajax(verb: string, path: string, how: { source: Element; values: Record<string, string> }): Promise<void>;
  swap(target: Element | string, content: string, how: { swapStyle: string }): void;
  defineExtension(
    name: string,
    extension: {
      isInlineSwap(style: string): boolean;
      handleSwap(style: string, target: Element, fragment: DocumentFragment): Node[] | boolean;
    },
  ): void;
};
declare const Idiomorph: {
  morph(old: Element, content: HTMLCollection, options: object): Node[];
};

/** wavesurfer.js, vendored: the page of a recording loads it before its script. */
declare var WaveSurfer: { create(options: object): any; Regions: { create(): any } };
