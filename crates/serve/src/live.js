// Follows a running study: asks for the end of its live file once a second and shows it. Everything is set as text.
"use strict";

const root = document.getElementById("live");
const put = (id, text) => {
  const place = document.getElementById(id);
  // A reader of the screen is told of a change, not of every second.
  if (place.textContent !== text) place.textContent = text;
};
const number = (value) => (value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 10 ? 1 : 2));

function clock(seconds) {
  const two = (n) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)} h` : `${m}:${two(s)} min`;
}

function draw(name, seconds) {
  const values = seconds.map((s) => s[name]);
  const svg = document.getElementById(name);
  const most = Math.max(...values, 0) || 1;
  const step = 480 / Math.max(values.length - 1, 1);
  const points = values.map((v, i) => `${(i * step).toFixed(1)},${(130 - (v / most) * 110).toFixed(1)}`);
  svg.querySelector("polyline").setAttribute("points", points.join(" "));
  svg.querySelector("text").textContent = values.length ? `at most ${number(Math.max(...values))}` : "";
  put(`${name}-now`, values.length ? number(values[values.length - 1]) : "–");
}

async function refresh() {
  let now;
  try {
    const answer = await fetch(`/live.json?study=${root.dataset.study}`);
    now = await answer.json();
  } catch {
    put("state", "no answer from perbuck serve: it has ended, or has too much to do");
    setTimeout(refresh, 5000);
    return;
  }
  const silent = now.state === "silent" ? ` (no news for ${now.age_s} s: the run was killed, or the disk is full)` : "";
  put("state", now.state + silent);
  put("doing", now.doing ?? "–");
  if (now.trials) {
    document.getElementById("progress").value = now.finished / now.trials;
    const trial = now.position && now.state !== "ended" ? `trial ${now.position}, ` : "";
    put("trials", `${trial}${now.finished} of ${now.trials} done`);
  }
  put("left", now.state === "running" && now.left_s !== undefined ? clock(now.left_s) : "–");
  for (const name of ["throughput", "p95_ms", "errors"]) draw(name, now.seconds ?? []);
  const lines = (now.done ?? []).map((d) => {
    const line = document.createElement("li");
    line.textContent = `${d.trial}: ${d.value}`;
    return line;
  });
  document.getElementById("done").replaceChildren(...lines);
  root.dataset.shown = now.state;
  if (now.state !== "ended") setTimeout(refresh, 1000);
}

refresh();
