// The form that starts a run: a slider for the masking threshold, with the figures of the chosen model's hold-out.
// Without this script, the threshold is entered as a number.
"use strict";

/** @typedef {{threshold: number | null, recall: number | null, precision: number | null, leak_free: number | null}} Point */

(() => {
  const DOWN = ["ArrowLeft", "ArrowDown", "PageDown", "Home"];
  const masking = document.getElementById("masking");
  const data = document.getElementById("curves");
  const form = masking?.closest("form");
  const [field, recall, precision] = ["threshold", "recall", "precision"].map((name) => document.getElementById(`run-${name}`));
  if (!masking || !data || !form || !(field instanceof HTMLInputElement)) return;
  if (!(recall instanceof HTMLInputElement) || !(precision instanceof HTMLInputElement)) return;
  const words = masking.dataset;
  /** @type {Record<string, Point[]>} */
  const curves = JSON.parse(data.textContent || "{}");
  const box = document.createElement("div");
  box.className = "field";
  box.hidden = true;
  const label = document.createElement("label");
  label.htmlFor = "masking-slider";
  label.textContent = words.slider || "";
  const slider = document.createElement("input");
  slider.type = "range";
  slider.id = "masking-slider";
  slider.min = "0";
  slider.step = "1";
  const ends = document.createElement("div");
  ends.className = "range-ends";
  for (const word of [words.less, words.more]) {
    const end = document.createElement("span");
    end.textContent = word || "";
    ends.append(end);
  }
  const figures = document.createElement("output");
  figures.htmlFor.add("masking-slider");
  box.append(label, slider, ends, figures);
  masking.querySelector("legend")?.nextElementSibling?.after(box);

  /** The curve of the chosen model; empty without one. */
  const curve = () => {
    const chosen = form.querySelector("input[name=backend]:checked");
    return (chosen instanceof HTMLInputElement && curves[chosen.value]) || [];
  };
  /** @param {number | null} share */
  const shown = (share) => (share === null ? "–" : share.toFixed(4));
  /** @param {Point} point */
  const text = (point) => {
    const values = { at: String(point.threshold), recall: shown(point.recall), precision: shown(point.precision), free: shown(point.leak_free) };
    const pattern = (point.threshold === null ? words.without : words.at) || "";
    return Object.entries(values).reduce((found, [key, value]) => found.replace(`{${key}}`, value), pattern);
  };
  /** Whether a wanted recall or precision chooses the threshold. */
  const later = () => !field.value && Boolean(recall.value || precision.value);
  // The slider says its threshold, and the live region below it says the figures.
  const show = () => {
    const point = curve()[Number(slider.value)];
    if (!point) return;
    figures.textContent = later() ? words.later || "" : text(point);
    const value = point.threshold === null ? words.off || "" : String(point.threshold);
    slider.setAttribute("aria-valuetext", later() ? words.later || "" : value);
  };
  /** Move the slider to the stored threshold that is nearest to the number. */
  const follow = () => {
    const points = curve();
    const wanted = Number(field.value);
    let best = 0;
    const away = (/** @type {number} */ at) => Math.abs((points[at].threshold ?? Infinity) - wanted);
    for (let at = 1; field.value && at < points.length; at += 1) if (away(at) < away(best)) best = at;
    slider.value = String(best);
    show();
  };
  const look = () => {
    const points = curve();
    box.hidden = !points.length;
    slider.max = String(Math.max(points.length - 1, 0));
    follow();
  };
  /** Take the slider's threshold in place of a wanted recall or precision. */
  const take = () => {
    const point = curve()[Number(slider.value)];
    field.value = point?.threshold ? String(point.threshold) : "";
    recall.value = precision.value = "";
    show();
  };
  slider.addEventListener("input", take);
  // At its lower end, the slider can't move down, so that the browser sends no input event: these keys turn it off.
  slider.addEventListener("keydown", (event) => {
    if (!later() || slider.value !== slider.min || !DOWN.includes(event.key)) return;
    event.preventDefault();
    take();
  });
  for (const one of [field, recall, precision]) one.addEventListener("input", follow);
  form.addEventListener("change", (event) => {
    if (event.target instanceof HTMLInputElement && event.target.name === "backend") look();
  });
  // The browser may fill in the fields again after Back.
  window.addEventListener("pageshow", look);
  look();
})();
