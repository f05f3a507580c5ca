/** What this browser keeps for a person: settings, never anything of a note. */

/** What is kept under a key; null where nothing is, or storage is switched off. */
export function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keep a value; where storage is switched off it is forgotten with the page. */
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // nothing else depends on it
  }
}
