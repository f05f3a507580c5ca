/** Points in time, in the format and the time zone in which the server writes them (annotations/core/templatetags/moments.py). */

import { locale } from "./translating.js";

/** @type {Intl.DateTimeFormatOptions} */
const PARTS = { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };

/** A format in a zone, or in the browser's own where it doesn't know that zone. @param {string | undefined} timeZone */
function formatIn(timeZone) {
  try {
    return new Intl.DateTimeFormat(locale, { ...PARTS, timeZone });
  } catch {
    return new Intl.DateTimeFormat(locale, PARTS);
  }
}

let format; // made with the first moment, because a new browser process takes 20 ms to load the data of languages

/** A point in time as text, 23 Nov 2026, 14:05, and as a title with the seconds and the time zone. @param {string} at as ISO text */
export function moment(at) {
  format ??= formatIn(globalThis.document?.documentElement.dataset.timeZone);
  const { day, month, year, hour, minute, second } = Object.fromEntries(format.formatToParts(new Date(at)).map((part) => [part.type, part.value]));
  const text = `${day} ${month} ${year}, ${hour}:${minute}`;
  return { text, title: `${text}:${second} (${format.resolvedOptions().timeZone})` };
}
