/** The tables of cases that Python and JavaScript share, and a small source of hostile texts. */

import { readFileSync } from "node:fs";

export function cases(file) {
  return JSON.parse(readFileSync(new URL(`../cases/${file}`, import.meta.url), "utf8"));
}

const PIECES = [
  "\n", "\r", "\r\n", " ", "\t", "\u2028", "\u0085", "\u00a0", "\u200b", "\ufeff", "Mario", "12", "/", "e\u0301",
  "\u{1f600}", "\u{1f468}\u200d\u{1f469}", "\u202e", "\u05d0", "\u{1d400}", "\ud83d", "\ude00", "\u5f20", "\u0301",
];

/** A repeatable source of numbers from 0 up to and without `below` (mulberry32). */
export function randomSource(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

/** A text of everything that is known to go wrong, half pairs included. */
export function hostileText(random) {
  return Array.from({ length: random(16) }, () => PIECES[random(PIECES.length)]).join("");
}
