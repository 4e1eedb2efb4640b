//! Makes a report again from the data that it embeds, and says where it is something else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use perbuck_core::compare::Comparison;
use perbuck_core::parallel::in_parallel;
use perbuck_core::run_record::RunRecord;
use perbuck_report::difference::{self, Difference};
use perbuck_report::evidence::{self, Head, Kind, Source, Unpacked};
use perbuck_report::{ReportModel, html};
use serde::Serialize;
use serde_json::Value;

use crate::error::LabError;
use crate::folder::{self, has_file};
use crate::inputs::{self, Limit, PublishedTexts, price_text, read_text, read_up_to};
use crate::registry::Registry;
use crate::replay;
use crate::report::PAGE;
use crate::results::{self, Material};
use crate::sidecar;
use crate::used::USED_FILE;
use crate::{store, stored};

mod beside;

/// Differences of one kind that are printed.
const PRINTED: usize = 10;
/// Values of one record that are printed where it differs.
const VALUES: usize = 3;

/// What was checked, and what was found.
#[derive(Debug, Default, Serialize)]
pub struct Findings {
    /// Checks that held, in words.
    pub held: Vec<String>,
    /// Checks that did not, in words.
    pub differs: Vec<String>,
    /// The version that made the page, where it is not this one: only that version can verify its text.
    #[serde(skip)]
    pub other_version: Option<String>,
}

impl Findings {
    fn held(&mut self, text: impl Into<String>) {
        self.held.push(text.into());
    }

    fn differs(&mut self, text: impl Into<String>) {
        self.differs.push(text.into());
    }

    /// Some of many differences in `what`; returns whether there were any.
    fn list(&mut self, what: &str, (some, count): (Vec<Difference>, usize)) -> bool {
        for d in &some {
            self.differs(format!("{what}, {}: says {:?}, its data give {:?}", d.path, d.says, d.must));
        }
        if count > some.len() {
            self.differs(format!("{what}: {} more differences", count - some.len()));
        }
        count > 0
    }

    /// A line for each.
    pub fn text(&self) -> String {
        let lines = |mark: &str, list: &[String]| list.iter().map(|l| format!("{mark} {l}\n")).collect::<String>();
        lines("holds  ", &self.held) + &lines("DIFFERS", &self.differs)
    }
}

/// A report, and what it is compared with.
#[derive(Debug, Clone, Default)]
pub struct VerifyRequest {
    /// A page, or a results folder that holds one.
    pub report: PathBuf,
    /// The results folder whose records must be those of the page; that of the report if a folder is given.
    pub results: Option<PathBuf>,
    /// A study file that must be the embedded one, in place of the folder's.
    pub study: Option<PathBuf>,
    /// A price file that must be the embedded one, in place of the folder's.
    pub prices: Option<PathBuf>,
    /// A folder for the embedded files, which must not exist.
    pub extract: Option<PathBuf>,
}

impl VerifyRequest {
    /// The page that is verified.
    pub fn page(&self) -> PathBuf {
        compared(self).0
    }
}

/// Verifies a report. What differs is in the findings.
///
/// # Errors
/// A page that embeds no data or unreadable data, a folder that cannot be read.
pub fn verify(request: &VerifyRequest) -> Result<Findings, LabError> {
    let (page, folder) = compared(request);
    let text = match request.report.is_dir() {
        true => folder::read_text("the report", &page, Limit::PAGE)?,
        false => read_up_to("the report", &page, Limit::PAGE)?,
    };
    let mut found = Findings::default();
    let packed = evidence::from_page(&text).ok_or_else(|| {
        let message = format!("{} embeds no data that could be verified", page.display());
        let help = "it is no report, is cut off, or comes from a perbuck without `verify`; perbuck report FOLDER makes it again";
        LabError::failed(message, help)
    })?;
    let data =
        evidence::unpack(packed).map_err(|e| LabError::failed(format!("the data that {} embeds {e}", page.display()), ""))?;
    seals(&mut found, &data)?;
    if let Some(folder) = &folder {
        check_folder(&mut found, &data, folder, request)?;
    }
    if let Some(target) = &request.extract {
        extract(&data, target)?;
        found.held(format!("the embedded files were written to {}", target.display()));
    }
    remade(&mut found, &text, packed, data);
    Ok(found)
}

/// The page and, where it is compared with files, the folder of the records.
fn compared(request: &VerifyRequest) -> (PathBuf, Option<PathBuf>) {
    let path = &request.report;
    if path.is_dir() {
        let folder = request.results.clone().unwrap_or_else(|| path.clone());
        return (path.join(PAGE), holds_records(&folder).then_some(folder).or_else(|| request.results.clone()));
    }
    (path.clone(), request.results.clone())
}

/// Whether every embedded text and trial is the one that its checksum was made of.
fn seals(found: &mut Findings, data: &Unpacked) -> Result<(), LabError> {
    for (what, source) in sources(&data.head) {
        if !source.is_whole() {
            found.differs(format!("{what}: the embedded text of {:?} does not match its checksum", source.name));
        }
    }
    let sums = in_parallel(&data.records, stored::seal)?;
    let before = found.differs.len();
    for ((record, stated), sum) in data.records.iter().zip(&data.sums).zip(&sums) {
        if stated != sum {
            let path = record.path();
            found.differs(format!(
                "embedded trial {path}: its content does not match its checksum (stated {}, is {})",
                short(stated),
                short(sum)
            ));
        }
    }
    if found.differs.len() == before && !data.records.is_empty() {
        found.held(format!("the content of {} embedded trials matches their checksums", data.records.len()));
    }
    Ok(())
}

fn short(sum: &str) -> String {
    sum.chars().filter(char::is_ascii_hexdigit).take(16).collect::<String>() + "…"
}

fn sources(head: &Head) -> impl Iterator<Item = (&'static str, &Source)> {
    let beside = [("prices", &head.prices), ("results", &head.results), ("used time", &head.used)];
    let all = std::iter::once(("study", Some(&head.study))).chain(beside.map(|(what, source)| (what, source.as_ref())));
    all.filter_map(|(what, source)| Some((what, source?)))
}

fn remade(found: &mut Findings, page: &str, packed: &str, data: Unpacked) {
    let version = data.head.perbuck.clone();
    let same_version = version == env!("CARGO_PKG_VERSION");
    let model = match model(data) {
        Ok(model) => model,
        Err(error) => {
            let said = error.words().0.replace('\n', "; ");
            found.differs(format!("nothing can be computed from the embedded data: {said}"));
            return;
        }
    };
    match (element(page, "comparison"), serde_json::from_str::<Value>(&model.data)) {
        (Some(says), Ok(must)) => {
            let (says, must) = Comparison::comparable(says, must);
            let differences = difference::of_values(&says, &must, PRINTED);
            if !found.list("embedded comparison", differences) {
                found.held(format!("the comparison computed again: {} numbers agree", numbers(&must)));
            }
        }
        _ => found.differs("embedded comparison: is no JSON"),
    }
    if !same_version {
        found.differs(format!(
            "page: made by perbuck {version}; this is perbuck {}, whose texts may differ; verify the page with that version",
            env!("CARGO_PKG_VERSION")
        ));
        found.other_version = Some(version);
        return;
    }
    let [before, after] = html::around_evidence(&model, true);
    let (seen_before, seen_after) = page.split_once(packed).unwrap_or((page, ""));
    let shown = |html: &str| html.lines().filter(|l| !l.contains("id=\"comparison\">")).collect::<Vec<_>>().join("\n");
    let mut any = found.list("page", difference::of_pages(&shown(seen_before), &shown(&before), PRINTED));
    any |= found.list("page, below its data", difference::of_pages(seen_after, &after, PRINTED));
    if model.evidence != packed {
        found.differs("embedded data: are not written as perbuck writes them");
    } else if any {
        // Its lines say where.
    } else if page.len() != before.len() + packed.len() + after.len() || seen_before != before || seen_after != after {
        found.differs("page: its bytes are not those that its data give");
    } else {
        found.held(format!("the page made again: all {} bytes agree", page.len()));
    }
}

fn model(data: Unpacked) -> Result<ReportModel, LabError> {
    let Unpacked { head, records, sums, .. } = data;
    // A folder is read in the order of its paths, `full/` before `full-control/`; as texts the dash comes before the slash.
    let mut trials: Vec<(RunRecord, String)> = records.into_iter().zip(sums).collect();
    trials.sort_by_cached_key(|(record, _)| PathBuf::from(record.path()));
    let (records, sums) = trials.into_iter().unzip();
    match head.kind {
        Kind::Measured => {
            let (study_path, prices) = (head.study.name.clone(), head.prices.as_ref().map(|p| PathBuf::from(&p.name)));
            let (prices_path, registry) = (prices.unwrap_or_default(), Registry::default());
            // Whoever has the page may not have its folder.
            let results = "RESULTS".to_owned();
            results::compare(Material { results, study_path, prices_path, head, records, sums, registry })?.report()
        }
        Kind::Published => {
            let given = head.prices.as_ref().filter(|p| p.given);
            let texts = PublishedTexts {
                study: (head.study.name.clone(), head.study.text.clone()),
                prices: given.map(|p| (PathBuf::from(&p.name), p.text.clone())),
                csv: head.results.as_ref().map(|r| (r.name.clone(), r.text.clone())),
            };
            let (inputs, _, model) = replay::made(&texts)?;
            let bundled = inputs.prices.as_ref().map(|p| p.1.as_str());
            if given.is_none() && bundled != head.prices.as_ref().map(|p| p.text.as_str()) {
                let message = "the embedded prices are not those of the price list of that name that comes with perbuck";
                return Err(LabError::failed(message, ""));
            }
            Ok(model)
        }
    }
}

fn element(page: &str, id: &str) -> Option<Value> {
    let open = format!("<script type=\"application/json\" id=\"{id}\">");
    let (_, rest) = page.split_once(&open)?;
    serde_json::from_str(rest.split_once("</script>")?.0).ok()
}

fn numbers(value: &Value) -> usize {
    match value {
        Value::Number(_) => 1,
        Value::Array(list) => list.iter().map(numbers).sum(),
        Value::Object(map) => map.values().map(numbers).sum(),
        _ => 0,
    }
}

/// Compares a text with a file that the user names, or with one of a results folder.
fn same_text(found: &mut Findings, embedded: &Source, given: Option<(PathBuf, String)>, stored: &Path) -> Result<(), LabError> {
    let (path, text) = match given {
        Some(given) => given,
        None => (stored.to_owned(), folder::read_text("the file", stored, Limit::RECORD)?),
    };
    let path = path.display();
    match text == embedded.text {
        true => found.held(format!("{path} is the embedded one")),
        false => found.differs(format!("{path}: is not the embedded one")),
    }
    Ok(())
}

fn holds_records(folder: &Path) -> bool {
    has_file(&folder.join(store::STUDY_FILE))
}

/// Compares study, prices and every record of a folder with what a page embeds. A record that cannot be read is a finding.
fn check_folder(found: &mut Findings, data: &Unpacked, folder: &Path, asked: &VerifyRequest) -> Result<(), LabError> {
    let text =
        |given: Option<&Path>| given.map(|path| Ok::<_, LabError>((path.to_owned(), read_text("the file", path)?))).transpose();
    same_text(found, &data.head.study, text(asked.study.as_deref())?, &folder.join(store::STUDY_FILE))?;
    if let Some(prices) = &data.head.prices {
        let given = price_text(asked.prices.as_deref(), &data.head.study.text)?;
        same_text(found, prices, given, &folder.join(store::PRICES_FILE))?;
    }
    if let Some(used) = &data.head.used {
        same_text(found, used, None, &folder.join(USED_FILE))?;
    } else if has_file(&folder.join(USED_FILE)) {
        found.differs(format!("{}: is in the folder and not in the page", folder.join(USED_FILE).display()));
    }
    let mut embedded: BTreeMap<String, (&RunRecord, &str)> =
        data.records.iter().zip(&data.sums).map(|(r, sum)| (r.path(), (r, sum.as_str()))).collect();
    let paths = store::evidence_in(folder)?;
    let read = in_parallel(&paths, |path| {
        let sealed = stored::read_record(path).and_then(|r| stored::seal(&r).map(|sum| (sidecar::look(path, &r), (r, sum))));
        Ok(sealed.map_err(|e| e.words().0.to_owned()))
    })?;
    let (before, mut beside_all) = (found.differs.len(), Vec::new());
    for (path, read) in paths.iter().zip(read) {
        let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
        let read = read.map(|(beside, read)| {
            beside_all.push((name.clone(), beside));
            read
        });
        match (embedded.remove(&name), read) {
            (_, Err(why)) => found.differs(format!("record {name}: {why}")),
            (None, Ok(_)) => found.differs(format!("record {name}: is in the folder and not in the page")),
            (Some((_, sum)), Ok((_, file))) if sum == file => {}
            (Some((trial, _)), Ok((file, _))) => found.differs(format!("record {name}: {}", what_differs(trial, &file))),
        }
    }
    for name in embedded.keys() {
        found.differs(format!("record {name}: is in the page and not in the folder"));
    }
    if found.differs.len() == before {
        found.held(format!("{} records in {} are the embedded ones", paths.len(), folder.display()));
    }
    beside::check(found, &beside_all, folder);
    Ok(())
}

/// The first values by which a file and an embedded trial differ.
fn what_differs(embedded: &RunRecord, file: &RunRecord) -> String {
    let value = |r: &RunRecord| serde_json::to_value(r).unwrap_or(Value::Null);
    let (some, count) = difference::of_values(&value(embedded), &value(file), VALUES);
    let mut each: Vec<String> =
        some.iter().map(|d| format!("{} is {} in the page and {} in the file", d.path, d.says, d.must)).collect();
    if count > some.len() {
        each.push(format!("{} more values differ", count - some.len()));
    }
    if each.is_empty() { "its content does not match the checksum in the page".to_owned() } else { each.join("; ") }
}

/// Writes the embedded study, prices and records as a results folder, which must not exist.
fn extract(data: &Unpacked, folder: &Path) -> Result<(), LabError> {
    if folder.exists() {
        let message = format!("{} exists already", folder.display());
        return Err(LabError::refused(message, "name a folder that does not exist"));
    }
    if let Some(odd) = data.records.iter().find(|r| !is_plain(&r.path())) {
        let message = format!("the embedded trial {:?} has a name that no study can have", odd.path());
        return Err(LabError::refused(message, "nothing was written"));
    }
    fs::create_dir_all(folder).map_err(LabError::of_file("make the folder", folder))?;
    store::replace(&folder.join(store::STUDY_FILE), &data.head.study.text)?;
    if let Some(prices) = &data.head.prices {
        store::replace(&folder.join(store::PRICES_FILE), &prices.text)?;
    }
    if let Some(used) = &data.head.used {
        store::replace(&folder.join(USED_FILE), &used.text)?;
    }
    if let Some(results) = &data.head.results {
        store::replace(&folder.join("results.csv"), &results.text)?;
    }
    if data.head.kind == Kind::Measured {
        // As a run of it would have it: some of what is measured follows from what the workloads understand.
        let prices = data.head.prices.as_ref().map(|prices| (PathBuf::from(store::PRICES_FILE), prices.text.clone()));
        if let Ok(inputs) = inputs::check(store::STUDY_FILE, data.head.study.text.clone(), prices, Registry::default()) {
            store::replace(&folder.join(store::FINGERPRINT_FILE), &format!("{}\n", inputs.study.fingerprint()))?;
        }
        if data.head.checked {
            store::replace(&folder.join(store::CHECKED_FILE), store::CHECKED_TEXT)?;
        }
    }
    data.records.iter().try_for_each(|r| store::write_once(folder, &folder.join(r.path()), (r, None)))
}

/// Whether a path stays below the folder that it is joined to: a page is foreign text.
fn is_plain(path: &str) -> bool {
    // A workload at levels of factors has `@` and commas in its name.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | ',');
    path.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && part.chars().all(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_embedded_name_leaves_the_folder() {
        assert!(is_plain("arm/small/c00300/001.json") && is_plain("a.b/w_1@cpu,zipfian/r0000010-c00001/001.json"));
        for odd in ["../a/c00001/001.json", "/etc/x/c1/1.json", "a/../b/1.json", "a//b", "a\\b", "a/\u{202e}b"] {
            assert!(!is_plain(odd), "{odd}");
        }
    }
}
