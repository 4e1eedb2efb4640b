// The panel of other prices, below "Cost": fields for the lines of each bill, and what follows from them. It is made by this script
// alone, so that a page without scripts, and a printed one, shows the study's prices and nothing else.
(() => {
  const [source, home] = [document.getElementById("prices"), document.getElementById("what-if")];
  if (!source || !home) return;
  const data = JSON.parse(source.textContent);
  const LINK = "#what-if";
  const ALL = "all";
  // Machines and volumes are priced by a list: what has one price there has one field here.
  const LISTED = ["compute", "volume", "snapshot"];

  const per = (digits, value) => (value === null ? WhatIf.ABSENT : `$${WhatIf.fixed(value, digits)}`);
  const usd = (value) => per(WhatIf.dollarDecimals([value ?? 0]), value);
  // The models of cost: name, and text with interval. `all` are the rows of the workload, whose column has the same decimals.
  const MODELS = {
    work: ["Units per USD, higher is better", (r, all) => interval(WhatIf.columnDecimals(all.map((a) => a.unitsPerUsd)), r.unitsPerUsd, r.unitsInterval, "")],
    unit: ["USD per unit, lower is better", (r, all) => interval(WhatIf.dollarDecimals(all.map((a) => a.usdPerUnit)), r.usdPerUnit, r.usdInterval, "$")],
    million: ["USD per million transactions", (r) => [usd(r.models?.usdPerMillion ?? null), ""]],
    hour: ["Units per dollar and hour", (r) => [WhatIf.fixed(r.models?.throughputPerUsdHour ?? null, WhatIf.columnDecimals([r.models?.throughputPerUsdHour ?? 0])), ""]],
    same: ["USD a month for the baseline's throughput", (r) => [usd(r.models?.sameThroughput ?? null), ""]],
    even: ["Break-even cost of a month", (r) => [usd(r.models?.breakEven ?? null), ""]],
  };

  function interval(decimals, value, i, sign) {
    return value === null ? [WhatIf.ABSENT, ""] : [`${sign}${WhatIf.fixed(value, decimals)}`, WhatIf.range(i, decimals)];
  }

  const state = { region: 0, workload: ALL, model: "work", edits: new Map(), faults: new Map() };
  let fields = [];
  let waiting = 0;

  function make(tag, attributes = {}, ...children) {
    const element = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  }

  const billsOf = (region) => data.bills.filter((b) => b.region === region);

  // The fields of a bill: the key is in links, so it says what it is of and what the study's price is.
  function fieldsOf(bill) {
    const found = new Map();
    const of = [data.contenders[bill.contender], data.regions[bill.region]];
    bill.lines.forEach((line, i) => {
      if (!line.priced) return;
      const priced = line.amount.is === "units";
      const stated = priced ? line.price : line.amount.percent;
      const listed = priced && LISTED.includes(line.group);
      const [item, sku, unit] = [line.item, priced ? line.sku : line.item, priced ? line.unit : "%"];
      const name = [...of, line.group, listed ? "" : `${item}: `, sku, unit, stated].join("|");
      const key = listed || !found.has(name) ? name : `${name}|${i}`;
      const field = found.get(key) ?? { key, group: line.group, title: priced ? sku : item, items: [], unit, stated, lines: [], bill };
      if (!found.has(key)) found.set(key, field);
      field.lines.push(i);
      if (priced && !field.items.includes(item)) field.items.push(item);
    });
    const key = [...of, "discount"].join("|");
    found.set(key, { key, group: "discount", title: "further discount", items: ["machines, volumes, snapshots and traffic"], unit: "%", stated: "0", lines: ["further"], bill });
    return [...found.values()];
  }

  const everyField = new Map(data.bills.flatMap(fieldsOf).map((f) => [f.key, f]));

  // A text that says the stated price in other digits is no other price.
  function differs(field, text) {
    try {
      return WhatIf.percentage(text) !== WhatIf.percentage(field.stated);
    } catch {
      return true;
    }
  }

  const changed = () => [...state.edits].filter(([key, text]) => !state.faults.has(key) && differs(everyField.get(key), text));

  // The bills of a region by contender, stated or with the edits. What cannot be used is left out and told to its field.
  function bills(region, edited, told = () => {}) {
    const found = [];
    for (const bill of billsOf(region)) {
      const edits = {};
      for (const field of edited ? fieldsOf(bill) : []) {
        const text = state.edits.get(field.key);
        if (text !== undefined) field.lines.forEach((line) => (edits[line] = text));
      }
      for (;;) {
        try {
          found[bill.contender] = WhatIf.bill(bill, edits, data);
          break;
        } catch (error) {
          if (error.edit === undefined || edits[error.edit] === undefined) throw error;
          const field = fieldsOf(bill).find((f) => f.lines.includes(error.edit) || f.lines.includes(Number(error.edit)));
          told(field.key, error.message);
          field.lines.forEach((line) => delete edits[line]);
        }
      }
    }
    return found;
  }

  const shownWorkloads = () => data.workloads.filter((w, i) => state.workload === ALL || state.workload === String(i));

  // Rows of the table: workload, contender, its result now and as stated.
  function rows(now, stated) {
    const found = [];
    if (state.workload === ALL && data.overall.length > 0) {
      const all = { name: "all workloads, weighed", unit: "", contenders: data.overall };
      const then = WhatIf.results(data, all, stated);
      WhatIf.results(data, all, now).forEach((row, i) => found.push({ workload: all, row, was: then[i], all: [row], before: [then[i]] }));
    }
    for (const workload of shownWorkloads()) {
      const [all, before] = [WhatIf.results(data, workload, now), WhatIf.results(data, workload, stated)];
      all.forEach((row, i) => found.push({ workload, row, was: before[i], all, before }));
    }
    return found;
  }

  function cell([text, note], [before, beforeNote], tone, drawn = "") {
    const shown = tone ? make("span", { class: `verdict ${tone}` }, text) : text;
    const parts = [shown, ...(note ? [" ", make("small", {}, `(${note})`)] : [])];
    if (text !== before || note !== beforeNote) {
      parts.push(make("small", { class: "stated" }, `study: ${before}${beforeNote && ` (${beforeNote})`}`));
    }
    return make("td", { class: tone ? "said" : "n" }, ...parts, drawn);
  }

  const ratioTexts = (r) => (r.ratio ? [WhatIf.ratioText(r.ratio), WhatIf.ratioInterval(r.ratio)] : [WhatIf.ABSENT, ""]);
  const verdictTexts = (r) => {
    if (!r.verdict) return [r.contender === data.baseline ? "baseline" : WhatIf.ABSENT, ""];
    return [r.verdict.word, r.verdict.why || (r.verdict.word === "equivalent" ? r.detectable : "")];
  };

  function table(found) {
    const [title, text] = MODELS[state.model];
    const base = data.contenders[data.baseline];
    const heads = ["Workload", "Contender", `#Cost of ${data.months} months`, `#${title}`, `#${data.work[0].toUpperCase()}${data.work.slice(1)} against ${base}`, "Verdict"];
    const reach = scale(found);
    const body = found.map(({ workload, row, was, all, before }) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, workload.name, ...(workload.unit ? [" ", make("small", {}, `(unit: ${workload.unit})`)] : [])),
        make("td", {}, data.contenders[row.contender]),
        cell([WhatIf.money(row.bill.total), ""], [WhatIf.money(was.bill.total), ""]),
        cell(text(row, all), text(was, before)),
        cell(ratioTexts(row), ratioTexts(was), null, drawing(row, was, reach)),
        cell(verdictTexts(row), verdictTexts(was), row.verdict ? row.verdict.word : "plain"),
      ),
    );
    const head = heads.map((h) => make("th", { scope: "col", class: h.startsWith("#") ? "n" : null }, h.replace(/^#/, "")));
    return make("table", {}, make("caption", {}, make("span", {}, `In ${data.regions[state.region]}`)), make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  }

  // The logarithms that all rows have room for.
  function scale(found) {
    const ends = found.flatMap(({ row, was }) => [row.ratio, was.ratio]).filter(Boolean);
    const logs = ends.flatMap((r) => [r.value, r.interval?.low, r.interval?.high]).filter((v) => v > 0).map(Math.log);
    const edge = Math.log1p(data.margin);
    return [Math.min(-1.5 * edge, -0.02, ...logs), Math.max(1.5 * edge, 0.02, ...logs)];
  }

  // The interval against the margin around 1; the study's own is the thin line below.
  function drawing(row, was, [low, high]) {
    if (!row.ratio) return "";
    const x = (value) => (4 + ((Math.log(value) - low) / (high - low)) * 152).toFixed(1);
    const at = (ratio) => [ratio.interval?.low ?? ratio.value, ratio.interval?.high ?? ratio.value].map(x);
    const line = (name, [from, to], y) => make("svg:line", { class: name, x1: from, x2: to, y1: y, y2: y });
    const edges = [1 / (1 + data.margin), 1 + data.margin].map(x);
    return make(
      "svg:svg",
      { class: "strip", viewBox: "0 0 160 26", "aria-hidden": "true" },
      make("svg:rect", { class: "margin", x: edges[0], y: 1, width: Math.max(edges[1] - edges[0], 1), height: 24 }),
      make("svg:line", { class: "axis", x1: x(1), x2: x(1), y1: 1, y2: 25 }),
      ...(was.ratio ? [line("guide", at(was.ratio), 20)] : []),
      make("svg:g", { class: `judged ${row.verdict.word}` }, line("range", at(row.ratio), 10), make("svg:circle", { cx: x(row.ratio.value), cy: 10, r: 4 })),
    );
  }

  // The answers in words, for those who hear the page; the table has all.
  function answer(found) {
    const sentence = ({ workload, row }) => {
      const within = row.ratio.interval ? `${Number((data.confidence * 100).toFixed(3))} % interval ${WhatIf.ratioInterval(row.ratio)}` : "no interval";
      const why = row.verdict.why && `: ${row.verdict.why}`;
      return `${workload.name}: ${data.contenders[row.contender]} gives ${WhatIf.ratioText(row.ratio)} the ${data.work} of ${data.contenders[data.baseline]} (${within}): ${row.verdict.word}${why}.`;
    };
    return found.filter(({ row }) => row.verdict).slice(0, 3).map(sentence).join("\n");
  }

  const ground = {
    note: make("p", { class: "note", role: "alert", hidden: true }),
    answer: make("p", { role: "status", class: "what-if-answer" }),
    results: make("div", { class: "scroll", role: "group", "aria-label": "What follows from these prices", tabindex: "0" }),
    fields: make("div", { class: "what-if-bills" }),
    mark: make("div", { class: "what-if-mark", role: "region", "aria-label": "What if", hidden: true }),
  };

  function show() {
    state.faults.clear();
    const found = rows(bills(state.region, true, (key, why) => state.faults.set(key, why)), bills(state.region, false));
    const others = changed();
    home.classList.toggle("is-changed", others.length > 0);
    ground.results.replaceChildren(table(found));
    const here = others.some(([key]) => everyField.get(key).bill.region === state.region);
    ground.answer.textContent = here ? `What if: not the study's prices. ${answer(found)}` : answer(found);
    ground.mark.hidden = others.length === 0;
    ground.mark.firstChild.textContent = `What if: not the study's prices (${others.length} changed). `;
    for (const { field, input, fault } of fields) {
      const why = state.faults.get(field.key);
      fault.textContent = why ? `Not used: ${why}.` : "";
      if (why) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
      input.closest(".what-if-field").classList.toggle("is-changed", differs(field, input.value));
    }
  }

  // The address carries the choice. It is written when typing pauses, because browsers limit how often it may change.
  function remember() {
    clearTimeout(waiting);
    waiting = setTimeout(() => history.replaceState(null, "", address()), 250);
  }

  function address() {
    const said = new URLSearchParams();
    if (state.region > 0) said.append("region", data.regions[state.region]);
    if (state.workload !== ALL) said.append("workload", data.workloads[state.workload].name);
    if (state.model !== "work") said.append("model", state.model);
    for (const [key, text] of changed()) said.append(`price|${key}`, text);
    const text = said.toString();
    return text ? `${LINK}?${text}` : LINK;
  }

  // Takes over what the address says; what this page does not have is told and left out.
  function restore() {
    if (!location.hash.startsWith(`${LINK}?`)) return;
    Object.assign(state, { region: 0, workload: ALL, model: "work" });
    state.edits.clear();
    const unknown = [];
    for (const [name, value] of new URLSearchParams(location.hash.slice(LINK.length + 1))) {
      const region = name === "region" ? data.regions.indexOf(value) : -1;
      const workload = name === "workload" ? data.workloads.findIndex((w) => w.name === value) : -1;
      if (region >= 0) state.region = region;
      else if (workload >= 0) state.workload = String(workload);
      else if (name === "model" && Object.hasOwn(MODELS, value)) state.model = value;
      else if (name.startsWith("price|") && everyField.has(name.slice(6))) state.edits.set(name.slice(6), value.slice(0, 40));
      else unknown.push(`${name.replace(/^price\|/, "")} = ${value}`.slice(0, 80));
    }
    ground.note.hidden = unknown.length === 0;
    ground.note.textContent = unknown.length === 0 ? "" : `The link names ${unknown.length} thing${unknown.length === 1 ? "" : "s"} that this page does not have. Left out: ${unknown.slice(0, 3).join("; ")}${unknown.length > 3 ? "; …" : ""}.`;
    for (let e = home; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    switches();
    inputs();
    show();
    home.scrollIntoView();
  }

  function reset() {
    state.edits.clear();
    ground.note.hidden = true;
    inputs();
    show();
    remember();
    home.querySelector("input, select")?.focus();
  }

  // A switch for each thing that the page has several of.
  function switches() {
    const choice = (label, name, options) => {
      const select = make("select", { onchange: () => choose(name, select.value) }, ...options.map(([value, text]) => make("option", { value }, text)));
      select.value = String(state[name]);
      return options.length > 1 ? [make("label", {}, `${label} `, select)] : [];
    };
    const workloads = data.workloads.map((w, i) => [String(i), w.name]);
    ground.switches.replaceChildren(
      ...choice("Region", "region", data.regions.map((r, i) => [String(i), r])),
      ...choice("Workload", "workload", workloads.length > 1 ? [[ALL, "all"], ...workloads] : workloads),
      ...choice("Model of cost", "model", Object.entries(MODELS).map(([id, [title]]) => [id, title])),
    );
  }

  function choose(name, value) {
    state[name] = name === "region" ? Number(value) : value;
    if (name === "region") inputs();
    show();
    remember();
  }

  function inputs() {
    fields = [];
    const of = (bill, i) => {
      const list = fieldsOf(bill).map((field) => input(field));
      return make("details", { open: i < 2 }, make("summary", {}, `Prices of ${data.contenders[bill.contender]}`), ...list);
    };
    ground.fields.replaceChildren(...billsOf(state.region).map(of));
  }

  function input(field) {
    const id = `what-if-${fields.length}`;
    const fault = make("span", { id: `${id}-fault`, class: "fault", "aria-live": "polite" });
    const typed = make("input", { id, type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-stated ${id}-fault` });
    typed.value = state.edits.get(field.key) ?? field.stated;
    typed.addEventListener("input", () => {
      state.edits.set(field.key, typed.value);
      if (!differs(field, typed.value)) state.edits.delete(field.key);
      show();
      remember();
    });
    fields.push({ field, input: typed, fault });
    const unit = field.unit === "%" ? "%" : `USD per ${field.unit}`;
    const label = make("label", { for: id }, field.title, ...(field.items.length > 0 ? [" ", make("small", {}, `(${field.items.join(", ")})`)] : []));
    return make("div", { class: "what-if-field" }, label, make("span", { class: "k" }, typed, ` ${unit} `), make("small", { id: `${id}-stated` }, `study: ${field.stated}`), fault);
  }

  function build() {
    ground.switches = make("div", { class: "what-if-switches" });
    ground.mark.append(make("span", {}), make("a", { href: LINK }, "Show them"), " ", make("button", { type: "button", onclick: reset }, "Back to the study's prices"));
    const rule = "Type other prices: cost, ratio, interval and verdict follow by the program's rules. A price has no error, so it moves an interval and does not widen it. The address of the page carries what you choose. The rest of the page, and a print, keeps the study's prices.";
    home.append(make("h3", {}, "What if prices were other?"), make("p", {}, rule), ground.note, ground.switches, ground.answer, ground.results, ground.fields);
    document.querySelector("main").append(ground.mark);
    document.querySelector("nav ul")?.append(make("li", {}, make("a", { href: LINK }, "What if")));
    switches();
    inputs();
    show();
    restore();
    addEventListener("hashchange", restore);
  }

  build();
})();
