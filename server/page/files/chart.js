// The chart of a rank: rows/s as a line, and the waits as an area.

import { setAttribute } from "./dom.js";
import { count } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 100;

export function makeChart() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 360 ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  for (const name of ["waits", "rows"]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", name);
    svg.append(path);
  }
  return svg;
}

// Returns the path of numbers at the right end of a chart of `points` points. Null is a gap.
function path(numbers, points, most, toGround) {
  const x = (i) => (((points - numbers.length + i) * 360) / Math.max(1, points - 1)).toFixed(1);
  const y = (number) => (HEIGHT - (HEIGHT * number) / most).toFixed(1);
  let text = "";
  for (let i = 0; i < numbers.length; ++i) {
    if (numbers[i] === null) continue;
    let end = i;
    while (end + 1 < numbers.length && numbers[end + 1] !== null) ++end;
    const part = numbers.slice(i, end + 1).map((number, k) => `${x(i + k)} ${y(number)}`);
    text += toGround ? `M${x(i)} ${HEIGHT}L${part.join("L")}L${x(end)} ${HEIGHT}Z` : `M${part.join("L")}`;
    i = end;
  }
  return text;
}

// Draws the history of one rank, or nothing without one. `points` is the width, `most` the rate at the top: both are common to
// the ranks of a job. `period` is the width in words.
export function drawChart(svg, history, points, most, period) {
  const [waits, rows] = svg.children;
  const seen = (history?.rows_per_second ?? []).filter((number) => number !== null);
  setAttribute(svg, "aria-label", seen.length === 0 ? "no history yet"
    : `rows/s in the last ${period}: from ${count(Math.min(...seen))} to ${count(Math.max(...seen))}`);
  const waited = (history?.waited_percent ?? []).map((number) => (number !== null && number < 5 ? null : number));
  setAttribute(waits, "d", path(waited, points, 100, true));
  setAttribute(rows, "d", path(history?.rows_per_second ?? [], points, most, false));
}
