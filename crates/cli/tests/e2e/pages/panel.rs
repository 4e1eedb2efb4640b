//! The panel of other prices in Chromium: typing, links, garbage, and a script that was changed.

use serde_json::{Value, json};

use super::{file, is_sound, look};
use crate::common::{Desk, LONG_ENOUGH, QUICK, edited};

/// What the page shows after a text was typed into the field that names `MACHINE`, and what its address says.
const TYPE: &str = r"(async () => {
  document.querySelectorAll('details').forEach((d) => { d.open = true });
  const field = [...document.querySelectorAll('.what-if-field')].find((f) => f.textContent.includes('MACHINE'));
  const input = field.querySelector('input');
  const said = () => document.querySelector('.what-if-answer').textContent;
  const before = said();
  input.focus();
  input.value = 'TEXT';
  input.dispatchEvent(new Event('input', { bubbles: true }));
  await new Promise((r) => setTimeout(r, 600));
  const mark = document.querySelector('.what-if-mark');
  return { before, after: said(), hash: location.hash, fault: field.querySelector('.fault').textContent,
    marked: !mark.hidden && mark.textContent, focused: document.activeElement === input,
    verdicts: [...document.querySelectorAll('#what-if tbody .verdict')].map((v) => v.textContent),
    study: document.querySelectorAll('#what-if .stated').length };
})()";

/// What the panel shows as the page was opened.
const STATE: &str = r"({ answer: document.querySelector('.what-if-answer').textContent, note: document.querySelector('#what-if .note').textContent,
  typed: [...document.querySelectorAll('.what-if-field input')].map((i) => i.value), marked: !document.querySelector('.what-if-mark').hidden,
  printed: getComputedStyle(document.getElementById('what-if')).display })";

const OTHER: &str = "usd_per_hour = 7.77";

/// A study that was run and reported, and a price list in which m7i.large costs something else.
fn reported() -> Desk {
    let desk = Desk::new();
    desk.write("s.toml", &edited(&[QUICK[0], LONG_ENOUGH]));
    desk.good(&["run", "s.toml"]);
    desk.good(&["report", "results/small"]);
    let list = include_str!("../../../../../prices/aws-2026-07.toml");
    let region = list.split("name = \"us-east-1\"").nth(1).unwrap();
    let row = region.lines().find(|l| l.contains("\"m7i.large\"")).unwrap();
    let stated = row.split("usd_per_hour = ").nth(1).unwrap().split([',', ' ']).next().unwrap();
    let (before, after) = list.split_once(region).unwrap();
    let other = region.replacen(row, &row.replacen(&format!("usd_per_hour = {stated}"), OTHER, 1), 1);
    desk.write("other.toml", &format!("{before}{other}{after}"));
    desk
}

#[test]
fn a_typed_price_gives_the_answer_of_compare_and_stays_in_the_link() {
    let desk = reported();
    let page = file(&desk, "results/small/report.html");
    let typed = json!({ "typed": TYPE.replace("MACHINE", "m7i.large").replace("TEXT", "7.77") });
    let seen = look(&desk, &page, None, &typed);
    is_sound(&seen, &page);
    let found = &seen["answers"]["typed"];
    assert!(found["before"] != found["after"] && found["focused"] == true && found["fault"] == "", "{found:#}");
    assert!(found["marked"].as_str().unwrap().contains("not the study's prices (1 changed)"), "{found:#}");
    assert!(found["study"].as_u64().unwrap() >= 3, "{found:#}");
    // The same words as the program's, at the same prices.
    let compared = desk.good(&["compare", "results/small", "--study", "s.toml", "--prices", "other.toml"]).out;
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (sentence, before) = (found["after"].as_str().unwrap(), found["before"].as_str().unwrap());
    let sentence = sentence.strip_prefix("What if: not the study's prices. ").unwrap();
    // Ratio and interval in the same words; what the program says of cost stands between them and the verdict.
    let agree = |page: &str, program: &str| {
        let (found, verdict) = page.strip_prefix("rw: ").unwrap().split_once("): ").unwrap();
        let word = verdict.split([':', '.']).next().unwrap();
        let (_, rest) = program.split_once(&format!("{found})")).unwrap_or_else(|| panic!("{page}\n{program}"));
        assert!(rest.split('!').next().unwrap().contains(&format!(": {word}")), "{page}\n{program}");
    };
    agree(sentence, &flat(&compared));
    agree(before, &flat(&desk.good(&["compare", "results/small"]).out));
    // The link restores it, and a link with garbage says so.
    let link = format!("{page}{}", found["hash"].as_str().unwrap());
    let restored = look(&desk, &link, None, &json!({ "state": STATE }));
    let state = &restored["answers"]["state"];
    assert!(state["answer"] == found["after"] && state["marked"] == true && state["note"] == "", "{state:#}");
    let garbage = format!("{page}#what-if?region=mars&model=x&price|none=1&%F0%9F=%00<b>");
    let restored = look(&desk, &garbage, None, &json!({ "state": STATE }));
    let state = &restored["answers"]["state"];
    assert!(state["answer"] == found["before"] && state["marked"] == false, "{state:#}");
    assert!(state["note"].as_str().unwrap().starts_with("The link names 4 things that this page does not have."), "{state:#}");
}

#[test]
fn what_cannot_be_used_is_told_at_its_field() {
    let desk = reported();
    let page = file(&desk, "results/small/report.html");
    let refused = [
        ("0,35", "after a point"),
        ("-1", "0 or more"),
        ("1e9", "0 or more"),
        ("99999999999", "a billion dollars"),
        ("0.0000001", "at most 6 decimals"),
    ];
    let typed = |text: &str| TYPE.replace("MACHINE", "m7i.large").replace("TEXT", text);
    // Free machines have no work per dollar, and are no fault.
    let texts = refused.iter().map(|(text, _)| *text).chain(["0"]);
    let ask: serde_json::Map<String, Value> = texts.map(|text| (text.to_owned(), json!(typed(text)))).collect();
    let seen = look(&desk, &page, None, &Value::Object(ask));
    for (text, why) in refused {
        let found = &seen["answers"][text];
        assert!(found["fault"].as_str().unwrap().contains(why), "{text}: {found:#}");
        assert!(found["marked"] == false && found["study"] == 0, "{text}: {found:#}");
    }
    let free = &seen["answers"]["0"];
    assert!(free["fault"] == "" && free["marked"] != false && free["after"] == "What if: not the study's prices. ", "{free:#}");
}

#[test]
fn a_script_that_was_changed_does_not_run() {
    let desk = reported();
    let text = desk.read("results/small/report.html");
    assert!(text.contains("const MOST_TRIALS = 1000;"));
    desk.write("changed.html", &text.replace("const MOST_TRIALS = 1000;", "const MOST_TRIALS = 1001;"));
    desk.write("added.html", &text.replace("</body>", "<script>document.title = 'owned'</script></body>"));
    let made = json!({ "made": "document.getElementById('what-if').childElementCount" });
    let changed = look(&desk, &file(&desk, "changed.html"), None, &made);
    assert_eq!(changed["answers"]["made"], 0);
    assert!(changed["errors"].to_string().contains("Content Security Policy"), "{changed:#}");
    let added = look(&desk, &file(&desk, "added.html"), None, &made);
    assert!(added["title"] != "owned" && added["answers"]["made"].as_u64() > Some(3), "{added:#}");
}
