//! Settings of the machine of a contender's server, which hold while its trials run: `tuning` of a study.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::read::word;
use crate::toml_reader::Section;

/// The file of each frequency policy that holds its governor; a `*` stands for any name.
const GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/*/scaling_governor";
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Characters of a value at most.
const LONGEST: usize = 160;

/// What a study asks of the machine of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tuning {
    /// Interrupts and packets of network queues are spread over the processors, as `perbuck doctor` says.
    pub spread_packets: bool,
    /// Packets that are passed on follow the threads that read them (RFS), as `perbuck doctor` says.
    pub steer_flows: bool,
    /// Processors have queues of their own to send by (XPS), as `perbuck doctor` says.
    pub divide_senders: bool,
    /// Values of files below `/proc/sys`, `/proc/irq` and `/sys`, by their paths. A `*` between two slashes stands for any name.
    pub settings: BTreeMap<String, String>,
    /// Line in the study.
    pub line: usize,
}

impl Tuning {
    /// What of it decides what is measured.
    pub(crate) fn identity(&self) -> String {
        let steered = [(self.spread_packets, "spread "), (self.steer_flows, "rfs "), (self.divide_senders, "xps ")];
        let words: String = steered.iter().filter(|(is_asked, _)| *is_asked).map(|(_, word)| *word).collect();
        format!("{words}{:?}", self.settings)
    }
}

/// Why a file cannot be set by that path; `None` where it can.
pub fn no_setting(path: &str, value: &str) -> Option<String> {
    let roots = ["/proc/sys/", "/proc/irq/", "/sys/"];
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_.-:*".contains(c);
    if !roots.iter().any(|root| path.starts_with(root)) || path.split('/').any(|part| part == "..") || !path.chars().all(plain) {
        return Some(format!("`{path}` is no file below {}", roots.join(", ")));
    }
    let good = |c: char| c == ' ' || c.is_ascii_graphic() && !"'\"\\".contains(c);
    let is_value = !value.is_empty() && value.len() <= LONGEST && value.chars().all(good);
    (!is_value).then(|| format!("the value of `{path}` is no plain text of up to {LONGEST} characters"))
}

pub(super) fn read_tuning(contender: &Section<'_>) -> Option<Tuning> {
    let s = contender.table("tuning")?;
    let spread_packets = word(&s, "packets", &[("spread", true)]).unwrap_or(false);
    let [steer_flows, divide_senders] = ["rfs", "xps"].map(|key| s.boolean(key).is_some_and(|found| found.value));
    let mut settings = BTreeMap::new();
    for (key, path) in [("governor", GOVERNOR), ("transparent_huge_pages", HUGE_PAGES)] {
        if let Some(found) = s.text(key) {
            if let Some(why) = no_setting(path, &found.value) {
                s.report(key, why, "write one of the words that the file lists");
            }
            settings.insert(path.to_owned(), found.value);
        }
    }
    for (path, found) in s.remaining_scalars() {
        let value = found.value.to_string();
        if !path.starts_with('/') {
            let help = "it knows `packets`, `rfs`, `xps`, `governor`, `transparent_huge_pages`, and paths such as \"/proc/sys/vm/swappiness\"";
            s.report(&path, format!("unknown key `contender.tuning.{path}`"), help);
        } else if let Some(why) = no_setting(&path, &value) {
            s.report(&path, why, "name a file of the kernel with a plain value");
        }
        settings.insert(path, value);
    }
    let line = s.line();
    if settings.is_empty() && !spread_packets && !steer_flows && !divide_senders {
        contender.report("tuning", "`tuning` sets nothing", "give it `packets = \"spread\"` or a setting, or leave it out");
    }
    if contender.table("server").is_none() {
        let help = "give the contender a `server`, on this machine or with a `host`; or tune the machine by hand";
        contender.report("tuning", "perbuck tunes only machines on which it starts the server, and there is no `server`", help);
    }
    s.finish();
    Some(Tuning { spread_packets, steer_flows, divide_senders, settings, line })
}

#[cfg(test)]
mod tests {
    use crate::study::Study;

    fn study(server: &str, tuning: &str) -> Result<Study, Vec<String>> {
        let text = format!(
            "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n{server}\n[contender.tuning]\n{tuning}\n\
             [[workload]]\nname = \"w\"\nkind = \"k\"\n"
        );
        Study::read("s.toml", &text, &[]).map_err(|all| all.into_iter().map(|p| p.message).collect())
    }

    const SERVER: &str = "server = { kind = \"mariadb\" }";

    #[test]
    fn settings_are_read_with_their_short_names() {
        let all = "packets = \"spread\"\nrfs = true\ngovernor = \"performance\"\ntransparent_huge_pages = \"never\"\n\
                   \"/proc/sys/vm/swappiness\" = 1";
        let found = study(SERVER, all).unwrap();
        let tuning = found.contenders[0].tuning.clone().unwrap();
        let settings: Vec<(&str, &str)> = tuning.settings.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
        let expected = [("/proc/sys/vm/swappiness", "1"), (super::GOVERNOR, "performance"), (super::HUGE_PAGES, "never")];
        assert!(
            tuning.spread_packets && tuning.steer_flows && !tuning.divide_senders && tuning.line == 6 && settings == expected,
            "{tuning:?}"
        );
        for (old, new) in [("never", "always"), ("rfs = true\n", ""), ("rfs = true", "xps = true")] {
            let other = study(SERVER, &all.replace(old, new)).unwrap();
            assert_ne!(found.fingerprint(), other.fingerprint());
        }
    }

    #[test]
    fn what_is_no_setting_is_refused_by_name() {
        for (server, tuning, says) in [
            (SERVER, "", "`tuning` sets nothing"),
            ("target = \"mysql://h/d\"", "governor = \"performance\"", "there is no `server`"),
            (SERVER, "swap = 1", "unknown key `contender.tuning.swap`"),
            (SERVER, "packets = \"all\"", "`packets` is \"all\""),
            (SERVER, "\"/etc/passwd\" = \"x\"", "`/etc/passwd` is no file below /proc/sys/, /proc/irq/, /sys/"),
            (SERVER, "\"/sys/../etc/passwd\" = \"x\"", "is no file below"),
            (SERVER, "\"/sys/a b\" = \"x\"", "is no file below"),
            (SERVER, "\"/proc/sys/vm/swappiness\" = \"1\\n2\"", "is no plain text"),
            (SERVER, "governor = \"it's\"", "is no plain text"),
        ] {
            let messages = study(server, tuning).unwrap_err();
            assert!(messages.iter().any(|m| m.contains(says)), "{tuning}: {messages:?}");
        }
    }
}
