//! Pages in headless Chromium: no script fails, no host is asked, axe-core finds nothing serious, and nothing hostile works.

#[path = "pages/panel.rs"]
mod panel;
#[path = "pages/whatif.rs"]
mod whatif;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Desk, LONG_ENOUGH, QUICK, edited};
use serde_json::{Value, json};

/// The ways in which every page is looked at.
fn views() -> Value {
    json!([
        { "name": "light", "width": 1200, "height": 900, "scheme": "light" },
        { "name": "dark", "width": 1200, "height": 900, "scheme": "dark" },
        { "name": "phone", "width": 390, "height": 844, "scheme": "light" },
        { "name": "print", "width": 1200, "height": 900, "scheme": "light", "print": true },
    ])
}

/// Opens a page and returns what it did.
fn look(desk: &Desk, page: &str, wait: Option<&str>, ask: &Value) -> Value {
    let out = desk.path("pictures");
    std::fs::create_dir_all(&out).unwrap();
    given(desk, &json!({ "page": page, "out": out, "axe": "AXE", "views": views(), "wait": wait, "ask": ask }))
}

/// What `dev/look` says to an order.
fn given(desk: &Desk, order: &Value) -> Value {
    let order = desk.write("order.json", &order.to_string());
    let look = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dev/look");
    let run = Command::new(look).arg(order).stderr(Stdio::inherit()).output().unwrap();
    assert!(run.status.success(), "dev/look failed; it needs chromium, node and npm (dev/packages)");
    serde_json::from_slice(&run.stdout).unwrap()
}

fn file(desk: &Desk, name: &str) -> String {
    format!("file://{}", desk.path(name).display())
}

/// What axe-core finds serious in a view.
fn serious(view: &Value) -> Vec<&Value> {
    let found = view["violations"].as_array().unwrap().iter();
    found.filter(|v| matches!(v["impact"].as_str(), Some("serious" | "critical"))).collect()
}

/// Nothing failed, nothing but the page and what `allowed` begins was fetched, and every reader can use the page.
fn is_sound(seen: &Value, allowed: &str) {
    assert_eq!(seen["errors"], json!([]), "{seen:#}");
    let asked: Vec<&str> = seen["requests"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect();
    assert!(asked.iter().all(|r| r.starts_with(allowed) || *r == "data:,"), "{asked:?}");
    let views = seen["views"].as_array().unwrap();
    assert_eq!(views.len(), 4);
    for view in views {
        assert!(serious(view).is_empty(), "{}: {:#?}", view["name"], serious(view));
        assert!(view["overflow"].as_i64().unwrap() <= 0, "{}: the page is wider than its window", view["name"]);
    }
    assert!(views[3]["pdf_bytes"].as_u64().unwrap() > 10_000, "{}", views[3]);
}

/// What a report says of itself.
fn questions() -> Value {
    json!({
        "scripts": "document.querySelectorAll('script:not([type=\"application/json\"])').length",
        "handlers": "[...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => a.name.startsWith('on'))).length",
        "bold": "document.querySelectorAll('b, img, iframe, object, form').length",
        "figures": "document.querySelectorAll('figure').length",
        "csv": "[...document.querySelectorAll('.part figure')].filter((f) => !f.querySelector('a[download][href^=\"data:text/csv\"]')).length",
        "unnamed": "[...document.querySelectorAll('svg[role=img]')].filter((s) => !s.querySelector('title')?.textContent || !s.querySelector('desc')?.textContent).length",
        "broken_links": "[...document.querySelectorAll('a[href^=\"#\"]')].filter((a) => !document.getElementById(a.getAttribute('href').slice(1))).length",
        "value": "(() => { const d = document.querySelector('#figure-cost svg'); d?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' })); \
                  const said = document.querySelector('.tip').textContent; d?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' })); return said; })()",
        "evidence": "JSON.parse(document.getElementById('embedded').textContent).head.form",
    })
}

#[test]
fn the_eks_replay_is_sound_in_light_dark_phone_and_print() {
    let desk = Desk::new();
    desk.write("s.toml", include_str!("../../../../studies/published/tidb-eks-arm-2021.toml"));
    desk.good(&["replay", "s.toml", "-o", "r"]);
    let page = file(&desk, "r/report.html");
    let seen = look(&desk, &page, None, &questions());
    is_sound(&seen, &page);
    let answers = &seen["answers"];
    for none in ["handlers", "bold", "csv", "unnamed", "broken_links"] {
        assert_eq!(answers[none], 0, "{none}: {answers:#}");
    }
    assert_eq!(answers["scripts"], 1, "{answers:#}");
    // The first mark of the figure of bills, by keyboard.
    assert!(answers["value"].as_str().unwrap().starts_with("Arm (Graviton2): $1,"), "{answers:#}");
    assert!(answers["figures"].as_u64().unwrap() >= 10 && answers["evidence"] == 2, "{answers:#}");
    for picture in ["light.png", "dark.png", "phone.png", "print.pdf"] {
        assert!(desk.path("pictures").join(picture).metadata().unwrap().len() > 10_000, "{picture}");
    }
}

/// Where the first screen of a page ends, in pixels from its top.
const BRIEF: &str = "Math.ceil(document.querySelector('.brief').getBoundingClientRect().bottom + scrollY)";

/// Words of a page, those of folded parts included.
const WORDS: &str = "(() => { document.querySelectorAll('details').forEach((d) => { d.open = true }); \
                     return document.body.innerText.split(/\\s+/).filter(Boolean).length })()";

/// Labels of drawings that cover each other by more than the air around their letters, and those that leave their drawing.
const OVERPRINTS: &str = "(() => { document.querySelectorAll('details').forEach((d) => { d.open = true });
    const found = [];
    for (const svg of document.querySelectorAll('svg[role=img]')) {
        const at = svg.getBoundingClientRect(), name = svg.querySelector('title').id;
        const all = [...svg.querySelectorAll('text')].filter((t) => t.textContent.trim());
        const boxes = all.map((t) => ({ b: t.getBoundingClientRect(), s: t.textContent })).filter((t) => t.b.width > 0);
        for (const { b, s } of boxes) {
            const out = Math.max(at.left - b.left, b.right - at.right, at.top - b.top, b.bottom - at.bottom);
            if (out > 1.5) found.push(`${name}: '${s}' leaves the drawing by ${out.toFixed(1)} px`);
        }
        boxes.forEach((p, i) => boxes.slice(i + 1).forEach((q) => {
            const across = Math.min(p.b.right, q.b.right) - Math.max(p.b.left, q.b.left);
            const down = Math.min(p.b.bottom, q.b.bottom) - Math.max(p.b.top, q.b.top);
            if (across > 0.5 && down > 0.3 * Math.min(p.b.height, q.b.height)) found.push(`${name}: '${p.s}' covers '${q.s}'`);
        }));
    }
    return found.slice(0, 40) })()";

/// The sizes at which pages are measured, and the longest brief there: one screen of a laptop, two of a phone; between them it may be as
/// long as it is.
const SIZES: [(&str, u32, u32, &str, u32); 4] = [
    ("laptop", 1280, 800, "light", 800),
    ("laptop, dark", 1280, 800, "dark", 800),
    ("tablet", 768, 1024, "light", u32::MAX),
    ("phone", 390, 844, "light", 2 * 844),
];

/// A link of the contents opens the part that it points to; every part is reached by the keyboard.
const LINKS: &str = "(async () => { const shut = [];
    for (const a of document.querySelectorAll('nav a')) {
        document.querySelectorAll('.part').forEach((d) => { d.open = false });
        a.click();
        await new Promise((r) => setTimeout(r, 60));
        const part = document.getElementById(a.hash.slice(1)).closest('.part');
        if (!part.open || part.querySelector('summary').tabIndex !== 0) shut.push(a.hash);
    }
    return shut })()";

/// What is wrong with a page whose parts are all open: a long brief, labels that cover each other, what axe-core calls serious, what the
/// keyboard does not reach, and requests that leave it. At most so many words may stand in it.
fn wrong_with(desk: &Desk, path: &Path, most: u64) -> Vec<String> {
    let page = format!("file://{}", path.canonicalize().unwrap().display());
    let ask = json!({ "brief": BRIEF, "words": WORDS, "overprints": OVERPRINTS });
    let view = |(name, width, height, scheme, _): (&str, u32, u32, &str, u32)| json!({ "name": name, "width": width, "height": height, "scheme": scheme, "ask": ask });
    let order = json!({ "page": page, "out": null, "axe": "AXE", "views": SIZES.map(view), "wait": null, "ask": { "links": LINKS }, "keyboard": true });
    let seen = given(desk, &order);
    let left = seen["requests"].as_array().unwrap().iter().filter(|r| !r.as_str().unwrap().starts_with(&page) && **r != "data:,");
    let words = seen["views"][0]["answers"]["words"].as_u64().unwrap();
    let mut found = vec![
        ("links that leave their part shut".to_owned(), seen["answers"]["links"].clone()),
        ("errors".to_owned(), seen["errors"].clone()),
        ("no key reaches".to_owned(), seen["keyboard"]["missed"].clone()),
        ("no ring shows the place".to_owned(), seen["keyboard"]["ringless"].clone()),
        ("requests".to_owned(), left.cloned().collect()),
        (format!("words, above {most}"), [words].into_iter().filter(|words| *words > most).collect()),
    ];
    for (view, (name, .., brief)) in seen["views"].as_array().unwrap().iter().zip(SIZES) {
        let [ends, wider] = [&view["answers"]["brief"], &view["overflow"]].map(|v| v.as_i64().unwrap());
        found.extend([
            (format!("{name}, labels"), view["answers"]["overprints"].clone()),
            (format!("{name}, axe"), serious(view).into_iter().cloned().collect()),
            (format!("{name}, end of the brief"), [ends].into_iter().filter(|ends| *ends > i64::from(brief)).collect()),
            (format!("{name}, wider than its window"), [wider].into_iter().filter(|wider| *wider > 0).collect()),
        ]);
    }
    assert!(seen["keyboard"]["stops"].as_u64().unwrap() > 10, "{}", seen["keyboard"]);
    found.into_iter().filter(|(_, found)| *found != json!([])).map(|(what, found)| format!("{what}: {found:#}")).collect()
}

#[test]
fn every_page_begins_with_one_screen_and_is_open_to_every_reader() {
    let desk = Desk::new();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Half of the words that these pages once had, folded parts included.
    let half = |name: &str| match name {
        "tidb-eks-arm-2021" => 11_492 / 2,
        // And the tables of machines, of data, and of kinds of transaction, which it did not have then.
        "report" => 9_083 / 2 + 400,
        "demo" => 7_735 / 2,
        _ => u64::MAX,
    };
    let mut pages = Vec::new();
    for name in ["mysql-kunpeng-2020", "tidb-eks-arm-2021", "tidb-t2a-graviton2-2022", "tikv-arm64-2019"] {
        let study = top.join(format!("studies/published/{name}.toml"));
        desk.good(&["replay", study.to_str().unwrap(), "-o", name]);
        pages.push((name, desk.path(&format!("{name}/report.html"))));
    }
    for name in ["report", "open_loop", "phased"] {
        // In the golden files words stand for the script and its data.
        let page = std::fs::read_to_string(top.join(format!("crates/report/tests/golden/{name}.html"))).unwrap();
        let page = page.replace("<script>SCRIPT", "<script type=\"text/plain\">");
        pages.push((name, desk.write(&format!("{name}.html"), &page)));
    }
    desk.good(&["demo", "--out", "demo"]);
    pages.push(("demo", desk.path("demo/demo/report.html")));
    let logs = ["full", "relaxed"]
        .map(|who| ["sysbench", "tpcc"].map(|what| format!("{who}={}/docs/examples/logs/{who}-{what}.log", top.display())));
    let logs: Vec<&str> = logs.iter().flatten().map(String::as_str).collect();
    let prices = [
        "--snapshot",
        "aws-2026-07",
        "--region",
        "us-east-1",
        "--machine",
        "full=m6g.2xlarge",
        "--machine",
        "relaxed=m6g.2xlarge",
    ];
    desk.good(&[&["import", "--new", "logs.toml", "--connections", "4"], &prices[..], &logs].concat());
    desk.good(&["report", "results/logs"]);
    pages.push(("imported", desk.path("results/logs/report.html")));
    let wrong: Vec<String> = pages
        .iter()
        .flat_map(|(name, path)| wrong_with(&desk, path, half(name)).into_iter().map(move |w| format!("{name}: {w}")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Names that would break out of their place.
const HOSTILE: &str = "<script>document.title='owned'</script><img src=x onerror=\\\"document.title='owned'\\\">'\\\"`|=1+1\\u202Eevil\\u2066\\u0007";

/// A study with hostile texts wherever a study, a server or a record may hold some, run and with its records edited.
fn hostile() -> Desk {
    let desk = Desk::new();
    let long = "x".repeat(10_000);
    let label = format!("label = \"{HOSTILE}\"\ntarget = \"sqlite:off.db");
    let question = format!("name = \"small\"\nquestion = \"{HOSTILE}{long}\"");
    let note = format!("regions = [\"us-east-1\"]\nnote = \"{HOSTILE}\"");
    desk.write(
        "s.toml",
        &edited(&[
            QUICK[0],
            LONG_ENOUGH,
            ("target = \"sqlite:off.db", &label),
            ("name = \"small\"", &question),
            ("regions = [\"us-east-1\"]", &note),
        ]),
    );
    desk.good(&["run", "s.toml"]);
    let mut all = Vec::new();
    crate::common::files(&desk.path("results/small"), &mut all);
    let text: String = serde_json::from_str(&format!("\"{HOSTILE}\"")).unwrap();
    for path in all.iter().filter(|p| p.extension().is_some_and(|e| e == "json")) {
        let mut record: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        record["target"]["version"] = json!(format!("{text}{long}"));
        record["target"]["variables"] = json!({ (text.clone()): text, "=2+3": "@SUM(1)" });
        record["host"]["cpu_model"] = json!(text);
        record["workload"]["rows_after"] = json!({ (text.clone()): 1 });
        record["errors"] = json!({ (text.clone()): { "count": 1, "class": text, "example": format!("{text}{long}") } });
        let typed: perbuck_core::run_record::RunRecord = serde_json::from_value(record).unwrap();
        std::fs::write(path, typed.to_json().unwrap()).unwrap();
    }
    desk
}

/// Characters that move a cursor or turn the direction of writing.
fn dangerous(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[test]
fn hostile_names_stay_names_in_every_rendering() {
    let desk = hostile();
    desk.good(&["report", "results/small"]);
    desk.good(&["verify", "results/small"]);
    for name in ["report.html", "report.md"] {
        let made = desk.read(&format!("results/small/{name}"));
        assert!(!made.contains(dangerous), "{name}");
    }
    let mut drawings = Vec::new();
    crate::common::files(&desk.path("results/small/figures"), &mut drawings);
    for path in drawings.iter().filter(|p| p.extension().is_some_and(|e| e == "svg")) {
        let drawing = std::fs::read_to_string(path).unwrap();
        assert!(!drawing.contains("<script") && !drawing.contains("<img") && !drawing.contains(dangerous), "{path:?}");
    }
    for arguments in [&["compare", "results/small"][..], &["price", "s.toml"], &["check", "s.toml"]] {
        let ended = desk.good(arguments);
        assert!(!ended.out.contains(dangerous), "{arguments:?}: {ended:#?}");
    }
    let json = desk.good(&["report", "--json", "results/small"]).out;
    serde_json::from_str::<Value>(&json).unwrap();
    let page = file(&desk, "results/small/report.html");
    let seen = look(&desk, &page, None, &questions());
    is_sound(&seen, &page);
    for none in ["handlers", "bold", "csv", "broken_links"] {
        assert_eq!(seen["answers"][none], 0, "{none}: {seen:#}");
    }
    assert_eq!(seen["answers"]["scripts"], 1, "{seen:#}");
    assert!(seen["title"].as_str().unwrap().starts_with("<script>"), "the name is shown as it is: {}", seen["title"]);
}

/// A server of the results folder, and its address.
fn serve(desk: &Desk) -> (std::process::Child, String) {
    let mut child = desk.command(&["serve", "results", "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line.split_whitespace().next().unwrap().trim_end_matches('/').to_owned())
}

#[test]
fn the_local_pages_are_sound_and_follow_a_run() {
    let desk = hostile();
    let trial = json!({ "contender": "full", "workload": "rw", "connections": 1, "trial": 1 });
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let second = |n: u64| {
        let second = json!({ "start_ms": n * 1000, "length_ms": 1000, "transactions": 100 + n, "statements": 5, "errors": n % 2,
            "p50_ns": 1_000_000, "p95_ns": 3_000_000 + n, "p99_ns": 4_000_000, "max_ns": 5_000_000 });
        let at_ms = now - (29 - n) * 1000;
        json!({ "at_ms": at_ms, "event": "second", "trial": trial, "position": 2, "left_s": 75, "second": second }).to_string()
            + "\n"
    };
    let began = json!({ "at_ms": now, "event": "began", "trials": 4, "on_disk": 1 }).to_string() + "\n";
    desk.write("results/small/live.jsonl", &(began + &(0..30).map(second).collect::<String>()));
    let (mut server, address) = serve(&desk);
    let live = look(
        &desk,
        &format!("{address}/live?study=small"),
        Some("document.getElementById('live').dataset.shown === 'running'"),
        &json!({
            "doing": "document.getElementById('doing').textContent",
            "left": "document.getElementById('left').textContent",
            "trials": "document.getElementById('trials').textContent",
            "throughput": "document.getElementById('throughput-now').textContent",
            "points": "document.querySelector('#throughput polyline').getAttribute('points').split(' ').length",
            "axis": "[...document.querySelectorAll('#throughput text')].map((t) => t.textContent).filter((t) => ['0', 'transactions per second', 'warm-up', 'seconds, 0 is the newest', 'full · rw · 1'].includes(t)).length",
            "phase": "document.getElementById('phase').textContent",
        }),
    );
    is_sound(&live, &address);
    let expected = json!({ "doing": "full · rw · 1 connection · trial 1", "left": "1:15 min", "trials": "trial 2, 1 of 4 done", "throughput": "129", "points": 30, "axis": 5, "phase": "drain" });
    assert_eq!(live["answers"], expected);
    let both = "compare?a=small%3A%3Afull/rw/c00001/001.json&b=small%3A%3Aoff/rw/c00001/001.json";
    for path in [
        "",
        "study?study=small",
        "study?study=small&sort=-p95",
        "trial?study=small&trial=full/rw/c00001/001.json",
        both,
        "report?study=small",
    ] {
        let page = format!("{address}/{path}");
        let made = "document.getElementById('what-if')?.childElementCount ?? 0";
        let seen = look(&desk, &page, None, &json!({ "images": "document.querySelectorAll('img').length", "made": made }));
        is_sound(&seen, &address);
        assert_eq!(seen["answers"]["made"].as_u64() > Some(3), path.starts_with("report"), "{path}: the script runs in reports");
        assert!(seen["answers"]["images"] == 0 && seen["title"] != "owned", "{path}: {seen:#}");
    }
    server.kill().unwrap();
    server.wait().unwrap();
}
