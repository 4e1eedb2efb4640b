// Opens a page in headless Chromium and prints as JSON what it did: scripts that failed, requests that it made, how long
// it took, and what axe-core finds. Told by a JSON file what to open, how to look at it, and where to put pictures.
//
//   node look.mjs ORDER.json
//
// ORDER: { "page": address, "out": folder or null, "axe": path of axe.min.js or null,
//          "views": [{ "name", "width", "height", "scheme": "light" | "dark", "print": bool, "ask": { name: expression } }],
//          "wait": expression that becomes true, or null, "ask": { name: expression }, "keyboard": bool }
//
// Chromium is spoken to through a pipe (DevTools protocol), so that no port is open and no library is needed.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const order = JSON.parse(readFileSync(process.argv[2], "utf8"));
const profile = mkdtempSync(join(tmpdir(), "perbuck-browser."));

// Every name is turned away, so that a request to a host cannot succeed even where nobody looks.
const chromium = spawn(
  "chromium",
  [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank",
  ],
  // In a process group of its own, which can be killed as one.
  { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], detached: true },
);

let number = 0;
const waiting = new Map();
const heard = [];
let rest = "";
chromium.stdio[4].setEncoding("utf8");
chromium.stdio[4].on("data", (text) => {
  rest += text;
  for (let end = rest.indexOf("\0"); end >= 0; end = rest.indexOf("\0")) {
    const message = JSON.parse(rest.slice(0, end));
    rest = rest.slice(end + 1);
    if (message.id) {
      const { resolve, reject } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) reject(new Error(message.error.message));
      else resolve(message.result);
    } else heard.push(message);
  }
});

let session;
function ask(method, params = {}) {
  const id = ++number;
  chromium.stdio[3].write(JSON.stringify({ id, method, params, sessionId: session }) + "\0");
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

async function until(what, so, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  while (!(await so())) {
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

async function value(expression) {
  const found = await ask("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
  if (found.exceptionDetails) {
    throw new Error(`${expression.slice(0, 80)}: ${found.exceptionDetails.exception?.description ?? found.exceptionDetails.text}`);
  }
  return found.result.value;
}

async function look(view) {
  await ask("Emulation.setEmulatedMedia", {
    media: view.print ? "print" : "",
    features: [{ name: "prefers-color-scheme", value: view.scheme ?? "light" }],
  });
  await ask("Emulation.setDeviceMetricsOverride", {
    width: view.width, height: view.height, deviceScaleFactor: 1, mobile: view.width < 600,
  });
  const seen = { name: view.name };
  seen.overflow = await value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  seen.answers = {};
  for (const [name, expression] of Object.entries(view.ask ?? {})) seen.answers[name] = await value(expression);
  if (order.axe) {
    const run = `axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => ({
      rule: v.id, impact: v.impact, help: v.help, places: v.nodes.slice(0, 5).map((n) => n.target.join(" ") + ": " + n.html.slice(0, 160)), count: v.nodes.length })))`;
    seen.violations = await value(run);
  }
  if (order.out && view.print) {
    const pdf = await ask("Page.printToPDF", { printBackground: true, preferCSSPageSize: false });
    writeFileSync(join(order.out, `${view.name}.pdf`), Buffer.from(pdf.data, "base64"));
    seen.pdf_bytes = Buffer.from(pdf.data, "base64").length;
  }
  if (order.out && (!view.print || view.clip)) {
    const shot = await ask("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip: view.clip });
    writeFileSync(join(order.out, `${view.name}.png`), Buffer.from(shot.data, "base64"));
  }
  return seen;
}

const REACHABLE = 'a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex="-1"])';

async function press(key, code) {
  const stroke = { key, code: key, windowsVirtualKeyCode: code };
  await ask("Input.dispatchKeyEvent", { type: "keyDown", ...stroke, ...(key === "Enter" ? { text: "\r" } : {}) });
  await ask("Input.dispatchKeyEvent", { type: "keyUp", ...stroke });
}

// Goes through the page by Tab alone, opens what is folded by Enter, and tells what was never reached, and where no ring shows
// the place. One button of a group of radio buttons is enough: arrows lead to the others.
async function walk() {
  await value("document.activeElement.blur(), window.walked = new Set(), window.ringless = [], true");
  let stops = 0;
  for (; stops < 20000; stops++) {
    await press("Tab", 9);
    const at = await value(`(() => {
      const e = document.activeElement;
      if (!e || e === document.body || walked.has(e)) return "end";
      walked.add(e);
      const { outlineStyle, boxShadow } = getComputedStyle(e);
      if (outlineStyle === "none" && boxShadow === "none") ringless.push(e.outerHTML.slice(0, 120));
      return e.tagName === "SUMMARY" && !e.parentElement.open ? "shut" : "on";
    })()`);
    if (at === "end") break;
    if (at === "shut") await press("Enter", 13);
  }
  const missed = await value(`[...document.querySelectorAll('${REACHABLE}')].filter((e) => e.checkVisibility() && !e.disabled && !walked.has(e))
    .filter((e) => e.type !== "radio" || ![...walked].some((w) => w.type === "radio" && w.name === e.name)).map((e) => e.outerHTML.slice(0, 120))`);
  return { stops, missed, ringless: await value("ringless") };
}

async function main() {
  const { targetInfos } = await ask("Target.getTargets");
  const target = targetInfos.find((t) => t.type === "page").targetId;
  session = (await ask("Target.attachToTarget", { targetId: target, flatten: true })).sessionId;
  for (const domain of ["Page", "Runtime", "Network", "Log"]) await ask(`${domain}.enable`);
  const loaded = () => heard.some((m) => m.method === "Page.loadEventFired");
  heard.length = 0;
  const began = Date.now();
  const gone = await ask("Page.navigate", { url: order.page });
  if (gone.errorText) throw new Error(`${order.page}: ${gone.errorText}`);
  await until("the page is loaded", loaded);
  const load_ms = Date.now() - began;
  if (order.wait) await until(order.wait, () => value(order.wait));
  // A frame after the load: what the page costs to lay out.
  await value("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))");
  const drawn_ms = Date.now() - began;
  // First, because a link that is followed moves the place from which Tab goes on.
  const keyboard = order.keyboard ? await walk() : null;
  const answers = {};
  for (const [name, expression] of Object.entries(order.ask ?? {})) answers[name] = await value(expression);
  const of = (method) => heard.filter((m) => m.method === method).map((m) => m.params);
  const requests = of("Network.requestWillBeSent").map((p) => p.request.url);
  const errors = [
    ...of("Runtime.exceptionThrown").map((p) => p.exceptionDetails.exception?.description ?? p.exceptionDetails.text),
    ...of("Log.entryAdded").filter((p) => ["error", "warning"].includes(p.entry.level)).map((p) => `${p.entry.text} ${p.entry.url ?? ""}`),
  ];
  if (order.axe) await ask("Runtime.evaluate", { expression: readFileSync(order.axe, "utf8") });
  const views = [];
  for (const view of order.views ?? []) views.push(await look(view));
  console.log(JSON.stringify({ title: await value("document.title"), load_ms, drawn_ms, requests, errors, answers, keyboard, views }));
}

let status = 0;
try {
  await main();
} catch (error) {
  console.error(error.stack);
  status = 1;
}
// Chromium is several processes, and those that outlive the first go on writing into the profile for a moment.
try {
  process.kill(-chromium.pid, "SIGKILL");
} catch (error) {
  if (error.code !== "ESRCH") throw error;
}
if (chromium.exitCode === null && chromium.signalCode === null) await new Promise((resolve) => chromium.on("close", resolve));
rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
process.exit(status);
