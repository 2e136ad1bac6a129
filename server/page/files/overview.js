// The first lines: is training waiting for data? Which stage, which worker, which rank?

import { fill, make, setFault, setText } from "./dom.js";
import { facts, progressText, title, verdict } from "./words.js";

const byId = (id) => document.getElementById(id);

export function showAnswer(jobs, focus, workers, names) {
  const answer = verdict(jobs, workers);
  setText(byId("verdict"), answer.text);
  setFault(byId("verdict"), answer.fault);
  setText(byId("sentence"), focus === undefined ? "Submit one with: penstock submit JOB.textproto" : focus.sentence);
  fill(byId("facts"), facts(focus, names), () => make("div", {}, make("dt"), make("dd")), (element, fact) => {
    setText(element.children[0], fact.name);
    setText(element.children[1], fact.text);
    setFault(element.children[1], fact.fault);
  });
  const text = title(jobs);
  if (document.title !== text) document.title = text;
}

// Shows the jobs besides the one in focus, the worst first.
export class OtherJobs {
  constructor(section, Folded) {
    this.list = make("ul", { class: "lines" });
    section.append(make("h2", { id: "jobs-name" }, "Other jobs"), this.list);
    this.section = section;
    this.folded = new Folded(this.list, 5, "jobs",
      () => make("li", {}, make("a"), " ", make("span"), " ", make("span", { class: "quiet" })),
      (element, job) => {
        const [link, waits, rest] = element.children;
        setText(link, job.name);
        link.href = `#/job/${encodeURIComponent(job.name)}`;
        setText(waits, job.starves ? "waits for data" : job.silent ? "does not report" : job.state === "FAILED" ? "has failed" : job.paused ? "is paused" : job.reads ? "does not wait" : "");
        setFault(waits, job.starves || job.silent || job.broken);
        setText(rest, progressText(job));
      });
    section.append(this.folded.button);
  }

  show(jobs) {
    this.section.hidden = jobs.length === 0;
    this.folded.show(jobs);
  }
}
