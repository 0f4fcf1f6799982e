"use strict";
// Finds a tool among thousands. The page is complete without it.
(() => {
  const label = document.querySelector(".find"), input = label.querySelector("input");
  const status = document.querySelector(".matches");
  const tools = [...document.querySelectorAll(".tool")].map(
    (item) => [item, item.querySelector(".name").textContent.toLowerCase()]);
  const folds = [...document.querySelectorAll(".branches details")].reverse();  // inner ones first
  const wereOpen = new Map(folds.map((fold) => [fold, fold.open]));
  const MOST_OPENED = 300;  // tools that are laid out at once
  const out = (item, isOut) => item.toggleAttribute("data-out", isOut);

  function show(query) {
    let count = 0;
    for (const [item, name] of tools) {
      const fits = name.includes(query);
      count += fits;
      out(item, !fits);
    }
    for (const fold of folds) {
      const fits = !query || fold.querySelector(".tool:not([data-out])") !== null
        || fold.querySelector("summary .name")?.textContent.toLowerCase().includes(query);
      out(fold.closest(".branch > details") === fold ? fold.parentElement : fold, !fits);
      fold.open = query ? fits && count <= MOST_OPENED : wereOpen.get(fold);
    }
    status.textContent = !query ? "" : count === 1 ? "1 tool found."
      : `${count.toLocaleString("en")} tools found.`;
  }

  let waiting;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => show(input.value.trim().toLowerCase()), 120);
  });
  label.hidden = tools.length < 10;
})();
