/** Injected by tests/bench/acts.py: where on the screen a stretch of the note lies, brought into view first. */
(() => {
  const lineOf = (offset) =>
    [...document.querySelectorAll("#note .line-text")].findLast((line) => Number(line.dataset.start) <= offset);

  /** The text node and place in it of a code point; `back` takes the earlier node at a seam. */
  function point(offset, back) {
    const line = lineOf(back ? offset - 1 : offset);
    let left = [...line.textContent].slice(0, offset - Number(line.dataset.start)).join("").length;
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (left < node.length || (back && left === node.length)) return [node, left];
      left -= node.length;
    }
    throw new Error("no such place");
  }

  /** The points to press at and to let go at: inside the first and the last character. */
  window.benchEnds = (start, end) => {
    const box = (from, to) => {
      const range = document.createRange();
      range.setStart(...point(from, false));
      range.setEnd(...point(to, true));
      return range.getBoundingClientRect();
    };
    const scroller = document.getElementById("scroll");
    scroller.scrollTop += box(start, start + 1).top - scroller.getBoundingClientRect().top - scroller.clientHeight / 3;
    const [first, last] = [box(start, start + 1), box(end - 1, end)];
    return [
      { x: first.left + 1, y: first.top + first.height / 2 },
      { x: last.right - 1, y: last.top + last.height / 2 },
    ];
  };
})();
