/** The location that an address names (`?at=START-END`, code points) in a text of `length` code points; null if none. */
export function locationIn(search, length) {
  const found = /^(\d{1,9})-(\d{1,9})$/.exec(new URLSearchParams(search).get("at") ?? "");
  if (!found) return null;
  const [start, end] = [Number(found[1]), Number(found[2])];
  return start < end && end <= length ? { start, end } : null;
}
