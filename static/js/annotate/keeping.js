/** Settings that this browser keeps for a person; never anything of a note. */

/** The value of a key; null if there is none or storage is disabled. */
export function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keep a value. If storage is disabled, the value is lost with the page. */
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The page works without the setting.
  }
}
