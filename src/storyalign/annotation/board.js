// Brings a group to life: opening, scoring, ordering. The server checks everything again; here it only has to feel right.
let state = null;
const one = (selector) => state.root.querySelector(selector);
const all = (selector) => [...state.root.querySelectorAll(selector)];
const letter = (seat) => String.fromCharCode(65 + seat);

function begin() {
  const root = element.querySelector(".an-board");
  if (!root) { state = null; return; }
  // Gradio may fill the old element with a new group, so the element alone doesn't tell.
  if (state && state.root === root && state.is === root.dataset.state) return;
  const given = JSON.parse(root.dataset.state);
  const draft = given.draft || {};
  const scored = given.mode === "rank";
  state = {
    root, is: root.dataset.state, mode: given.mode, n: given.n, token: given.token, given: given.given,
    opened: new Set(draft.opened || []),
    scores: draft.scores || {},
    order: draft.order || (scored ? [...Array(given.n).keys()] : [...given.given]),
    byHand: Boolean(draft.byHand), changing: Boolean(draft.changing),
    seconds: draft.seconds || 0, open: draft.open || 0, armed: false, sent: false,
  };
  show(state.open);
}

function show(seat) {
  state.open = Math.max(0, Math.min(state.n - 1, seat));
  state.opened.add(state.open);
  all(".an-story").forEach((story, s) => { story.hidden = s !== state.open; });
  draw();
  note();
}

function wrongPairs() {
  if (state.mode !== "rank") return [];
  const found = [];
  state.order.forEach((upper, place) => state.order.slice(place + 1).forEach((lower) => {
    if (state.scores[upper] < state.scores[lower]) found.push([upper, lower]);
  }));
  return found;
}

function missing() {
  const unread = [...Array(state.n).keys()].filter((seat) => !state.opened.has(seat)).map(letter);
  if (unread.length) return `Still to open: ${unread.join(", ")}`;
  if (state.mode === "rank") {
    const unscored = [...Array(state.n).keys()].filter((seat) => !state.scores[seat]).map(letter);
    if (unscored.length) return `Still to score: ${unscored.join(", ")}`;
  }
  if (state.mode === "best-of-n" && state.order.length < state.n) {
    const out = [...Array(state.n).keys()].filter((seat) => !state.order.includes(seat)).map(letter);
    return `Still to place: ${out.join(", ")}`;
  }
  if (state.mode === "human-best" && !state.order.length) return "Pick the best story, or say that you can't decide.";
  return "";
}

function draw() {
  const unread = state.opened.size < state.n;
  all("[role=tab]").forEach((tab, seat) => {
    tab.setAttribute("aria-selected", String(seat === state.open));
    tab.classList.toggle("an-read", state.opened.has(seat));
    tab.querySelector("[data-read]").textContent = state.opened.has(seat) ? "opened" : "not opened yet";
  });
  all("[data-score]").forEach((button) => {
    const on = state.scores[button.dataset.seat] === Number(button.dataset.score);
    button.setAttribute("aria-checked", String(on));
  });
  all("[data-place]").forEach((button) => {
    const seat = Number(button.dataset.place), place = state.order.indexOf(seat);
    button.disabled = place >= 0;
    button.textContent = place >= 0 ? `${letter(seat)} is on place ${place + 1}` : `Place ${letter(seat)} next`;
  });
  all("[data-pick]").forEach((button) => {
    const on = state.order[0] === Number(button.dataset.pick);
    button.setAttribute("aria-pressed", String(on));
  });
  drawOrder();
  const lack = missing(), wrong = lack ? [] : wrongPairs();
  const save = one("[data-save]");
  save.disabled = Boolean(lack) || state.sent;
  one("[data-unsure]").disabled = unread || state.sent;
  one(".an-missing").textContent = lack;
  if (!wrong.length) state.armed = false;
  const warning = one(".an-warning");
  warning.hidden = !wrong.length;
  warning.replaceChildren();
  if (wrong.length) {
    const lead = document.createElement("p");
    lead.textContent = "Order and scores say different things:";
    const list = document.createElement("ul");
    wrong.slice(0, 4).forEach(([upper, lower]) => {
      const item = document.createElement("li");
      item.textContent = `${letter(upper)} stands above ${letter(lower)}, but has ${state.scores[upper]} against ${state.scores[lower]}`;
      list.append(item);
    });
    if (wrong.length > 4) {
      const more = document.createElement("li");
      more.textContent = `and ${wrong.length - 4} more`;
      list.append(more);
    }
    const sort = document.createElement("button");
    sort.type = "button";
    sort.dataset.sort = "";
    sort.textContent = "Order by score";
    warning.append(lead, list, sort);
  }
  if (state.sent) save.textContent = "Saving …";
  else if (state.mode === "confirm" && !state.changing) save.textContent = "The order is right";
  else save.textContent = state.armed ? "Keep both and save" : "Save and go on";
  const change = one("[data-change]");
  if (change) change.hidden = state.changing;
}

function drawOrder() {
  const list = one(".an-order"), held = document.activeElement && document.activeElement.dataset ? { ...document.activeElement.dataset } : {};
  const movable = state.mode === "rank" || state.mode === "best-of-n" || state.changing;
  const seats = state.mode === "human-best" ? [...Array(state.n).keys()] : state.order;
  list.replaceChildren(...seats.map((seat, place) => {
    const item = document.createElement("li");
    item.dataset.item = seat;
    item.classList.toggle("an-current", seat === state.open);
    const open = button(letter(seat), { open: seat }, `Open story ${letter(seat)}`, "an-letter");
    if (state.mode === "human-best") {
      const on = state.order[0] === seat;
      const pick = button(on ? "the best" : "pick", { pick: seat }, `Story ${letter(seat)} is the best`, "an-pick");
      pick.setAttribute("aria-pressed", String(on));
      item.append(open, spacer(), pick);
      return item;
    }
    const rank = document.createElement("span");
    rank.className = "an-place-number";
    rank.textContent = place + 1;
    item.append(rank, open);
    if (state.mode === "rank") {
      const score = document.createElement("span");
      score.className = "an-score";
      score.textContent = state.scores[seat] ? `${state.scores[seat]} of 10` : "no score yet";
      item.append(score);
    }
    item.append(spacer());
    if (movable) {
      const up = button("↑", { move: seat, by: -1 }, `Move ${letter(seat)} up`, "an-move");
      const down = button("↓", { move: seat, by: 1 }, `Move ${letter(seat)} down`, "an-move");
      up.disabled = place === 0;
      down.disabled = place === seats.length - 1;
      item.append(up, down);
    }
    if (state.mode === "best-of-n") item.append(button("×", { out: seat }, `Take ${letter(seat)} out`, "an-move"));
    return item;
  }));
  if (held.move !== undefined) {
    const back = [held.by, -Number(held.by)].map((by) => list.querySelector(`[data-move="${held.move}"][data-by="${by}"]`));
    (back.find((found) => found && !found.disabled) || list).focus();
  } else if (held.pick !== undefined) {
    const again = list.querySelector(`[data-pick="${held.pick}"]`);
    if (again && !document.activeElement.dataset.pick) again.focus();
  }
}

function button(label, data, name, css) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.className = css;
  made.setAttribute("aria-label", name);
  Object.assign(made.dataset, data);
  return made;
}

function spacer() {
  const made = document.createElement("span");
  made.className = "an-spacer";
  return made;
}

function byScore() {
  const place = (seat) => state.order.indexOf(seat);
  const before = [...state.order];
  before.sort((a, b) => (state.scores[b] || 0) - (state.scores[a] || 0) || place(a) - place(b));
  state.order = before;
}

function score(seat, value) {
  state.scores[seat] = value;
  if (!state.byHand) byScore();
  changed();
}

function move(seat, by) {
  const from = state.order.indexOf(seat), to = from + by;
  if (from < 0 || to < 0 || to >= state.order.length) return;
  if (state.mode === "confirm" && !state.changing) return;
  state.order.splice(from, 1);
  state.order.splice(to, 0, seat);
  state.byHand = true;
  changed();
}

function changed() {
  state.armed = false;
  draw();
  note();
}

function payload() {
  const { token, order, scores, byHand, changing, open } = state;
  return { token, order, scores, byHand, changing, open, opened: [...state.opened], seconds: Math.round(state.seconds) };
}

let waiting = null;
function note() {
  clearTimeout(waiting);
  waiting = setTimeout(() => { if (state && !state.sent) trigger("draft", payload()); }, 300);
}

function send(unsure) {
  if (state.sent || one(unsure ? "[data-unsure]" : "[data-save]").disabled) return;
  if (!unsure && wrongPairs().length && !state.armed) {
    state.armed = true;
    draw();
    return;
  }
  clearTimeout(waiting);
  state.sent = true;
  draw();
  const sent = state;
  setTimeout(() => { if (state === sent) { state.sent = false; draw(); } }, 8000);
  trigger("answer", { ...payload(), unsure, accepted: state.armed });
}

element.addEventListener("click", (event) => {
  const target = event.target.closest("button");
  if (!state || !target || target.disabled) return;
  const data = target.dataset;
  if (data.open !== undefined) show(Number(data.open));
  else if (data.step !== undefined) show((state.open + Number(data.step) + state.n) % state.n);
  else if (data.score !== undefined) score(Number(data.seat), Number(data.score));
  else if (data.move !== undefined) move(Number(data.move), Number(data.by));
  else if (data.place !== undefined) { state.order.push(Number(data.place)); changed(); }
  else if (data.out !== undefined) { state.order = state.order.filter((seat) => seat !== Number(data.out)); changed(); }
  else if (data.pick !== undefined) { state.order = [Number(data.pick)]; changed(); }
  else if (data.sort !== undefined) { byScore(); state.byHand = false; changed(); }
  else if (data.change !== undefined) { state.changing = true; changed(); }
  else if (data.save !== undefined) send(false);
  else if (data.unsure !== undefined) send(true);
});

let active = Date.now();
for (const kind of ["pointermove", "pointerdown", "keydown", "scroll", "touchmove"]) {
  document.addEventListener(kind, () => { active = Date.now(); }, { passive: true, capture: true });
}
setInterval(() => {
  // Time counts while the group is in view and somebody was there within the last three minutes: reading takes long.
  const seen = document.visibilityState === "visible" && element.offsetParent !== null;
  if (state && !state.sent && seen && Date.now() - active < 180000) state.seconds += 1;
}, 1000);

document.addEventListener("keydown", (event) => {
  if (!state || element.offsetParent === null || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const key = event.key;
  if (event.shiftKey && (key === "ArrowUp" || key === "ArrowDown")) move(state.open, key === "ArrowUp" ? -1 : 1);
  else if (key === "ArrowRight") show((state.open + 1) % state.n);
  else if (key === "ArrowLeft") show((state.open - 1 + state.n) % state.n);
  else if (/^[a-pA-P]$/.test(key) && key.toUpperCase().charCodeAt(0) - 65 < state.n) show(key.toUpperCase().charCodeAt(0) - 65);
  else if (/^[0-9]$/.test(key) && state.mode === "rank") score(state.open, Number(key) || 10);
  else return;
  event.preventDefault();
});

new MutationObserver(begin).observe(element, { childList: true, subtree: true, attributeFilter: ["data-state"] });
begin();
