"use strict";
/* Draws the figures stored on the page in the colours of the page, on screen and on paper. */
(() => {
  const plots = [...document.querySelectorAll(".plot")];

  const theme = (layout) => {
    const style = getComputedStyle(document.documentElement);
    const [ink, line, paper] = ["--ink", "--line", "--paper"].map((name) => style.getPropertyValue(name).trim());
    const changes = { "font.color": ink, "hoverlabel.bgcolor": paper, "hoverlabel.font.color": ink };
    for (const axis of Object.keys(layout).filter((name) => /^[xy]axis\d*$/.test(name))) {
      changes[`${axis}.gridcolor`] = line;
      changes[`${axis}.zerolinecolor`] = line;
      changes[`${axis}.linecolor`] = line;
    }
    return changes;
  };

  const put = (layout, changes) => {
    for (const [path, value] of Object.entries(changes)) {
      const names = path.split(".");
      const last = names.pop();
      const inner = names.reduce((level, name) => (level[name] ??= {}), layout);
      inner[last] = value;
    }
    return layout;
  };

  for (const plot of plots) {
    const figure = JSON.parse(document.getElementById(`${plot.id}-data`).textContent);
    Plotly.newPlot(plot, figure.data, put(figure.layout, theme(figure.layout)), figure.config);
  }

  const repaint = () => plots.forEach((plot) => Plotly.relayout(plot, theme(plot.layout)));
  const resize = () => plots.forEach((plot) => Plotly.Plots.resize(plot));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  matchMedia("print").addEventListener("change", () => {
    repaint();
    resize();
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
})();
