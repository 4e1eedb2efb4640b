// Follows a running study: asks for the end of its live file once a second and shows it. Words are set as text.
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

// The program draws, and escapes what it draws: this is the only thing that is not set as text.
function draw(name, drawing) {
  document.getElementById(name).innerHTML = drawing.svg;
  put(`${name}-now`, drawing.newest === null ? "–" : number(drawing.newest));
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
  document.getElementById("part").value = now.part ?? 0;
  put("phase", now.phase ?? "–");
  for (const [name, drawing] of Object.entries(now.drawings ?? {})) draw(name, drawing);
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
