/** Keys: the name of a key press, and the action that it starts. The `?` sheet is made from the same table. */

const NAMES = new Map([
  ["ArrowLeft", "←"],
  ["ArrowRight", "→"],
  ["ArrowUp", "↑"],
  ["ArrowDown", "↓"],
  ["Escape", "Esc"],
  ["Delete", "Del"],
  [" ", "Space"],
]);

/**
 * The name of a key press, such as "d", "Ctrl+z", "Ctrl+Shift+z", "Shift+Tab" or "?". Shift is named only with
 * named keys, Ctrl or Alt, because "?" needs Shift on some keyboards only. Null for a part of writing (AltGr, input methods).
 */
export function nameOf(event, key = event.key) {
  if (event.isComposing || key === "Dead" || key === "Unidentified") return null;
  const altGr = event.getModifierState?.("AltGraph") ?? false;
  const control = (event.ctrlKey || event.metaKey) && !altGr;
  const alt = event.altKey && !altGr;
  const single = [...key].length === 1;
  const shift = event.shiftKey && (!single || control || alt);
  return [control && "Ctrl", alt && "Alt", shift && "Shift", single ? key.toLowerCase() : key].filter(Boolean).join("+");
}

/**
 * What a key press may mean: its name, and for a letter of another script (Cyrillic, Greek …) the name of the Latin key at its
 * place, so that keys work with every keyboard layout.
 */
export function namesOf(event) {
  const name = nameOf(event);
  const [, latin] = /^(?:Key|Digit)(.)$/.exec(event.code ?? "") ?? [];
  const isForeign = /^\p{L}$/u.test(event.key) && !/\p{Script=Latin}/u.test(event.key);
  return name !== null && latin && isForeign ? [name, nameOf(event, latin)] : [name];
}

/** The key as the page shows it: "Ctrl+Shift+Z", "Shift+→". */
export function shown(name) {
  const parts = name === "+" ? ["+"] : name.split("+");
  const last = parts.pop();
  const key = NAMES.get(last) ?? (parts.length && last.length === 1 ? last.toUpperCase() : last);
  return [...parts, key].join("+");
}

/**
 * @typedef {{keys: string[], hand?: string, group: string, what: string, run: (event: KeyboardEvent, key: string) => boolean|void}} Action
 *   `hand` describes what to do with the mouse instead
 *   `run` returns false where the key has no meaning at present: then the browser handles the key
 */
export class Keys {
  #actions;
  #byKey = new Map();

  /** @param {Action[]} actions  the first action with a key gets it */
  constructor(actions) {
    this.#actions = actions;
    for (const action of actions) {
      for (const key of action.keys) if (!this.#byKey.has(key)) this.#byKey.set(key, action);
    }
  }

  /** Run the action that the key is bound to; true if one handled it. */
  handle(event) {
    const key = namesOf(event).find((name) => this.#byKey.has(name));
    const action = this.#byKey.get(key);
    if (!action || action.run(event, key) === false) return false;
    event.preventDefault();
    return true;
  }

  /** The bound keys by group: [{group, entries: [{keys, what}]}]. */
  sheet() {
    const groups = new Map();
    for (const action of this.#actions) {
      const keys = action.keys.filter((key) => this.#byKey.get(key) === action);
      if (!keys.length && !action.hand) continue;
      if (!groups.has(action.group)) groups.set(action.group, []);
      groups.get(action.group).push({ keys: action.hand ? [action.hand, ...keys.map(shown)] : keys.map(shown), what: action.what });
    }
    return [...groups].map(([group, entries]) => ({ group, entries }));
  }
}
