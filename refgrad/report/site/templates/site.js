"use strict";
(() => {
  const root = document.documentElement;
  const remembered = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (["dark", "light"].includes(remembered())) root.dataset.theme = remembered();
  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* a page of a file may have no storage */ }
  });

  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };
  for (const button of document.querySelectorAll(".copy")) {
    const said = button.textContent;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        select(source);
        button.textContent = document.execCommand("copy") ? "Copied" : "Selected: copy it now";
      }
      setTimeout(() => { button.textContent = said; }, 2000);
    });
  }

  for (const form of document.querySelectorAll(".filters")) {
    const rows = [...document.getElementById(form.dataset.table).tBodies[0].rows];
    const words = form.querySelector("[data-search]");
    const state = form.querySelector("[data-state]");
    const count = form.querySelector("[data-count]");
    const update = () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        const fits = wanted.every((word) => text.includes(word));
        row.hidden = !(fits && (!state.value || row.dataset.states.split(" ").includes(state.value)));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = `${shown} of ${rows.length}`;
    };
    form.addEventListener("input", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    update();
  }

  const search = document.querySelector("[data-search]");
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && search && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
    }
  });

  const key = (row, column) => row.cells[column].dataset.order ?? row.cells[column].textContent;
  for (const button of document.querySelectorAll(".sort")) {
    const head = button.closest("th");
    button.addEventListener("click", () => {
      const body = head.closest("table").tBodies[0];
      const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      const compare = (one, other) => key(one, head.cellIndex).localeCompare(key(other, head.cellIndex), "en", { numeric: true });
      body.append(...[...body.rows].sort((one, other) => way * compare(one, other)));
    });
  }
})();
