// One job: its stages as a bar, its ranks as charts, what a change would give, and why.

import { drawChart, makeChart } from "./chart.js";
import { fill, FoldedList, folded, make, setAttribute, setFault, setSentence, setText, setWords } from "./dom.js";
import { limitingStage, percent, progressText, rate, waitText } from "./words.js";

const FIRST_RANKS = 6;
const STAGE_LIMITS = new Set(["CPU", "COPYING", "SLOW_WORKER", "STORAGE"]); // limits that a stage of the bar shows

export class JobCard {
  constructor(section) {
    this.section = section;
    this.ranksHead = make("h3");
    this.setHistory({ seconds: 10, points: 360, ranks: [] });
    this.name = make("h2", { id: "focus-name" });
    this.progress = make("span", { class: "quiet" });
    this.bar = make("div", { class: "bar", role: "img" });
    this.stages = make("ul", { class: "stages" });
    this.gains = make("ul", { class: "gains" });
    this.gainsHead = make("h3", {}, "What a change would give, about");
    this.why = make("ul", { class: "lines" });
    this.ranks = make("ul");
    this.folded = new FoldedList(this.ranks, FIRST_RANKS, "ranks", makeRank, (element, rank) => this.showRank(element, rank));
    this.whyPart = folded("Why", this.why);
    section.append(
      make("div", { class: "head" }, this.name, this.progress),
      make("div", { class: "columns" },
        make("div", {}, make("h3", {}, "Stages of a row, by time"), this.bar, this.stages),
        make("div", { class: "ranks" }, this.ranksHead, this.ranks, this.folded.button),
        make("div", {}, this.whyPart, this.gainsHead, this.gains)));
  }

  setHistory(history) {
    // The charts grow to an hour in steps of 10 minutes, so that the first minutes are visible.
    const longest = Math.max(1, ...history.ranks.map((rank) => rank.rows_per_second.length));
    const step = 600 / history.seconds;
    this.points = Math.min(history.points, Math.ceil(longest / step) * step);
    this.period = this.points === history.points ? "hour" : `${(this.points * history.seconds) / 60} min`;
    setText(this.ranksHead, `Ranks in the last ${this.period}: line rows/s, area waiting`);
    this.byId = new Map(history.ranks.map((rank) => [rank.id, rank]));
    this.most = Math.max(1, ...history.ranks.flatMap((rank) => rank.rows_per_second.map((rows) => rows ?? 0)));
  }

  show(job) {
    this.section.hidden = job === undefined;
    if (job === undefined) return;
    setText(this.name, `Job ${job.name}`);
    setText(this.progress, progressText(job));
    this.showStages(job);
    const gains = job.explanation?.gains ?? [];
    this.gainsHead.hidden = gains.length === 0;
    fill(this.gains, gains, () => make("li", { class: "gain" }, make("span"), make("span")), (element, gain) => {
      setText(element.children[0], gain.times > 0 ? `${gain.times.toFixed(1)} times` : "unknown");
      setWords(element.children[1], gain.change);
    });
    fill(this.why, job.explanation?.sentences ?? [], () => make("li"), setSentence);
    this.whyPart.hidden = this.why.children.length === 0;
    this.folded.show(job.ranks);
  }

  showStages(job) {
    const shares = job.explanation?.shares ?? [];
    const worst = job.starves && STAGE_LIMITS.has(job.explanation?.limit) ? limitingStage(job) : null;
    const name = (share) => share.stage + (share.client ? " (trainer)" : "");
    const look = (share, i) => `shade${i % 4}${share === worst ? " worst" : ""}`;
    setAttribute(this.bar, "aria-label", shares.length === 0 ? "no stage is measured yet"
      : shares.map((share) => `${name(share)} ${percent(share.share)}`).join(", "));
    const entries = shares.map((share, i) => [share, i]);
    fill(this.bar, entries, () => make("i"), (element, [share, i]) => {
      element.className = look(share, i);
      element.style.flexGrow = String(share.share);
    });
    fill(this.stages, entries, () => make("li", {}, make("span", {}, make("i"), make("span")), make("span")), (element, [share, i]) => {
      const [label, numbers] = element.children;
      label.children[0].className = `key ${look(share, i)}`;
      setText(label.children[1], name(share));
      setText(numbers, `${percent(share.share)}, ${share.milliseconds.toFixed(2)} ms`);
    });
  }

  showRank(element, rank) {
    const [words, chart] = element.children;
    const [first, second] = words.children;
    setText(first.children[0], `Rank ${rank.rank}`);
    setText(first.children[1], `gets ${rate(rank.rows_per_second)},`);
    setText(first.children[2], waitText(rank));
    setFault(first.children[2], rank.starves);
    setText(second, rank.trouble || [rank.carriers && `through ${rank.carriers}`, rank.host].filter(Boolean).join(", "));
    second.classList.toggle("fault", rank.silent || rank.stuck);
    drawChart(chart, this.byId.get(rank.id), this.points, this.most, this.period);
  }
}

function makeRank() {
  return make("li", { class: "rank" }, make("div", {}, make("p", {}, make("b"), " ", make("span"), " ", make("span")), make("p", { class: "quiet" })), makeChart());
}
