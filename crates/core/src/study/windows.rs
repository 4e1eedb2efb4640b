//! Warm-up and window that a study leaves to pilot trials, and what they found, which perbuck adds to the study that it keeps.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::{Study, Sweep, WorkloadSpec, base_of};
use crate::toml_reader::{Section, TomlFile};
use crate::windows::PILOTS;

/// The tables that perbuck adds.
pub(super) const WINDOW: &str = "window";
/// The word in place of a length.
const AUTO: &str = "auto";
/// The keys that may have it.
const LENGTHS: [&str; 2] = ["warmup", "duration"];

/// Which lengths of a trial are left to pilot trials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auto {
    /// The warm-up.
    pub warmup: bool,
    /// The measured window.
    pub duration: bool,
    /// How long a pilot trial is, in nanoseconds. Until they found something, both lengths are the half of it, which is the most that they find.
    pub pilot_ns: u64,
    /// How the lengths were found; `None` as long as pilot trials are to find them.
    pub found: Option<String>,
}

impl Default for Auto {
    fn default() -> Self {
        Self { warmup: false, duration: false, pilot_ns: 300_000_000_000, found: None }
    }
}

impl Auto {
    /// Whether any length is left to pilot trials, found or not.
    pub fn is_asked(&self) -> bool {
        self.warmup || self.duration
    }

    /// Whether pilot trials are still to find one.
    pub fn is_awaited(&self) -> bool {
        self.is_asked() && self.found.is_none()
    }

    /// What pilot trials find.
    pub fn words(&self) -> &'static str {
        match (self.warmup, self.duration) {
            (true, false) => "the warm-up",
            (false, true) => "the window",
            _ => "warm-up and window",
        }
    }
}

/// What pilot trials found for a workload, at all levels of factors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundWindow {
    /// The workload as written.
    pub workload: String,
    /// The warm-up, where it was asked for.
    pub warmup_ns: Option<u64>,
    /// The measured window, where it was asked for.
    pub duration_ns: Option<u64>,
    /// From what it was found, in words.
    pub from: String,
    /// Line in the study.
    pub line: usize,
}

/// A length as a study writes it, or left to pilot trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Auto,
    Ns(u64),
}

/// Reads a length of a trial.
pub(super) fn read_length(s: &Section<'_>, key: &str) -> Option<Length> {
    if is_auto(s, key) { Some(Length::Auto) } else { s.duration_ns(key).map(|ns| Length::Ns(ns.value)) }
}

fn is_auto(s: &Section<'_>, key: &str) -> bool {
    s.is_text(key) && s.text(key).is_some_and(|text| text.value == AUTO)
}

impl Sweep {
    /// Takes lengths in place of those that it has.
    pub(super) fn take_lengths(&mut self, warmup: Option<Length>, duration: Option<Length>) {
        let most_ns = self.auto.pilot_ns / 2;
        let both =
            [(warmup, &mut self.warmup_ns, &mut self.auto.warmup), (duration, &mut self.duration_ns, &mut self.auto.duration)];
        for (length, ns, auto) in both {
            match length {
                Some(Length::Auto) => (*ns, *auto) = (most_ns, true),
                Some(Length::Ns(given)) => (*ns, *auto) = (given, false),
                None => {}
            }
        }
    }

    /// Why pilot trials can find nothing for it, if they are asked.
    pub(super) fn without_pilots(&self) -> Option<(&'static str, &'static str)> {
        match () {
            () if !self.auto.is_asked() => None,
            () if !self.phases.is_empty() => Some(("phases", "the load changes with them, so no level is steady")),
            () if self.is_open() => Some(("a rate", "throughput is then what the study offers, and shows no warm-up")),
            () if self.events.is_some() => Some(("`events`", "they say how long the window is")),
            () if self.collected => Some(("`collected`", "its trials are started one by one")),
            () => None,
        }
    }

    /// The same with what was found.
    fn with_window(&self, window: &FoundWindow) -> Self {
        let (warmup_ns, duration_ns) = (window.warmup_ns, window.duration_ns);
        Self {
            warmup_ns: warmup_ns.filter(|_| self.auto.warmup).unwrap_or(self.warmup_ns),
            duration_ns: duration_ns.filter(|_| self.auto.duration).unwrap_or(self.duration_ns),
            auto: Auto { found: Some(window.from.clone()), ..self.auto.clone() },
            ..self.clone()
        }
    }
}

impl Study {
    /// The workloads as written whose windows are still left to pilot trials.
    pub fn awaiting_pilots(&self) -> Vec<&str> {
        let awaiting = self.workloads.iter().filter(|w| self.sweep_of(&w.name).auto.is_awaited());
        let mut names: Vec<&str> = awaiting.map(|w| base_of(&w.name)).collect();
        // At every level of a factor a workload has the same window.
        names.dedup();
        names
    }

    /// The study of pilot trials of this one: for each of these workloads its largest load, without a warm-up.
    pub fn pilots(&self) -> Self {
        let mut study = self.clone();
        study.workloads.retain(|w| self.sweep_of(&w.name).auto.is_awaited());
        for w in &mut study.workloads {
            let own = self.sweep_of(&w.name);
            w.sweep = Some(Sweep {
                connections: own.connections.iter().max().copied().into_iter().collect(),
                warmup_ns: 0,
                duration_ns: own.auto.pilot_ns,
                trials: PILOTS,
                auto: Auto::default(),
                ..own.clone()
            });
        }
        study.sweep.deployments = 1;
        study.decision.until = None;
        study
    }
}

/// The text of a study with the windows that were found at its end.
pub fn with_windows(study: &str, found: &[FoundWindow]) -> String {
    let seconds = |ns: u64| format!("{}s", ns / 1_000_000_000);
    let mut all = ArrayOfTables::new();
    for window in found {
        let mut table = Table::new();
        table.insert("workload", value(window.workload.clone()));
        for (key, ns) in LENGTHS.into_iter().zip([window.warmup_ns, window.duration_ns]) {
            if let Some(ns) = ns {
                table.insert(key, value(seconds(ns)));
            }
        }
        table.insert("from", value(window.from.clone()));
        all.push(table);
    }
    let mut document = DocumentMut::new();
    document.insert(WINDOW, Item::ArrayOfTables(all));
    format!("{}\n\n# Found in pilot trials, and added by perbuck.\n{document}", study.trim_end())
}

/// The text of a study with the windows that were found for one that was kept, as far as it leaves them to pilot trials.
pub fn with_windows_of(study: &str, kept: &str) -> String {
    let Ok(file) = TomlFile::parse("", kept.to_owned()) else { return study.to_owned() };
    let mut found = file.root().each(WINDOW, read_window).unwrap_or_default();
    // What is not known here, such as the kinds of workloads, decides nothing of this.
    let read = if found.is_empty() { None } else { Study::read_with_problems("", study, &[]).0 };
    let Some(read) = read else { return study.to_owned() };
    found.retain(|window| read.awaiting_pilots().contains(&window.workload.as_str()));
    if found.is_empty() { study.to_owned() } else { with_windows(study, &found) }
}

fn read_window(s: &Section<'_>) -> Option<FoundWindow> {
    let workload = s.required_text("workload", "\"read-write\"");
    let [warmup_ns, duration_ns] = LENGTHS.map(|key| s.duration_ns(key).map(|ns| ns.value));
    let from = s.required_text("from", "\"3 pilot trials of 5 min\"");
    s.finish();
    Some(FoundWindow { workload: workload?.value, warmup_ns, duration_ns, from: from?.value, line: s.line() })
}

/// Gives the workloads the windows that were found for them, and reports what pilot trials cannot find.
pub(super) fn give(root: &Section<'_>, study: &mut Study) {
    let found = root.each(WINDOW, read_window).unwrap_or_default();
    found.iter().for_each(|window| check(root, study, window));
    let whole = study.sweep.clone();
    let of = |w: &WorkloadSpec| found.iter().find(|window| window.workload == base_of(&w.name));
    let bare = |w: &&WorkloadSpec| w.sweep.is_none();
    let shared: Vec<Option<&FoundWindow>> = study.workloads.iter().filter(bare).map(of).collect();
    // The window of the only workload is that of the study, as if it were written there.
    if let [Some(first), rest @ ..] = shared.as_slice()
        && whole.auto.is_asked()
        && rest.iter().all(|other| *other == Some(*first))
    {
        study.sweep = whole.with_window(first);
    }
    let is_given = study.sweep.auto.found.is_some();
    for w in &mut study.workloads {
        let sweep = w.sweep.as_ref().or(Some(&whole).filter(|_| !is_given)).filter(|sweep| sweep.auto.is_asked());
        if let Some((sweep, window)) = sweep.zip(of(w)) {
            w.sweep = Some(sweep.with_window(window));
        }
    }
    can_be_piloted(root, study);
}

/// Reports a window that no workload asks for, or that is not whole.
fn check(root: &Section<'_>, study: &Study, window: &FoundWindow) {
    let of = study.workloads.iter().find(|w| base_of(&w.name) == window.workload).map(|w| &study.sweep_of(&w.name).auto);
    let name = &window.workload;
    let message = match of.filter(|auto| auto.is_asked()) {
        None => format!("a window was found for `{name}`, which leaves none to pilot trials"),
        Some(auto) if (auto.warmup && window.warmup_ns.is_none()) || (auto.duration && window.duration_ns.is_none()) => {
            format!("of the window that was found for `{name}` a part is missing")
        }
        Some(_) => return,
    };
    root.file().report(window.line, message, "remove this table: perbuck adds it when pilot trials found a window");
}

/// Reports pilot trials that cannot run, and their length where there are none.
fn can_be_piloted(root: &Section<'_>, study: &Study) {
    let sweep = root.table("sweep");
    let asked = study.workloads.iter().find(|w| study.sweep_of(&w.name).auto.is_asked());
    let Some(asked) = asked else {
        if let Some(sweep) = sweep.filter(|s| s.has("pilot")) {
            let help = "leave it out, or write `warmup = \"auto\"` or `duration = \"auto\"`";
            sweep.report("pilot", "`sweep.pilot` plays no part: no length is left to pilot trials", help);
        }
        return;
    };
    if !study.sweep_of(&asked.name).auto.is_awaited() {
        return;
    }
    let key = |s: &Section<'_>| LENGTHS.into_iter().find(|key| is_auto(s, key)).map(|key| s.line_of(key));
    let line = sweep.as_ref().and_then(key).unwrap_or(asked.line);
    let report = |message: String| {
        root.file().report(line, message, "write `warmup` and `duration` as lengths, such as \"60s\"");
    };
    if let Some(contender) = study.contenders.iter().find(|c| c.deploy.is_some() && c.target.is_none()) {
        let name = &contender.name;
        report(format!("pilot trials do not run on clusters that perbuck deploys, and contender `{name}` has `deploy`"));
    }
    if let Some(factor) = study.factors.iter().find(|factor| factor.by_hand) {
        report(format!("pilot trials run at all levels, and you set those of factor `{}`", factor.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(sweep: &str, more: &str) -> String {
        format!(
            "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n[[workload]]\nname = \"w\"\nkind = \"k\"\n[sweep]\n{sweep}\n{more}"
        )
    }

    fn read(text: &str) -> Result<Study, String> {
        let read = Study::read("s.toml", text, &[]);
        read.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    fn found(workload: &str, warmup_s: Option<u64>, duration_s: Option<u64>) -> FoundWindow {
        let [warmup_ns, duration_ns] = [warmup_s, duration_s].map(|s| s.map(|s| s * 1_000_000_000));
        FoundWindow { workload: workload.to_owned(), warmup_ns, duration_ns, from: "3 \"pilot\" trials".to_owned(), line: 0 }
    }

    const AUTO: &str = "connections = [1, 8]\nwarmup = \"auto\"\nduration = \"auto\"\npilot = \"100s\"";

    #[test]
    fn lengths_are_the_longest_until_they_are_found_and_then_as_if_they_were_written() {
        let awaiting = read(&study(AUTO, "")).unwrap();
        assert_eq!(awaiting.awaiting_pilots(), ["w"]);
        assert_eq!((awaiting.sweep.warmup_ns, awaiting.sweep.duration_ns), (50_000_000_000, 50_000_000_000));
        let pilots = awaiting.pilots();
        let sweep = pilots.sweep_of("w");
        assert_eq!((sweep.connections.as_slice(), sweep.warmup_ns, sweep.duration_ns), ([8].as_slice(), 0, 100_000_000_000));
        assert_eq!(pilots.plan().len(), PILOTS as usize);
        let text = with_windows(&study(AUTO, ""), &[found("w", Some(35), Some(60))]);
        let known = read(&text).unwrap();
        assert!(known.awaiting_pilots().is_empty() && known.workloads[0].sweep.is_none());
        let fixed = read(&study("connections = [1, 8]\nwarmup = \"35s\"\nduration = \"60s\"", "")).unwrap();
        assert_eq!((known.fingerprint(), known.changes_since(&fixed)), (fixed.fingerprint(), Vec::new()));
        assert_eq!(known.sweep.auto.found.as_deref(), Some("3 \"pilot\" trials"));
        assert_ne!(awaiting.fingerprint(), read(&study("warmup = \"50s\"\nduration = \"50s\"", "")).unwrap().fingerprint());
        // The study of the user gets what was found for the one that was kept.
        assert_eq!(with_windows_of(&study(AUTO, ""), &text), text);
        assert_eq!(with_windows_of(&study("", ""), &text), study("", ""));
        assert_eq!(with_windows_of(&text, &text), text);
    }

    #[test]
    fn each_workload_has_a_window_of_its_own_and_a_length_that_is_written_stays() {
        let second = "[[workload]]\nname = \"x\"\nkind = \"l\"\nduration = \"7s\"\n[[workload]]\nname = \"y\"\nkind = \"m\"\n\
                      warmup = \"1s\"\nduration = \"2s\"\n";
        let text = study(AUTO, second);
        let awaiting = read(&text).unwrap();
        assert_eq!(awaiting.awaiting_pilots(), ["w", "x"]);
        assert_eq!(awaiting.pilots().workloads.len(), 2);
        let all = [found("w", Some(35), Some(60)), found("x", Some(5), None)];
        let known = read(&with_windows(&text, &all)).unwrap();
        let lengths = ["w", "x", "y"].map(|name| {
            let sweep = known.sweep_of(name);
            [sweep.warmup_ns, sweep.duration_ns].map(|ns| ns / 1_000_000_000)
        });
        assert_eq!(lengths, [[35, 60], [5, 7], [1, 2]]);
        let part = read(&with_windows(&text, &all[..1])).unwrap();
        assert_eq!(part.awaiting_pilots(), ["x"]);
    }

    #[test]
    fn what_pilot_trials_cannot_find_is_refused_with_its_line() {
        let auto = "connections = [8]\nwarmup = \"auto\"\n";
        for (sweep, more, says) in [
            (format!("{auto}rate = [5]"), "", "s.toml:10: `sweep.warmup` is \"auto\" beside a rate"),
            (format!("{auto}events = 5"), "", "\"auto\" beside `events`"),
            ("warmup = \"auto\"\nphases = [{ time = \"1s\", connections = 2 }]".to_owned(), "", "\"auto\" beside phases"),
            (format!("{auto}pilot = \"10s\""), "", "`sweep.pilot` is too short"),
            ("pilot = \"100s\"".to_owned(), "", "`sweep.pilot` plays no part"),
            ("warmup = \"automatic\"".to_owned(), "", "write a number and a unit"),
            (auto.to_owned(), "[[window]]\nworkload = \"v\"\nwarmup = \"5s\"\nfrom = \"x\"", "which leaves none to pilot trials"),
            (auto.to_owned(), "[[window]]\nworkload = \"w\"\nfrom = \"x\"", "a part is missing"),
            (
                auto.to_owned(),
                "[[factor]]\nname = \"f\"\nby_hand = true\nlevel = [{ name = \"l\" }, { name = \"m\" }]",
                "you set those of factor `f`",
            ),
        ] {
            let problems = read(&study(&sweep, more)).map(|study| study.name).unwrap_err();
            assert!(problems.contains(says), "{sweep} {more}: {problems}");
        }
        let own = study("rate = [5]\nconnections = [1]", "[[workload]]\nname = \"x\"\nkind = \"l\"\nduration = \"auto\"");
        assert!(read(&own).map(|s| s.name).unwrap_err().contains("workload `x`"), "the workload is named");
    }
}
