// The values of drawings: under the pointer, by a tap, and by the keyboard, where a drawing takes focus and arrows step through its marks.
// Each mark is a group with its value as title, which browsers show without this script.
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  let shown = null;

  function show(mark) {
    if (shown) shown.classList.remove("at");
    shown = mark;
    tip.textContent = mark ? mark.dataset.value : "";
    if (!mark) return;
    mark.classList.add("at");
    const [box, own, wide] = [mark.getBoundingClientRect(), tip.getBoundingClientRect(), document.documentElement.clientWidth];
    const left = Math.min(Math.max(box.left + box.width / 2 - own.width / 2, 4), Math.max(wide - own.width - 4, 4));
    tip.style.left = `${left}px`;
    tip.style.top = `${box.top > own.height + 12 ? box.top - own.height - 8 : box.bottom + 8}px`;
  }

  function step(marks, key) {
    const now = marks.indexOf(shown);
    if (key === "Home") return marks[0];
    if (key === "End") return marks.at(-1);
    if (key === "ArrowRight" || key === "ArrowDown") return marks[Math.min(now + 1, marks.length - 1)];
    return marks[Math.max(now - 1, 0)];
  }

  for (const drawing of document.querySelectorAll("svg[role=img]")) {
    const marks = [...drawing.querySelectorAll("g.v")];
    if (marks.length === 0) continue;
    for (const mark of marks) {
      const title = mark.querySelector("title");
      mark.dataset.value = title.textContent;
      title.remove();
    }
    drawing.setAttribute("tabindex", "0");
    const under = (event) => show(event.target.closest("g.v"));
    drawing.addEventListener("pointerover", under);
    drawing.addEventListener("click", under);
    drawing.addEventListener("pointerleave", () => show(null));
    drawing.addEventListener("blur", () => show(null));
    drawing.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return show(null);
      if (!/^(Arrow|Home$|End$)/.test(event.key)) return;
      event.preventDefault();
      show(step(marks, event.key));
    });
  }
  document.querySelector("main").append(tip);
  addEventListener("scroll", () => show(null), { passive: true });
})();
