"use strict";
/* The mathematics of the playground, on plain numbers: interpolation, the shape penalty, and the effect of a filter on a spectrum. */
const newtonnet = (() => {
  const EDGES = [2 / 3, 4 / 3];

  /* 0, 1 or 2 for low, middle and high: low < 2/3 <= middle < 4/3 <= high. */
  const bandOf = (frequency) => (frequency < EDGES[0] ? 0 : frequency < EDGES[1] ? 1 : 2);

  /* count + 1 frequencies from 0 to 2. */
  const grid = (count) => Array.from({ length: count + 1 }, (_, i) => (2 * i) / count);

  const equispaced = (count) => grid(count - 1);

  /* Roots of the Chebyshev polynomial of degree `count`, mapped to [0, 2], ascending. */
  const chebyshev = (count) =>
    Array.from({ length: count }, (_, j) => 1 + Math.cos(((count - j - 0.5) * Math.PI) / count));

  /* The polynomial through (points, values) at some frequencies: second barycentric form of Lagrange's formula. */
  const interpolate = (points, values, at) => {
    const weights = points.map((q, j) => points.reduce((w, p, m) => (m === j ? w : w / (q - p)), 1));
    return at.map((frequency) => {
      let above = 0;
      let below = 0;
      for (let j = 0; j < points.length; j++) {
        const distance = frequency - points[j];
        if (distance === 0) return values[j];
        above += (weights[j] / distance) * values[j];
        below += weights[j] / distance;
      }
      return above / below;
    });
  };

  /* gamma1 (pivot - h) |t_low|^2 + gamma2 |h - pivot| |t_mid|^2 + gamma3 (h - pivot) |t_high|^2, term by term. */
  const penalty = (points, values, { gammas, pivot, h, squared }) => {
    const excess = h - pivot;
    const squares = [0, 0, 0];
    points.forEach((q, k) => (squares[bandOf(q)] += values[k] ** 2));
    const factors = [-excess, Math.abs(excess), excess].map((sign, b) => gammas[b] * sign);
    const norms = squares.map((sum) => (squared ? sum : Math.sqrt(sum)));
    const terms = norms.map((norm, b) => factors[b] * norm);
    return { factors, norms, terms, total: terms[0] + terms[1] + terms[2] };
  };

  /* Integral of a density over each band, by the trapezoidal rule, with cuts at the band edges. */
  const bandSums = (frequencies, heights) => {
    const sums = [0, 0, 0];
    for (let i = 1; i < frequencies.length; i++) {
      const [a, b] = [frequencies[i - 1], frequencies[i]];
      const height = (x) => heights[i - 1] + ((heights[i] - heights[i - 1]) * (x - a)) / (b - a);
      const cuts = [a, ...EDGES.filter((edge) => a < edge && edge < b), b];
      for (let c = 1; c < cuts.length; c++) {
        const [left, right] = [cuts[c - 1], cuts[c]];
        sums[bandOf((left + right) / 2)] += ((right - left) * (height(left) + height(right))) / 2;
      }
    }
    return sums;
  };

  /* Shares of a sum; null where the sum is 0. */
  const shares = (sums) => {
    const total = sums[0] + sums[1] + sums[2];
    return sums.map((sum) => (total > 0 ? sum / total : null));
  };

  /* Effect of a filter on a spectrum: share of each band before and after it, and the labels' energy kept in each. */
  const passed = (spectrum, gains, largest) => {
    const scale = largest > 0 ? largest : 1;
    const power = gains.map((g) => (g / scale) ** 2);
    const weigh = (heights) => heights.map((height, i) => height * power[i]);
    const before = bandSums(spectrum.frequencies, spectrum.density);
    const density = weigh(spectrum.density);
    const after = bandSums(spectrum.frequencies, density);
    const labels = bandSums(spectrum.frequencies, spectrum.label_energy);
    const kept = bandSums(spectrum.frequencies, weigh(spectrum.label_energy));
    const area = after[0] + after[1] + after[2];
    return {
      before: shares(before),
      after: shares(after),
      labels: shares(labels),
      kept: labels.map((sum, b) => (sum > 0 ? kept[b] / sum : null)),
      density: density.map((height) => (area > 0 ? height / area : 0)),
    };
  };

  return { bandOf, grid, equispaced, chebyshev, interpolate, penalty, passed };
})();
