// The page: asks the coordinator again and again, and shows the answers.

import { get, login, NoAnswer, Refused } from "./data.js";
import { FoldedList, setText } from "./dom.js";
import { JobCard } from "./job.js";
import { More } from "./more.js";
import { OtherJobs, showAnswer } from "./overview.js";
import { judgeJobs, judgeWorkers, plainName, sentenceCase } from "./words.js";
import { WorkerList } from "./workers.js";

const EACH_MS = 2000;
const HIDDEN_MS = 10000; // while the tab is hidden: its title still shows a job that starves
const HISTORY_MS = 10000;
const STALE_MS = 6000;

const byId = (id) => document.getElementById(id);
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

const card = new JobCard(byId("focus"));
const others = new OtherJobs(byId("jobs"), FoldedList);
const workerList = new WorkerList(byId("workers"));
const more = new More();

let answered = 0; // time of the last complete answer
let last = null; // that answer
let historyAt = 0, historyOf = null;
let focusName = null; // job in focus without an address
let failed = false; // the last request
let pause = EACH_MS; // until the next request
let timer = 0;
let loggingIn = false;

// Returns the job or the worker of the address: {job}, {worker} or {}.
function route() {
  const [, kind, name] = /^#\/(job|worker)\/(.+)$/.exec(location.hash) ?? [];
  if (kind === undefined) return {};
  try {
    return { [kind]: decodeURIComponent(name) };
  } catch {
    return {};
  }
}

// Returns the job of the address, or the one that waits most. Another job takes its place only if it is clearly worse.
function chooseFocus(jobs, wanted) {
  const named = jobs.find((job) => job.name === wanted);
  if (named !== undefined) return named;
  const now = jobs.find((job) => job.name === focusName);
  const chosen = now === undefined || (jobs.length > 0 && jobs[0].badness > now.badness + 1) ? jobs[0] : now;
  focusName = chosen?.name ?? null;
  return chosen;
}

function show() {
  if (last === null) return;
  const { status, explained, events } = last;
  const { job: wantedJob, worker: wantedWorker } = route();
  const names = new Map(status.workers.map((worker) => [worker.id, plainName(worker)]));
  const jobs = judgeJobs(status, explained);
  const workers = judgeWorkers(status.workers);
  const focus = chooseFocus(jobs, wantedJob);
  const chosen = workers.find((worker) => worker.id === wantedWorker || worker.name === wantedWorker) ?? null;
  document.body.dataset.view = chosen !== null ? "worker" : wantedJob !== undefined ? "job" : "all";
  showAnswer(jobs, focus, workers, names);
  card.show(focus);
  others.show(jobs.filter((job) => job !== focus));
  workerList.show(workers, chosen);
  const blamed = workers.find((worker) => worker.id === focus?.explanation?.worker);
  more.show(focus, workers, chosen ?? blamed ?? workers[0], names, coordinatorAddress(explained.coordinator));
  more.showRejected(status);
  if (events !== undefined) more.events.show(events);
  byId("content").hidden = false;
  byId("login").hidden = true;
}

// A coordinator that listens at all addresses is reached at the host of this page.
function coordinatorAddress(address) {
  return address.replace(/^(0\.0\.0\.0|\[::\])(?=:)/, location.hostname);
}

function showFreshness() {
  // The timers of a hidden tab may be late.
  const stale = last !== null && (failed || !document.hidden) && Date.now() - answered > pause + STALE_MS;
  document.body.classList.toggle("stale", stale);
  if (stale) {
    setText(byId("fresh"), `Old data, no answer since ${clock.format(answered)}`);
    if (!document.title.startsWith("No answer")) document.title = "No answer - Penstock";
  } else if (last === null) {
    if (failed) setText(byId("fresh"), "No answer from the coordinator yet");
  } else {
    setText(byId("fresh"), `Version ${last.status.version}`);
  }
}

async function refresh() {
  const [status, explained] = await Promise.all([get("status"), get("explain")]);
  last = { ...last, status, explained };
  answered = Date.now();
  show();
  const job = focusNow();
  if (Date.now() - historyAt < HISTORY_MS && historyOf === job) return;
  historyAt = Date.now();
  historyOf = job;
  const [history, events] = await Promise.all([job === null ? { seconds: 10, points: 360, ranks: [] } : get("history", job), get("events")]);
  card.setHistory(history);
  last.events = events.events;
  show();
}

const focusNow = () => {
  const wanted = route().job;
  return last.status.jobs.some((job) => job.name === wanted) ? wanted : focusName;
};

async function turn() {
  clearTimeout(timer);
  const began = Date.now();
  pause = document.hidden ? HIDDEN_MS : EACH_MS;
  try {
    await refresh();
    failed = false;
    pause = Math.max(pause, 5 * (Date.now() - began)); // an answer that takes long is requested less often
  } catch (error) {
    if (error instanceof Refused) return askForToken(error.message);
    if (!(error instanceof NoAnswer)) console.error(error);
    failed = true;
  }
  showFreshness();
  clearTimeout(timer);
  timer = setTimeout(turn, pause);
}

function askForToken(message) {
  clearTimeout(timer);
  setText(byId("fresh"), "");
  byId("content").hidden = true;
  byId("login").hidden = false;
  setText(byId("refused"), loggingIn ? sentenceCase(message) : "");
  document.title = "Penstock";
  byId("token").focus();
  byId("token").select(); // the next entry replaces a rejected one
}

byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const token = byId("token").value.trim();
  loggingIn = true;
  try {
    await login(token);
    byId("token").value = "";
    await turn();
  } catch (error) {
    askForToken(error.message);
  }
  loggingIn = false;
});

addEventListener("hashchange", () => {
  show();
  turn();
  scrollTo(0, 0);
  if (route().worker !== undefined) byId("workers").scrollIntoView();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) turn();
});
document.querySelector("[data-skip]").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
setInterval(showFreshness, 1000);
turn();
