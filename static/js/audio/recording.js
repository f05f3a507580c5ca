/** The page of a recording: waveform, transcript in step with the sound, and the suggested parts. */

/** @typedef {{ duration: number, peaks: number[], words: [number, number][] }} RecordingData */
/** @typedef {[number, number, number, string, boolean]} RegionState id, start, end (seconds), cause, muted */
/** @typedef {{ intervals: [number, number, string][], regions: RegionState[] }} MutingState */

const STEP = 0.1; // seconds
const HANDLES = 10; // pixels of a part from which its ends can be dragged
const FEW = 300; // parts that are all drawn; of more, those of the list
const NEAREST = 20; // pixels a second of the widest zoom out, if the recording is long
const player = document.getElementById("player");
const audio = /** @type {HTMLAudioElement} */ (document.getElementById("audio"));
const transcript = document.getElementById("transcript");
const mark = /** @type {HTMLFormElement | null} */ (document.getElementById("mark"));
const asMuted = /** @type {HTMLInputElement} */ (document.getElementById("as-muted"));
const words = transcript.querySelectorAll(".audio-word");
/** @type {RecordingData} */
const data = JSON.parse(document.getElementById("recording-data").textContent);

/** A color of the page as a canvas takes it: the value of a custom property may be a function. */
function color(name) {
  player.style.color = `var(${name})`;
  const found = getComputedStyle(player).color;
  player.style.color = "";
  return found;
}

const regions = WaveSurfer.Regions.create();
const wave = WaveSurfer.create({
  container: "#wave",
  media: audio,
  peaks: [data.peaks.map((peak) => peak / 100)],
  duration: data.duration,
  height: 96,
  normalize: true,
  waveColor: color("--text-mute"),
  progressColor: color("--accent"),
  cursorColor: color("--text"),
  cspNonce: player.dataset.nonce,
  plugins: [regions],
});

/** A style sheet in place of wavesurfer's style element, which tools that copy it would run into the page's policy with. */
function adoptStyles() {
  const root = /** @type {ShadowRoot} */ (wave.getWrapper().getRootNode());
  const style = root.querySelector("style");
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style.textContent);
  root.adoptedStyleSheets = [sheet];
  style.remove();
}

/** @type {MutingState} */
let state = { intervals: [], regions: [] };
/** @type {RegionState | null} */
let looped = null;
/** The regions of the waveform as they were last drawn, by id. @type {Map<string, string>} */
const drawn = new Map();
let isReady = false;
let selectedWord = -1;
let selectedRegion = 0;
let zoom = 0;
let playing = -1;

const rows = () => [...document.querySelectorAll(".audio-region")];
const rowOf = (id) => /** @type {HTMLFormElement | null} */ (document.querySelector(`.audio-region[data-region="${id}"]`));
const inputOf = (form, name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name));

/** Show what is muted now, in the waveform and in the transcript. */
function showState() {
  state = JSON.parse(document.getElementById("regions").dataset.state);
  for (const word of words) {
    const [begin, finish] = data.words[Number(word.dataset.at)];
    word.classList.toggle("is-muted", isMuted(begin, finish));
  }
  drawRegions();
}

/**
 * Draw the muted intervals that can be seen, and the parts of the list. An hour has thousands: of what a pixel holds, one
 * is drawn, and only what changed is drawn again.
 */
function drawRegions() {
  if (!isReady) return;
  const pixel = data.duration / wave.getWrapper().scrollWidth;
  const [from, to] = [wave.getScroll() - wave.getWidth(), wave.getScroll() + 2 * wave.getWidth()].map((at) => at * pixel);
  /** @type {[number, number][]} */
  const seen = [];
  for (const [start, end] of state.intervals) {
    if (end < from || start > to) continue;
    if (seen.length && start - seen.at(-1)[1] < pixel) seen.at(-1)[1] = end;
    else seen.push([start, end]);
  }
  const wanted = new Map();
  for (const [start, end] of seen)
    wanted.set(`muted-${start}-${end}`, { start, end, drag: false, resize: false, color: "var(--audio-muted)" });
  const listed = new Set(rows().map((row) => Number(row.dataset.region)));
  for (const [id, start, end, , muted] of state.regions)
    if (listed.has(id) || (end - start >= pixel && start < to && from < end && state.regions.length < FEW))
      wanted.set(`part-${id}`, {
        start,
        end,
        drag: false,
        resize: Boolean(mark && listed.has(id) && end - start > HANDLES * pixel),
        color: muted ? "var(--audio-part)" : "var(--audio-kept)",
      });
  for (const region of regions.getRegions()) {
    const options = wanted.get(region.id);
    wanted.delete(region.id);
    if (!options) region.remove();
    else if (JSON.stringify(options) !== drawn.get(region.id)) region.setOptions(options);
    if (options) drawn.set(region.id, JSON.stringify(options));
  }
  for (const [id, options] of wanted) {
    drawn.set(id, JSON.stringify(options));
    regions.addRegion({ id, ...options });
  }
}

/** Whether a muted interval touches a part of the recording, in seconds. The intervals are in order, and apart. */
function isMuted(begin, finish) {
  let low = 0;
  let high = state.intervals.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (state.intervals[middle][1] <= begin) low = middle + 1;
    else high = middle;
  }
  return low < state.intervals.length && state.intervals[low][0] < finish;
}

function playFrom(seconds) {
  audio.currentTime = seconds;
  void audio.play();
}

/** @param {RegionState | null} region */
function loop(region) {
  looped = region;
  document.getElementById("loop-state").textContent = region ? `${region[1].toFixed(2)} – ${region[2].toFixed(2)} s` : "";
  if (region) playFrom(region[1]);
  else audio.pause();
}

function selectWord(at) {
  if (at < 0 || at >= words.length) return;
  words[selectedWord]?.classList.remove("is-selected");
  selectedWord = at;
  words[at].classList.add("is-selected");
  words[at].scrollIntoView({ block: "nearest" });
}

function selectRegion(id) {
  selectedRegion = id;
  for (const row of rows()) row.classList.toggle("is-selected", Number(row.dataset.region) === id);
  rowOf(id)?.scrollIntoView({ block: "nearest" });
  const found = state.regions.find((region) => region[0] === id);
  if (found) audio.currentTime = found[1];
}

/** Decide a part. Not by a click on its button, because the waveform swallows the click that follows a drag. */
function decide(id, decision) {
  const form = rowOf(id);
  if (!form?.querySelector("[name=decision]:enabled")) return;
  void htmx.ajax("post", form.getAttribute("hx-post"), { source: form, values: { decision } });
}

/** Move the selected part's begin or end; it is stored with the decision. */
function extend(name, by) {
  const row = rowOf(selectedRegion);
  if (!row || !mark) return;
  const input = inputOf(row, name);
  input.value = Math.min(data.duration, Math.max(0, Number(input.value) + by)).toFixed(3);
  const found = state.regions.find((region) => region[0] === selectedRegion);
  found[name === "start" ? 1 : 2] = Number(input.value);
  regions.getRegions().find((region) => region.id === `part-${selectedRegion}`)?.setOptions({ [name]: Number(input.value) });
  drawn.delete(`part-${selectedRegion}`);
  if (looped) loop(found);
}

/** Mute from `begin` to `finish`. */
function muteFrom(begin, finish) {
  inputOf(mark, "start").value = begin.toFixed(3);
  inputOf(mark, "end").value = finish.toFixed(3);
  mark.requestSubmit();
}

/** Put the time of the player into the form for muting a part. */
function take(name) {
  const input = mark && inputOf(mark, name);
  if (!input) return;
  input.value = audio.currentTime.toFixed(3);
  input.focus();
}

const KEYS = {
  " ": () => (audio.paused ? void audio.play() : audio.pause()),
  n: () => step(1),
  p: () => step(-1),
  l: () => loop(looped ? null : (state.regions.find((region) => region[0] === selectedRegion) ?? null)),
  a: () => decide(selectedRegion, "accepted"),
  x: () => decide(selectedRegion, "rejected"),
  "[": () => extend("start", -STEP),
  "]": () => extend("end", STEP),
  m: () => mark && selectedWord >= 0 && muteFrom(...data.words[selectedWord]),
  b: () => take("start"),
  e: () => take("end"),
};
// The brackets need AltGr on some keyboards.
const MOVES = { Alt: "start", Shift: "end" };

function step(by) {
  const ids = rows().map((row) => Number(row.dataset.region));
  const at = ids.indexOf(selectedRegion) + by;
  if (ids.length) selectRegion(ids[at < -1 ? ids.length - 1 : Math.max(0, Math.min(at, ids.length - 1))]);
}

document.addEventListener("keydown", (event) => {
  const from = /** @type {HTMLElement} */ (event.target);
  const typing = from.matches("input:not([type=checkbox]), select, textarea");
  const moved = event.altKey === event.shiftKey ? null : event.altKey ? MOVES.Alt : MOVES.Shift;
  if (moved && !typing && !event.ctrlKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
    event.preventDefault();
    extend(moved, event.key === "ArrowLeft" ? -STEP : STEP);
    return;
  }
  // "b" and "e" also work in the two fields that they fill.
  const filling = from.matches("#mark input") && (event.key === "b" || event.key === "e");
  if ((typing && !filling) || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === " " && from.matches("button, a, input, audio, summary")) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

transcript.addEventListener("keydown", (event) => {
  if (event.altKey || event.shiftKey || event.ctrlKey) return;
  if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    event.preventDefault();
    selectWord(selectedWord + (event.key === "ArrowRight" ? 1 : -1));
  } else if (event.key === "Enter" && event.target === transcript && selectedWord >= 0) {
    playFrom(data.words[selectedWord][0]);
  }
});

document.addEventListener("click", (event) => {
  const from = /** @type {HTMLElement} */ (event.target);
  const word = from.closest(".audio-word");
  const gap = from.closest(".audio-gap");
  const row = from.closest(".audio-region");
  if (word) {
    selectWord(Number(word.dataset.at));
    playFrom(data.words[selectedWord][0]);
  } else if (gap) {
    selectRegion(Number(gap.dataset.region));
    loop(state.regions.find((region) => region[0] === selectedRegion) ?? null);
  } else if (row) {
    selectedRegion = Number(row.dataset.region);
    if (from.closest("[data-loop]")) loop(looped ? null : (state.regions.find((one) => one[0] === selectedRegion) ?? null));
  }
});

wave.on("timeupdate", (now) => {
  if (looped && now >= looped[2]) audio.currentTime = looped[1];
  audio.muted = asMuted.checked && isMuted(now, now + 0.001);
  const at = data.words.findLastIndex(([begin, finish]) => begin <= now && now < finish);
  if (at === playing) return;
  words[playing]?.classList.remove("is-playing");
  words[at]?.classList.add("is-playing");
  playing = at;
});

for (const [id, by] of /** @type {[string, number][]} */ ([["wider", 2], ["narrower", 0.5]])) {
  document.getElementById(id).addEventListener("click", () => {
    zoom = Math.max(NEAREST, Math.min(1000, (zoom || NEAREST) * by));
    wave.zoom(zoom);
  });
}

if (mark) {
  let ready = false;
  regions.enableDragSelection({ color: "var(--audio-muted)" });
  regions.on("region-created", (region) => {
    if (!ready || region.id.startsWith("part-") || !region.drag) return;
    const { start, end } = region;
    region.remove();
    muteFrom(start, end);
  });
  regions.on("region-updated", (region) => {
    const id = Number(region.id.replace("part-", ""));
    const row = rowOf(id);
    if (!row) return;
    inputOf(row, "start").value = region.start.toFixed(3);
    inputOf(row, "end").value = region.end.toFixed(3);
    decide(id, "accepted");
  });
  ready = true;
}

let hadFocus = false;
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id === "regions") hadFocus = event.detail.target.contains(document.activeElement);
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id !== "regions") return;
  const before = state.regions.find((region) => region[0] === selectedRegion);
  const ids = rows().map((row) => Number(row.dataset.region));
  showState();
  if (ids.includes(selectedRegion)) selectRegion(selectedRegion);
  else if (ids.length) {
    const later = state.regions.find((region) => ids.includes(region[0]) && before && region[1] >= before[1]);
    selectRegion(later?.[0] ?? ids[0]);
    // Who listens to one part after the other hears the next one.
    if (looped) loop(state.regions.find((region) => region[0] === selectedRegion) ?? null);
  } else if (looped) loop(null);
  if (hadFocus) rowOf(selectedRegion)?.querySelector("button")?.focus();
});

adoptStyles();
showState();
// Only now does the waveform take regions.
wave.on("ready", () => {
  isReady = true;
  drawRegions();
});
let isDrawing = false;
for (const name of /** @type {const} */ (["scroll", "zoom"]))
  wave.on(name, () => {
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      drawRegions();
    });
  });

export {};
