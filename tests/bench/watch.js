/**
 * Injected by tests/bench/workbench.py before the page's own scripts: how long a gesture takes to be seen, and how much of the
 * page it touches.
 *
 * A gesture begins when the browser took in its last event (`event.timeStamp` of a key going down or the mouse button going up:
 * before any script runs) and ends with the frame that shows what it changed: the first task after the frame in whose
 * requestAnimationFrame the change was already made, so that style, layout, painting and the hand-over to the compositor are
 * over. What the graphics card or the screen do after that isn't counted.
 */
(() => {
  const STARTED = "bench.started";
  const watch = { opened: null };
  let began = 0;
  let waiting = null;

  const afterFrame = (done) =>
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => done(performance.now());
      port2.postMessage(0);
    });

  for (const type of ["keydown", "pointerup"]) {
    addEventListener(type, (event) => event.isTrusted && (began = event.timeStamp), { capture: true });
  }
  addEventListener("keydown", (event) => {
    if (event.key === "n") sessionStorage.setItem(STARTED, String(performance.timeOrigin + event.timeStamp));
  }, { capture: true });

  const sizeOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? 1 + [...node.childNodes].reduce((sum, child) => sum + sizeOf(child), 0) : 1);

  /** Nodes of the note that were put in, taken out or given another attribute. */
  function touched(records) {
    const changed = new Set();
    let moved = 0;
    for (const { type, target, addedNodes, removedNodes } of records) {
      if (type === "attributes") changed.add(target);
      else for (const node of [...addedNodes, ...removedNodes]) moved += sizeOf(node);
    }
    return moved + changed.size;
  }

  /** Once the next gesture was made: {took, script, touched}, in milliseconds and nodes. */
  watch.gesture = () => {
    waiting = new Promise((done) => {
      const observer = new MutationObserver((records) => {
        const children = records.some(({ type }) => type === "childList");
        if (!children) return; // a ring moved; what the gesture does comes
        observer.disconnect();
        const scripted = performance.now();
        const nodes = touched(records);
        afterFrame((painted) => done({ took: painted - began, script: scripted - began, touched: nodes }));
      });
      observer.observe(document.getElementById("note"), { childList: true, subtree: true, attributes: true, characterData: true });
    });
  };
  watch.made = () => waiting;

  /** Where words lie on the screen that have at least four letters and no span: [{word, left, right, y}]. */
  watch.words = () => {
    const frame = document.getElementById("scroll").getBoundingClientRect();
    const found = [];
    const walker = document.createTreeWalker(document.getElementById("note"), NodeFilter.SHOW_TEXT);
    const range = document.createRange(); // one: the browser keeps every range true whenever a node goes, until it is collected
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest(".span") || !node.parentElement.closest(".line-text")) continue;
      for (const match of node.data.matchAll(/\p{L}{4,}/gu)) {
        range.setStart(node, match.index);
        range.setEnd(node, match.index + match[0].length);
        const boxes = range.getClientRects();
        const box = boxes[0];
        if (boxes.length !== 1 || box.top < frame.top + 80 || box.bottom > frame.bottom - 80) continue;
        found.push({ word: match[0], left: box.left, right: box.right, y: box.top + box.height / 2 });
      }
    }
    return found;
  };

  /** Bring the middle of the note into view. */
  watch.middle = () => {
    const lines = document.querySelectorAll("#note .line-text");
    lines[Math.floor(lines.length / 2)].scrollIntoView({ block: "center" });
  };

  // When the page could be used: its script is ready, and the frame that shows it is made. Since navigation began; for a note that was
  // opened from another one, since the key was pressed.
  function opened() {
    afterFrame((painted) => {
      const pressed = Number(sessionStorage.getItem(STARTED) ?? 0);
      sessionStorage.removeItem(STARTED);
      watch.opened = { took: pressed ? performance.timeOrigin + painted - pressed : painted, isPressed: Boolean(pressed) };
    });
  }
  new MutationObserver(() => {
    if (document.documentElement.dataset.workbench === "ready") opened();
  }).observe(document, { attributeFilter: ["data-workbench"], subtree: true });

  window.benchWatch = watch;
})();
