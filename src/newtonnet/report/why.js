"use strict";
/* Why these predictions: a searchable list of nodes, and the drawing and bars of the chosen one. */
(() => {
  const root = document.getElementById("why");
  if (!root) return;
  const { nodes, classes } = JSON.parse(document.getElementById("why-data").textContent);
  /* None of them is the blue or the orange of a sign. */
  const COLOURS = [
    "#2a9d72", "#b14a97", "#c7a32a", "#6f5bc4", "#55a8c6", "#8c5a3c", "#93a33a", "#d27aa6", "#4c6a5d", "#8f8f9c",
  ];
  const RADIUS = 96;
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const places = new Map(nodes.map((one, i) => [one.node, i]));
  const state = { chosen: 0 };

  const numeric = nodes[0].target !== undefined;
  const digits = (value) =>
    numeric ? value.toLocaleString("en", { maximumSignificantDigits: 4 }) : value.toFixed(2);
  const number = (value) => `${value < 0 ? "−" : "+"}${digits(Math.abs(value))}`;
  const percent = (share) => `${(100 * share).toFixed(0)}%`;
  const hops = (count) => (count === 0 ? "the node itself" : count === 1 ? "neighbour" : `${count} hops away`);
  const colour = (name) => COLOURS[name % COLOURS.length];

  const make = (tag, attributes, parent, text) => {
    const space = parent instanceof SVGElement ? parent.namespaceURI : "http://www.w3.org/1999/xhtml";
    const element = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };

  /* ---- the list ---- */

  const list = () => {
    const words = part("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const group = part("group").value;
    const fits = (one) => {
      const text = `${one.node} ${one.class ?? ""} ${one.against ?? ""} ${one.label ?? ""}`.toLowerCase();
      return (!group || one.group === group) && words.every((word) => text.includes(word));
    };
    const found = nodes.flatMap((one, i) => (fits(one) ? [i] : []));
    part("nodes").replaceChildren();
    for (const i of found) {
      const one = nodes[i];
      const option = make("option", { value: i }, part("nodes"));
      option.textContent = numeric
        ? `${one.node}: ${one.prediction}`
        : `${one.node}: ${one.class} ${percent(one.probability)}, not ${one.against}`;
    }
    part("count").textContent = `${found.length} of ${nodes.length} nodes`;
    if (found.includes(state.chosen)) part("nodes").value = state.chosen;
    else if (found.length) choose(found[0]);
  };

  /* ---- the chosen node ---- */

  const choose = (i) => {
    state.chosen = i;
    part("nodes").value = i;
    const one = nodes[i];
    part("name").textContent = one.node;
    const known = numeric ? one.target : "label";
    const label = one.label === null ? `Its ${known} is unknown.` : `Its ${known} is ${one.label}.`;
    const group = one.group ? ` Listed as ${one.group}.` : "";
    const first = numeric
      ? `${one.target} ${one.prediction}`
      : `${one.class} (${percent(one.probability)}) rather than ${one.against}`;
    part("sentence").textContent = `${first}: contributions sum to ${number(one.total)}. ${label}${group}`;
    part("method").textContent = `Method: ${one.method}.`;
    draw(one.drawing);
    bars(one);
  };

  const draw = ({ nodes: drawn, links }) => {
    const svg = part("drawing");
    svg.replaceChildren();
    const most = Math.max(...drawn.map((one) => Math.abs(one[4])), 1e-12);
    for (const r of new Set(drawn.map((one) => Math.hypot(one[5], one[6]).toFixed(2)))) {
      make("circle", { class: "ring", r: RADIUS * r }, svg);
    }
    const at = drawn.map((one) => [RADIUS * one[5], RADIUS * one[6]]);
    const line = (i, j, attributes) =>
      make("line", { x1: at[i][0], y1: at[i][1], x2: at[j][0], y2: at[j][1], ...attributes }, svg);
    for (const [i, j] of links) line(i, j, { class: "link" });
    drawn.forEach(([, , , , value, , , parent], i) => {
      if (!i || !value) return;
      line(i, parent, { class: value > 0 ? "for" : "against", "stroke-width": 0.6 + (5 * Math.abs(value)) / most });
    });
    drawn.forEach(([name, kind, known, distance, value], i) => {
      const dot = make("g", { class: "node", tabindex: 0, role: "img", transform: `translate(${at[i]})` }, svg);
      const says = `${name}: ${classes[kind]}${known ? "" : " (predicted)"}, ${hops(distance)}, ${number(value)}`;
      dot.setAttribute("aria-label", says);
      make("title", {}, dot, says);
      const r = 2.6 + 5 * Math.sqrt(Math.abs(value) / most);
      make("circle", { r, class: "under" }, dot);
      make("circle", {
        r,
        class: value > 0 ? "for" : value < 0 ? "against" : "none",
        fill: colour(kind),
        "fill-opacity": known ? 1 : 0.3,
      }, dot);
      const other = places.get(name);
      const show = () => (part("hint").textContent = says + (i && other !== undefined ? "; Enter or click explains it." : "."));
      dot.addEventListener("focus", show);
      dot.addEventListener("pointerenter", show);
      if (i && other !== undefined) {
        dot.classList.add("listed");
        dot.addEventListener("click", () => choose(other));
        dot.addEventListener("keydown", (event) => event.key === "Enter" && choose(other));
      }
    });
    part("hint").textContent = "";
    part("classes").replaceChildren();
    for (const kind of [...new Set(drawn.map((one) => one[1]))].sort((a, b) => a - b)) {
      const item = make("li", {}, part("classes"));
      make("i", {}, item).style.background = colour(kind);
      item.append(classes[kind]);
    }
  };

  const bars = (one) => {
    const box = part("bars");
    box.replaceChildren();
    const tables = [
      ["Nodes", one.nodes.map((row) => [row.node, row.contribution, hops(row.hops)]), ["all other nodes", one.other_nodes]],
      ["Features", one.features.map((row) => [row.feature, row.contribution, ""]), ["all other features", one.other_features]],
      ["Frequencies", Object.entries(one.bands).map(([name, value]) => [name, value, ""]), null],
    ];
    for (const [title, rows, rest] of tables) {
      const whole = rest && Math.abs(rest[1]) > 1e-9 ? [...rows, [...rest, ""]] : [...rows];
      whole.push(["bias", one.bias, "the model's biases alone"]);
      if (Math.abs(one.remainder) > 5e-3 * (numeric ? Math.abs(one.total) : 1)) whole.push(["remainder", one.remainder, "not attributed"]);
      const most = Math.max(...whole.map((row) => Math.abs(row[1])), 1e-12);
      const table = make("table", { class: "bars" }, box);
      make("caption", {}, table, title);
      const body = make("tbody", {}, table);
      for (const [name, value, note] of whole) {
        const row = make("tr", {}, body);
        const head = make("th", { scope: "row", title: note ? `${name}: ${note}` : name }, row, name);
        if (note && title === "Nodes" && name !== "bias") make("small", {}, head, ` ${note}`);
        const cell = make("td", { class: "bar" }, row);
        const width = (50 * Math.abs(value)) / most;
        const bar = make("span", { class: value < 0 ? "against" : "for" }, cell);
        bar.style.cssText = `width:${width}%;left:${value < 0 ? 50 - width : 50}%`;
        make("td", { class: "number" }, row, number(value));
      }
    }
  };

  for (const group of new Set(nodes.map((one) => one.group))) {
    if (group) make("option", { value: group }, part("group"), group);
  }
  if (nodes.length === 1) part("search").closest(".choose").hidden = true;
  part("search").addEventListener("input", list);
  part("group").addEventListener("change", list);
  part("nodes").addEventListener("change", () => choose(Number(part("nodes").value)));
  list();
  choose(0);
})();
