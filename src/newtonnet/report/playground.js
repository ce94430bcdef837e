"use strict";
/* The playground: moving a point updates the curve, the penalty and the effect on this graph's spectrum. */
(() => {
  const root = document.getElementById("playground");
  if (!root) return;
  const run = JSON.parse(document.getElementById("playground-data").textContent);
  const { bandOf, grid, equispaced, chebyshev, interpolate, penalty, passed } = newtonnet;
  const BANDS = ["low", "middle", "high"];
  const GRID = grid(400);
  const SIDE = { left: 46, right: 14 };
  const MAIN = { top: 22, height: 270 };
  const UNDER = { top: 318, height: 92 };
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const parts = (name) => [...root.querySelectorAll(`[data-part="${name}"]`)];
  const svg = part("drawing");
  const state = {};

  const PRESETS = {
    low: (x) => (1 - x / 2) ** 2,
    high: (x) => (x / 2) ** 2,
    band: (x) => 1 - (x - 1) ** 2,
    identity: () => 1,
  };

  /* ---- numbers ---- */

  const digits = (number, places = 3) => {
    if (number === null || !Number.isFinite(number)) return "–";
    const size = Math.abs(number);
    const text = size >= 10 ** -places || size < 1e-12 ? size.toFixed(places) : size.toExponential(1);
    return (number < 0 && size >= 1e-12 ? "−" : "") + text;
  };
  const share = (number) => (number === null ? "–" : `${(100 * number).toFixed(1)}%`);
  const clamp = (number, [low, high]) => Math.min(Math.max(number, low), high);
  const bounds = () => [state.nonnegative ? 0 : -1.25 * run.scale, 1.25 * run.scale];
  const view = () => [(state.nonnegative ? -0.3 : -1.4) * run.scale, 1.45 * run.scale];
  const width = () => Math.max(svg.clientWidth, 240);
  const x = (frequency) => SIDE.left + (frequency / 2) * (width() - SIDE.left - SIDE.right);
  const y = (amplitude) => {
    const [low, high] = view();
    return MAIN.top + ((high - amplitude) / (high - low)) * MAIN.height;
  };
  const amplitudeAt = (pixel) => {
    const [low, high] = view();
    return high - ((pixel - MAIN.top) / MAIN.height) * (high - low);
  };
  const lineTo = (xs, ys) => xs.map((value, i) => `${i ? "L" : "M"}${value.toFixed(2)},${ys[i].toFixed(2)}`).join("");

  /* ---- static parts of the drawing ---- */

  const make = (tag, attributes, parent, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };

  const layOut = () => {
    const bottom = run.spectrum ? UNDER.top + UNDER.height : MAIN.top + MAIN.height;
    const height = bottom + 44;
    svg.setAttribute("viewBox", `0 0 ${width()} ${height}`);
    svg.style.height = `${height}px`;
    const back = part("back");
    back.replaceChildren();
    [0, 2 / 3, 4 / 3].forEach((edge, b) => {
      const [left, right] = [x(edge), x(edge + 2 / 3)];
      make("rect", { class: `band ${BANDS[b]}`, x: left, y: MAIN.top, width: right - left, height: bottom - MAIN.top }, back);
      make("text", { class: "name", x: (left + right) / 2, y: MAIN.top - 7, "text-anchor": "middle" }, back, BANDS[b]);
    });
    const [low, high] = view();
    const step = niceStep((high - low) / 6);
    for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) {
      const line = Math.abs(tick) < step / 2 ? "zero" : "line";
      make("line", { class: line, x1: x(0), x2: x(2), y1: y(tick), y2: y(tick) }, back);
      const text = (Math.abs(tick) < step / 2 ? 0 : tick).toFixed(step < 0.1 ? 2 : step < 1 ? 1 : 0).replace("-", "−");
      make("text", { x: SIDE.left - 7, y: y(tick) + 4, "text-anchor": "end" }, back, text);
    }
    for (const tick of [0, 0.5, 1, 1.5, 2]) {
      make("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, back, String(tick));
    }
    make("text", { x: x(1), y: bottom + 36, "text-anchor": "middle" }, back, "frequency λ");
    const box = part("frame");
    for (const [name, value] of Object.entries({ x: x(0), y: MAIN.top, width: x(2) - x(0), height: MAIN.height }))
      box.setAttribute(name, value);
    if (run.spectrum) make("line", { class: "zero", x1: x(0), x2: x(2), y1: bottom, y2: bottom }, back);
  };

  const niceStep = (rough) => {
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  };

  const placeHandles = () => {
    const handles = part("handles");
    handles.replaceChildren();
    state.points.forEach((q, k) => {
      const handle = make("g", { class: "handle", role: "slider", tabindex: 0, "aria-orientation": "vertical" }, handles);
      handle.dataset.index = k;
      handle.setAttribute("aria-label", `amplitude at frequency ${q.toFixed(2)}, ${BANDS[bandOf(q)]} band`);
      make("circle", { class: "reach", r: 20 }, handle);
      make("circle", { class: "dot", r: 7.5 }, handle);
    });
  };

  /* ---- updates ---- */

  const update = () => {
    const gains = interpolate(state.points, state.values, GRID);
    part("curve").setAttribute("d", lineTo(GRID.map(x), gains.map(y)));
    [...part("handles").children].forEach((handle, k) => {
      const [low, high] = bounds();
      const value = state.values[k];
      handle.setAttribute("transform", `translate(${x(state.points[k])},${y(value)})`);
      handle.setAttribute("aria-valuemin", low.toFixed(3));
      handle.setAttribute("aria-valuemax", high.toFixed(3));
      handle.setAttribute("aria-valuenow", value.toFixed(3));
      handle.setAttribute("aria-valuetext", `amplitude ${value.toFixed(3)}`);
    });
    const largest = gains.reduce((top, g) => Math.max(top, Math.abs(g)), 0);
    showPenalty();
    if (run.spectrum) showPassed(largest);
    const outside = gains.some((g) => g < view()[0] || g > view()[1]);
    part("note").textContent =
      `Largest amplitude between 0 and 2: ${digits(largest)}.` +
      (outside ? " The curve leaves the plotted range between the points." : "");
  };

  const showPenalty = () => {
    const found = penalty(state.points, state.values, { ...state, pivot: run.pivot, squared: run.squared });
    BANDS.forEach((band, b) => {
      const factor = found.factors[b];
      part(`factor-${band}`).textContent = digits(factor);
      part(`norm-${band}`).textContent = digits(found.norms[b]);
      part(`term-${band}`).textContent = digits(found.terms[b]);
      part(`does-${band}`).textContent = factor < 0 ? "encouraged" : factor > 0 ? "suppressed" : "unaffected";
    });
    parts("total").forEach((element) => (element.textContent = digits(found.total)));
  };

  const showPassed = (largest) => {
    const { frequencies, density } = run.spectrum;
    const gains = interpolate(state.points, state.values, frequencies);
    const found = passed(run.spectrum, gains, largest);
    const highest = Math.max(...density, ...found.density, 1e-9);
    const base = UNDER.top + UNDER.height;
    const area = (heights) => {
      const top = lineTo(frequencies.map(x), heights.map((height) => base - (height / highest) * UNDER.height));
      return `${top}L${x(frequencies.at(-1))},${base}L${x(frequencies[0])},${base}Z`;
    };
    part("density").setAttribute("d", area(density));
    part("passed").setAttribute("d", area(found.density));
    BANDS.forEach((band, b) => {
      for (const column of ["before", "after", "labels", "kept"])
        part(`${column}-${band}`).textContent = share(found[column][b]);
    });
  };

  /* ---- user input ---- */

  const moveTo = (k, value) => {
    state.values[k] = clamp(value, bounds());
    update();
  };

  const resample = (kind, count) => {
    const wanted = { learned: () => run.points.slice(), equispaced, chebyshev }[kind](count);
    const values = interpolate(state.points, state.values, wanted);
    state.points = wanted;
    state.values = values.map((value) => clamp(value, bounds()));
    part("kind").value = kind;
    part("count").value = wanted.length;
    placeHandles();
    update();
  };

  const usePreset = (name) => {
    if (name === "learned") {
      state.points = run.points.slice();
      state.values = run.values.map((value) => clamp(value, bounds()));
      part("kind").value = "learned";
      part("count").value = run.points.length;
      placeHandles();
    } else {
      state.values = state.points.map((q) => run.scale * PRESETS[name](q));
    }
    update();
  };

  const showInputs = () => {
    part("h").value = state.h;
    part("h-shown").textContent = state.h.toFixed(3);
    parts("gamma").forEach((input, b) => (input.value = state.gammas[b]));
    part("nonnegative").checked = state.nonnegative;
  };

  const reset = () => {
    Object.assign(state, { h: run.h, gammas: run.gammas.slice(), nonnegative: run.nonnegative });
    showInputs();
    layOut();
    usePreset("learned");
  };

  let drag = null;
  const pixelOf = (event) => event.clientY - svg.getBoundingClientRect().top;
  const nearest = (event) => {
    const box = svg.getBoundingClientRect();
    const gap = (k) => Math.hypot(event.clientX - box.left - x(state.points[k]), pixelOf(event) - y(state.values[k]));
    return state.points.map((_, k) => k).reduce((best, k) => (gap(k) < gap(best) ? k : best));
  };
  svg.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".handle") || event.button > 0) return;
    const k = nearest(event);
    drag = { k, pointer: event.pointerId, offset: state.values[k] - amplitudeAt(pixelOf(event)) };
    part("handles").children[k].focus({ preventScroll: true });
    svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  svg.addEventListener("pointermove", (event) => {
    if (drag && drag.pointer === event.pointerId) moveTo(drag.k, amplitudeAt(pixelOf(event)) + drag.offset);
  });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => (drag = null));

  svg.addEventListener("keydown", (event) => {
    const handle = event.target.closest(".handle");
    if (!handle) return;
    const k = Number(handle.dataset.index);
    const step = run.scale / 50;
    const [low, high] = bounds();
    const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 };
    if (event.key in steps) moveTo(k, state.values[k] + steps[event.key] * step);
    else if (event.key === "Home") moveTo(k, low);
    else if (event.key === "End") moveTo(k, high);
    else return;
    event.preventDefault();
  });

  part("h").addEventListener("input", (event) => {
    state.h = Number(event.target.value);
    part("h-shown").textContent = state.h.toFixed(3);
    update();
  });
  parts("gamma").forEach((input, b) =>
    input.addEventListener("input", () => {
      const number = Number(input.value);
      if (input.value !== "" && number >= 0) state.gammas[b] = number;
      update();
    }),
  );
  part("count").addEventListener("change", (event) => {
    const { min, max } = event.target;
    const count = clamp(Math.round(Number(event.target.value)) || state.points.length, [Number(min), Number(max)]);
    const kind = part("kind").value;
    resample(kind === "learned" ? "equispaced" : kind, count);
  });
  part("kind").addEventListener("change", (event) => resample(event.target.value, state.points.length));
  part("nonnegative").addEventListener("change", (event) => {
    state.nonnegative = event.target.checked;
    state.values = state.values.map((value) => clamp(value, bounds()));
    layOut();
    update();
  });
  parts("preset").forEach((button) => button.addEventListener("click", () => usePreset(button.dataset.preset)));
  part("reset").addEventListener("click", reset);

  if (!run.spectrum) root.querySelectorAll('[data-needs="spectrum"]').forEach((one) => (one.hidden = true));
  newtonnet.playground = { state, run };
  reset();
  new ResizeObserver(() => {
    layOut();
    update();
  }).observe(svg);
})();
