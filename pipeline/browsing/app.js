"use strict";
// Everything that comes from a crawl is put on the page as text, never as markup.
const $ = (id) => document.getElementById(id);
const NAMES = {state: "Fate", source: "Source", step: "Step that dropped it", reason: "Reason", lang: "Language", host: "Host"};
const PAGE = 25;
const state = {offset: 0, total: 0, about: null, facets: {}, open: ""};

function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "text") node.textContent = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c !== null));
  return node;
}

function fill(node, ...children) { node.replaceChildren(...children.filter((c) => c !== null)); }

async function ask(path, parameters = {}) {
  const answer = await fetch(path + "?" + new URLSearchParams(parameters));
  const said = answer.headers.get("Content-Type").startsWith("application/json") ? await answer.json() : {error: await answer.text()};
  if (!answer.ok) throw new Error(said.hint ? `${said.error} (${said.hint})` : said.error);
  return said;
}

const shown = (n) => Number.isInteger(n) ? String(n) : Number(n).toPrecision(4).replace(/\.?0+$/, "");
const counted = (n) => Number(n).toLocaleString("en");

function filters() {
  const asked = {};
  for (const name of ["q", "url"]) if ($(name).value.trim()) asked[name] = $(name).value.trim();
  for (const select of $("facets").querySelectorAll("select")) if (select.value) asked[select.name] = select.value;
  const signal = $("signal").value;
  if (signal && $("low").value.trim()) asked["min." + signal] = $("low").value.trim();
  if (signal && $("high").value.trim()) asked["max." + signal] = $("high").value.trim();
  return asked;
}

function drawFacets(found) {
  const old = filters();
  const parts = [];
  for (const [name, values] of Object.entries(found)) {
    if (values.length < 2 && !old[name]) continue;
    const select = make("select", {id: "f-" + name, name});
    select.append(make("option", {value: "", text: "any"}));
    if (old[name] && !values.some(([v]) => String(v) === old[name])) select.append(make("option", {value: old[name], text: old[name]}));
    for (const [value, count] of values) select.append(make("option", {value, text: `${value} (${counted(count)})`}));
    select.value = old[name] || "";
    select.addEventListener("change", () => search(0));
    parts.push(make("label", {for: "f-" + name, text: NAMES[name] || name}), select);
  }
  const active = document.activeElement && document.activeElement.id;
  fill($("facets"), ...parts);
  if (active && active.startsWith("f-") && $(active)) $(active).focus();
}

function drawRow(row) {
  const fate = row.state === "kept" ? "kept" : `${row.state} by ${row.step}: ${row.reason}` + (row.value ? ` (${row.value})` : "");
  const sort = $("sort").value;
  const more = sort && row[sort] !== undefined && !["url", "id", "characters"].includes(sort) ? `, ${sort} ${row[sort]}` : "";
  const size = row.characters === undefined ? "no text" : `${counted(row.characters)} characters`;
  const button = make("button", {type: "button", "data-id": row.id, on: {click: () => open(row.id)}},
    make("span", {class: "address", text: row.url || row.id}),
    make("span", {class: row.state, text: fate}), make("span", {class: "soft", text: ` · ${size}${more}`}),
    make("span", {class: "snippet", text: row.snippet || ""}));
  return make("li", {}, button);
}

async function search(offset) {
  state.offset = Math.max(0, offset);
  const asked = filters();
  const order = $("sort").value ? {sort: $("sort").value, desc: $("desc").checked ? "1" : "0"} : {};
  try {
    const started = performance.now();
    const found = await ask("api/documents", {...asked, ...order, offset: state.offset, limit: PAGE});
    state.total = found.total;
    const last = Math.min(state.offset + PAGE, found.total);
    const spent = ((performance.now() - started) / 1000).toFixed(2);
    $("total").textContent = found.total ? `${counted(state.offset + 1)} to ${counted(last)} of ${counted(found.total)} documents, ${spent} s` + (found.cut ? "; more have these words than were looked at" : "") : "No document.";
    fill($("rows"), ...found.rows.map(drawRow));
    $("back").disabled = state.offset === 0;
    $("next").disabled = last >= found.total;
    drawFacets(found.facets);
  } catch (error) { $("total").textContent = error.message; fill($("rows")); }
  plot(asked);
}

async function plot(asked) {
  const name = $("signal").value;
  if (!name) { fill($("plot")); return; }
  const rest = Object.fromEntries(Object.entries(asked).filter(([k]) => k !== "min." + name && k !== "max." + name));
  try {
    const found = await ask("api/signal", {...rest, name});
    const most = Math.max(1, ...found.kept.map((n, i) => n + found.others[i]));
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 240 70");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${name} of ${found.documents} documents, from ${shown(found.low)} to ${shown(found.high)}`);
    const bar = (x, y, height, kind) => {
      const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      for (const [k, v] of Object.entries({x, y, height, width: 5.5, class: kind})) rect.setAttribute(k, v);
      svg.append(rect);
    };
    found.kept.forEach((n, i) => {
      const one = n / most * 66, two = found.others[i] / most * 66;
      bar(i * 6, 68 - one, one, "k");
      bar(i * 6, 68 - one - two, two, "o");
    });
    fill($("plot"), svg, make("p", {class: "soft", text: `${counted(found.documents)} documents, ${shown(found.low)} to ${shown(found.high)}: kept below, others above`}));
  } catch (error) { fill($("plot"), make("p", {text: error.message})); }
}

function table(rows) {
  return make("div", {class: "scroll", tabindex: "0"},
    make("table", {}, make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((c, i) =>
      c instanceof Node ? make("td", {}, c) : make("td", i ? {class: typeof c === "number" ? "n" : "", text: c} : {text: c})))))));
}

const link = (id, text) => make("button", {type: "button", text: text || id, on: {click: () => open(id)}});

async function open(id) {
  const place = $("document");
  let found;
  try { found = await ask("api/document", {id}); } catch (error) { fill(place, make("p", {text: error.message})); place.hidden = false; return; }
  state.open = id;
  history.replaceState(null, "", "#" + id);
  for (const button of $("rows").querySelectorAll("button")) button.dataset.id === id ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current");
  const row = found.row;
  const story = found.events.map((e) => [e.phase, e.outcome === "kept" ? "kept" : `${e.outcome} by ${e.step}: ${e.reason}` + (e.value ? ` (${e.value})` : "")]);
  const bounds = found.judged.map((j) => [j.signal, shown(j.value), (j.side === "low" ? "at\u00a0least\u00a0" : "at\u00a0most\u00a0") + shown(j.bound),
    make("span", {class: j.broken ? "broken" : "", text: j.broken ? "broken" : "holds"}), j.rule]);
  const hidden = new Set(["n", "id", "url", "broken", "text"]);
  const values = Object.entries(row).filter(([k]) => !hidden.has(k)).map(([k, v]) => [k, typeof v === "number" ? shown(v) : String(v)]);
  fill(place,
    make("h2", {text: row.url || row.id}), make("p", {}, make("code", {text: row.id})),
    make("div", {class: "buttons"}, make("button", {type: "button", id: "close", text: "Close", on: {click: shut}}),
      make("button", {type: "button", text: "Page as crawled", on: {click: () => raw(id)}})),
    make("div", {id: "raw"}),
    make("h3", {text: "What became of it"}), table(story),
    row.broken && row.broken.length ? make("p", {text: "Rules of its phase that it breaks: " + row.broken.join(", ")}) : null,
    row.note ? make("p", {class: "soft", text: row.note}) : null,
    found.survivor ? make("p", {text: "Kept in its place: "}, link(found.survivor)) : null,
    found.copies.length ? make("h3", {text: `Dropped as its duplicates (${found.copies.length})`}) : null,
    found.copies.length ? table(found.copies.map((c) => [link(c.id, c.url || c.id), `${c.step}: ${c.reason}`])) : null,
    found.tokens.length ? make("h3", {text: "Its tokens"}) : null,
    found.tokens.length ? table(found.tokens.map((t) => [`${t.shard}:${t.start}..${t.end}`, `copy ${t.copy || 0}`])) : null,
    make("h3", {text: "Text"}), found.text === null ? make("p", {text: "The index has no text of it."}) : make("pre", {tabindex: "0", text: found.text}),
    bounds.length ? make("h3", {text: "Against the bounds"}) : null, bounds.length ? table(bounds) : null,
    make("h3", {text: "All that is known"}), table(values));
  place.hidden = false;
  document.querySelector("main").classList.remove("closed");
  place.focus({preventScroll: true});
  place.scrollIntoView();
}

function raw(id) {
  // Without any right: no script, no form, no navigation; the answer forbids them once more.
  fill($("raw"), make("iframe", {sandbox: "", title: "The page as it was crawled", src: "raw/" + encodeURIComponent(id), referrerpolicy: "no-referrer"}));
}

function shut() {
  $("document").hidden = true;
  document.querySelector("main").classList.add("closed");
  history.replaceState(null, "", "#");
  const from = $("rows").querySelector("[aria-current]") || $("q");
  from.focus();
}

async function tryBound() {
  const bound = state.about.bounds[Number($("bound").value)];
  try {
    const found = await ask("api/bound", {step: bound.step, reason: bound.reason, side: bound.side, value: $("value").value.trim()});
    const group = (name, text) => [make("p", {text: `${counted(found[name].documents)} ${text}`}),
      found[name].examples.length ? make("ol", {}, ...found[name].examples.map((e) => make("li", {}, link(e.id, `${shown(e.value)} ${e.url || e.id}`)))) : null];
    fill($("effect"),
      ...group("in", "dropped by this rule alone would pass its phase; what later phases say is not known."),
      ...group("out", `of ${counted(found.kept)} kept would be dropped.`),
      ...group("other", "would be dropped by another rule instead."),
      ...group("anyway", "dropped anyway would break this rule too."),
      found.unknown ? make("p", {class: "soft", text: `${counted(found.unknown)} that it dropped were not made again and are not counted.`}) : null,
      bound.by_language ? make("p", {class: "soft", text: "Languages with bounds of their own are counted as if they had none."}) : null,
      make("p", {}, make("code", {id: "line", text: found.line})),
      make("button", {type: "button", id: "copy", text: "Copy", on: {click: copy}}));
  } catch (error) { fill($("effect"), make("p", {text: error.message})); }
}

async function copy() {
  try { await navigator.clipboard.writeText($("line").textContent); $("copy").textContent = "Copied"; }
  catch { getSelection().selectAllChildren($("line")); $("copy").textContent = "Selected"; }
}

async function start() {
  state.about = await ask("api/about");
  const about = state.about;
  document.title = $("name").textContent = about.name;
  $("about").textContent = `${counted(about.records)} records` + (about.without_text ? `, ${counted(about.without_text)} dropped pages without text` : "") + `; plan ${about.plan_id.slice(0, 12)}`;
  const option = (value, text) => make("option", {value, text: text || value});
  fill($("signal"), option("", "none"), ...about.signals.map((s) => option(s)));
  fill($("sort"), option("", "as they lie"), option("characters"), option("url", "address"), ...about.signals.map((s) => option(s)));
  fill($("bound"), ...about.bounds.map((b, i) => option(i, `${b.step}: ${b.reason}`)));
  const current = () => { const b = about.bounds[Number($("bound").value)]; if (b) $("value").value = shown(b.bound); };
  current();
  $("bound").addEventListener("change", current);
  $("try").addEventListener("click", tryBound);
  $("filters").addEventListener("submit", (event) => { event.preventDefault(); search(0); });
  for (const id of ["signal", "sort", "desc"]) $(id).addEventListener("change", () => search(0));
  $("value").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); tryBound(); } });
  $("clear").addEventListener("click", () => { $("filters").reset(); current(); fill($("effect")); fill($("facets")); search(0); });
  $("back").addEventListener("click", () => search(state.offset - PAGE));
  $("next").addEventListener("click", () => search(state.offset + PAGE));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !$("document").hidden) shut(); });
  document.querySelector("main").classList.add("closed");
  await search(0);
  if (location.hash.length === 33) open(location.hash.slice(1));
}

start().catch((error) => { $("about").textContent = error.message; });
