// Requests to the coordinator.

// Each request has a limit, so that a coordinator that hangs is noticed.
const LIMIT_MS = 8000;

export class Refused extends Error {} // the page needs a token, or another one

export class NoAnswer extends Error {} // the coordinator cannot be reached, or has no data

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...options, cache: "no-store", redirect: "error", signal: AbortSignal.timeout(LIMIT_MS) });
  } catch (error) {
    throw new NoAnswer(error.message);
  }
  if (answer.status === 401) throw new Refused("Penstock does not know this token. Ask an operator for a new one.");
  if (answer.status === 403) throw new Refused((await answer.text()).trim());
  if (!answer.ok) throw new NoAnswer((await answer.text()).trim());
  return answer;
}

export async function get(name, job) {
  const query = job === undefined ? "" : `?job=${encodeURIComponent(job)}`;
  const answer = await ask(`api/v1/${name}${query}`);
  try {
    return await answer.json();
  } catch (error) {
    throw new NoAnswer(error.message); // it ended early
  }
}

// Exchanges a token for a cookie that no script can read.
export async function login(token) {
  await ask("api/v1/login", { headers: { Authorization: `Bearer ${token}` } });
}
