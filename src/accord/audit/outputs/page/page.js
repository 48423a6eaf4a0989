"use strict";
// Everything that comes from runs goes into the page by textContent: it is text, whatever it looks like.
const data = JSON.parse(document.getElementById("data").textContent);
const statuses = ["violating", "incomplete", "unrecognised", "conforming"];
const whole = new Intl.NumberFormat("en");

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") element.className = value;
    else element.setAttribute(name, value);
  }
  for (const child of children) element.append(child);
  return element;
}

function share(part, all) { return all ? `${(100 * part / all).toFixed(1)} %` : "-"; }
// Names with their counts, the first of them; what is left out is told, with its count.
function listed(entries, most) {
  const told = entries.slice(0, most).map(([name, number]) => `${name} ${whole.format(number)}`);
  const rest = entries.slice(most);
  if (rest.length) told.push(`${whole.format(rest.length)} more ${whole.format(rest.reduce((sum, [, number]) => sum + number, 0))}`);
  return told.join(", ");
}
function counted(number, what) { return `${whole.format(number)} ${what}${number === 1 ? "" : "s"}`; }

// -- charts ---------------------------------------------------------------------------------------------------------

function bar(counts, all, big) {
  const element = make("div", { class: big ? "bar big" : "bar", role: "img" });
  const told = [];
  for (const status of statuses) {
    const piece = make("i", { class: status });
    piece.style.width = `${all ? 100 * counts[status] / all : 0}%`;
    element.append(piece);
    if (counts[status]) told.push(`${whole.format(counts[status])} ${status}`);
  }
  element.setAttribute("aria-label", told.join(", "));
  element.title = told.join(", ");
  return element;
}

function figure(number, name, kind) {
  return make("div", { class: "figure" }, make("b", { class: kind || "" }, whole.format(number)), name);
}

function table(title, rows) {
  const head = make("tr", {}, make("th", {}, title), make("th", { class: "number" }, "runs"));
  for (const status of statuses) head.append(make("th", { class: "number" }, status));
  head.append(make("th", { class: "number" }, "share"), make("th", {}, ""));
  const body = make("tbody");
  for (const row of rows.slice(0, 100)) {
    const line = make("tr", {}, make("td", { class: "name mono" }, row.value || "(none)"),
      make("td", { class: "number" }, whole.format(row.runs)));
    for (const status of statuses) {
      line.append(make("td", { class: `number ${row[status] ? status : "soft"}` }, whole.format(row[status])));
    }
    line.append(make("td", { class: "number" }, share(row.violating, row.runs)), make("td", {}, bar(row, row.runs)));
    body.append(line);
  }
  if (rows.length > 100) body.append(make("tr", {}, make("td", { class: "soft" }, `and ${whole.format(rows.length - 100)} more`)));
  return make("div", { class: "wide" }, make("table", {}, make("thead", {}, head), body));
}

function showTotals() {
  const total = data.total;
  const about = document.getElementById("about");
  const name = data.contract.protocol ? `protocol ${data.contract.protocol} of ` : "";
  about.append(name, make("code", {}, data.contract.name),
    make("span", { class: "soft" }, ` against ${counted(data.files.judged, "file")} of recorded runs`));
  if (!data.complete) {
    about.append(make("p", { class: "warn" }, `stopped: ${counted(data.files.planned - data.files.judged, "file")} not judged`));
  }
  const figures = make("div", { class: "figures" }, figure(total.runs, "runs"));
  for (const status of statuses) figures.append(figure(total[status], status, total[status] ? status : "soft"));
  if (total.broken) figures.append(figure(total.broken, "could not be read", "incomplete"));
  document.getElementById("total").append(figures, bar(total, total.runs, true),
    make("p", { class: "soft" }, `${counted(total.messages, "message")}, ${counted(total.calls, "call")}, ` +
      `${counted(total.events, "event")} that the contract looks at`));
  const tables = document.getElementById("tables");
  for (const [key, rows] of Object.entries(data.by)) tables.append(make("h2", {}, `By ${key}`), table(key, rows));
  const outcome = data.outcome;
  if (outcome) {
    tables.append(make("h2", {}, `Against the outcome ${outcome.key}`), table(outcome.key, outcome.values));
    if (outcome.passed) {
      tables.append(make("p", {}, make("b", { class: outcome.passed_but_violated ? "violating" : "conforming" },
        `passed but violated: ${whole.format(outcome.passed_but_violated)}`),
        ` of ${counted(outcome.passed, "run")} that passed (${share(outcome.passed_but_violated, outcome.passed)})`));
    }
  }
}

// -- messages -------------------------------------------------------------------------------------------------------

function messages(lines) {
  const element = make("div", { class: "messages" });
  for (const [number, kind, name, label, text, refused] of lines) {
    const who = make("div", { class: "who" }, make("span", { class: "soft" }, kind), name ? ` ${name}` : "");
    const body = make("div", { class: "text" });
    if (label) body.append(make("span", { class: refused ? "tag bad mono" : "tag mono" }, label));
    if (refused) body.append(make("span", { class: "tag bad" }, "refused"));
    body.append(text);
    element.append(make("div", { class: refused ? "message refused" : "message" },
      make("div", { class: "soft mono" }, String(number)), who, body));
  }
  return element;
}

function finding(one, owed) {
  const example = one.example, violation = example.violation;
  const arrived = listed(Object.entries(one.arrived), 8);
  const where = violation.index === null ? "its end" : `message ${violation.index}`;
  const element = make("div", { class: "finding" },
    make("p", {}, make("b", { class: owed ? "incomplete" : "violating" }, counted(one.runs, "run")), "  ",
      make("code", {}, one.clause), make("span", { class: "soft" }, data.contract.has_protocol ? ` in state ${one.state}: ` : ": "), make("code", {}, arrived),
      make("span", { class: "soft" }, one.followed ? ` (${counted(one.followed, "refusal")} after it)` : "")),
    make("p", {}, violation.sentence),
    make("p", { class: "soft" }, "shortest: run ", make("code", {}, example.run), " of ", make("code", {}, example.file), `, ${where}`));
  if (example.messages.length) {
    element.append(messages(example.messages.map((m) => [m.number, m.kind, m.name, m.label, m.text, m.refused])));
  }
  return element;
}

function findings(place, all, owed) {
  for (const one of all.slice(0, 50)) place.append(finding(one, owed));
  const rest = all.slice(50);
  if (rest.length) {
    const runs = rest.reduce((sum, one) => sum + one.runs, 0);
    place.append(make("p", { class: "soft" }, `and ${counted(rest.length, "more group")} with ${counted(runs, "run")}`));
  }
}

function showFindings() {
  const place = document.getElementById("violations");
  if (!data.violations.length && !data.owed.length) place.append(make("p", { class: "soft" }, "Nothing."));
  findings(place, data.violations, false);
  if (data.owed.length) place.append(make("h3", {}, "Ended too early"));
  findings(place, data.owed, true);
  const blocked = data.enforcing_would_have_blocked;
  const total = data.total;
  if (total.refused || total.would_have_waited) place.append(make("h3", {}, "If it had been enforced"));
  if (blocked.actions) {
    const words = listed(Object.entries(blocked.words), 20);
    place.append(make("p", {}, `${counted(blocked.actions, "action")} would have been refused: `, make("code", {}, words)));
  }
  if (total.refused) {
    place.append(make("p", { class: "soft" }, `${counted(total.first_causes, "first cause")}, one to a run; ` +
      `${counted(total.followed, "refusal")} after that may follow from it`));
  }
  if (total.would_have_waited) {
    place.append(make("p", {}, `${counted(total.would_have_waited, "call")} would have waited for an earlier call of the ` +
      "same message, which is no violation"));
  }
}

function showContract() {
  const place = document.getElementById("rules");
  if (data.rules.length) {
    const body = make("tbody");
    for (const rule of data.rules) {
      body.append(make("tr", {}, make("td", {}, rule.name), make("td", { class: "mono" }, rule.text),
        make("td", { class: rule.runs ? "number violating" : "number soft" }, whole.format(rule.runs)),
        make("td", { class: "soft" }, rule.exercised ? "" : "vacuous so far")));
    }
    place.append(make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "rule"),
      make("th", {}, ""), make("th", { class: "number" }, "runs that break it"), make("th", {}, ""))), body)));
  }
  const steps = data.vacuous.steps;
  if (steps.length) {
    const told = steps.slice(0, 60).map((step) => `${step.word} from ${step.state} to ${step.to}`).join(", ") +
      (steps.length > 60 ? `, ${whole.format(steps.length - 60)} more` : "");
    document.getElementById("vacuous").append(make("p", { class: "soft" },
      `${counted(steps.length, "step")} that no run has taken: `, make("code", {}, told)));
  }
}

// -- run by run -----------------------------------------------------------------------------------------------------

const runs = data.shown.map((run, place) => ({
  ...run, place,
  clause: run.violation ? run.violation.clause : "",
  haystack: `${run.run} ${run.file} ${JSON.stringify(run.metadata)}`.toLowerCase(),
}));
let limit = 100;

function option(value, text) { return make("option", { value }, text); }

function showFilters() {
  const status = document.getElementById("status"), clause = document.getElementById("clause");
  status.append(option("", "all"), ...statuses.map((one) => option(one, one)));
  clause.append(option("", "all"), ...[...new Set(runs.map((run) => run.clause))].filter(Boolean).sort().map((one) => option(one, one)));
  for (const element of [status, clause, document.getElementById("text")]) {
    element.addEventListener("input", () => { limit = 100; showRuns(); });
  }
  document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("more").addEventListener("click", () => { limit += 400; showRuns(); });
  const head = make("tr");
  for (const title of ["run", "file", "status", "events", "refused", "violation", "metadata"]) head.append(make("th", {}, title));
  document.querySelector("#runs thead").append(head);
}

function details(run) {
  const cell = make("td", { colspan: "7" });
  if (run.violation) cell.append(make("p", {}, run.violation.sentence));
  if (run.followed) cell.append(make("p", { class: "soft" }, `${counted(run.followed, "refusal")} after it may follow from it.`));
  const lines = data.messages[run.place];
  cell.append(lines ? messages(lines) : make("p", { class: "soft" }, "The messages of this run are not on this page."));
  return make("tr", { class: "details" }, cell);
}

function row(run) {
  const violation = run.violation;
  const where = violation ? (violation.index === null ? "at its end" : `in message ${violation.index}`) : "";
  const facts = Object.entries(run.metadata).map(([key, value]) => `${key} ${value}`).join(", ");
  const element = make("tr", { class: "run", tabindex: "0", "data-run": run.run },
    make("td", { class: "mono name" }, run.run), make("td", { class: "mono name soft" }, run.file),
    make("td", { class: run.status }, run.status), make("td", { class: "number" }, whole.format(run.events)),
    make("td", { class: "number" }, whole.format(run.refused)),
    make("td", { class: "mono name" }, violation ? `${violation.arrived} ${where}` : ""), make("td", { class: "soft name" }, facts));
  const toggle = () => {
    const next = element.nextSibling;
    if (next && next.className === "details") next.remove();
    else element.after(details(run));
  };
  element.addEventListener("click", toggle);
  element.addEventListener("keydown", (event) => { if (event.key === "Enter") toggle(); });
  return element;
}

function showRuns() {
  const status = document.getElementById("status").value, clause = document.getElementById("clause").value;
  const text = document.getElementById("text").value.trim().toLowerCase();
  const found = runs.filter((run) => (!status || run.status === status) && (!clause || run.clause === clause) &&
    (!text || run.haystack.includes(text)));
  document.querySelector("#runs tbody").replaceChildren(...found.slice(0, limit).map(row));
  const left = data.total.runs - runs.length;
  const more = left > 0 ? `; ${counted(left, "run")} more are not on this page` : "";
  document.getElementById("count").textContent = `${whole.format(found.length)} of ${counted(runs.length, "run")}${more}`;
  document.getElementById("more").hidden = found.length <= limit;
}

function showRest() {
  const place = document.getElementById("rest");
  const unmatched = Object.entries(data.unmatched);
  if (unmatched.length) {
    const total = unmatched.reduce((sum, [, number]) => sum + number, 0);
    const told = listed(unmatched, 40);
    place.append(make("p", {}, `The contract says nothing about ${counted(total, "message")}: `, make("code", {}, told)));
  }
  if (data.broken.length) {
    place.append(make("h3", {}, `Could not be read or judged: ${whole.format(data.total.broken)}`));
    for (const one of data.broken) {
      place.append(make("p", { class: "mono" }, `${one.file}${one.line === null ? "" : `:${one.line}`}: ${one.reason}`));
    }
    const unnamed = data.total.broken - data.broken.length;
    if (unnamed > 0) place.append(make("p", { class: "soft" }, `and ${whole.format(unnamed)} more`));
  }
  const info = data.run_info;
  place.append(make("p", { class: "soft" }, `engine ${info.engine}, ${info.seconds} s, ${counted(info.files_from_cache, "file")} from the cache`));
}

showTotals();
showFindings();
showContract();
showFilters();
showRuns();
showRest();
