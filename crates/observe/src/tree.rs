//! The files of `/proc` and `/sys`: those of this machine, or of another one that was written down.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Bytes of a file that are read at most; none of those that are asked for is longer on a machine of a thousand processors.
const LONGEST: u64 = 4 << 20;
/// Characters of a value at most.
const VALUE: usize = 160;

/// A root with `proc` and `sys` below it. Paths have no `/` at their start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree {
    /// A folder: `/` is the running system.
    Folder(PathBuf),
    /// Files by path, as a test holds them.
    Files(BTreeMap<String, String>),
}

impl Tree {
    /// The running system.
    pub fn running() -> Self {
        Self::Folder(PathBuf::from("/"))
    }

    /// A machine that was written down as one text. A line `== PATH` begins a file; what stands before the first one is a comment.
    ///
    /// - `[0-31]` in a path stands for a file for each number, and `[n]`, `[n+32]` or `[n-32]` in its text for that number.
    /// - `== PATH *0-31` repeats a text for each number, with an empty line after each.
    /// - `[0*63]` in a text is `0` 63 times, with a space between; `#` in it is the index, as in `[CPU#*64]`.
    /// - A path that comes again goes on.
    pub fn unpacked(text: &str) -> Self {
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        let mut add = |header: &str, body: &str| {
            let body = format!("{}\n", body.trim_end());
            let (path, repeated) = header.split_once(" *").map_or((header, None), |(path, list)| (path, Some(cpu_list(list))));
            if let Some(numbers) = repeated {
                let all: String = numbers.into_iter().map(|n| format!("{}\n", filled(&body, Some(n)))).collect();
                files.entry(path.to_owned()).or_default().push_str(&all);
                return;
            }
            let range = path.split_once('[').and_then(|(start, rest)| Some((start, rest.split_once(']')?)));
            let Some((start, (list, end))) = range else {
                files.entry(path.to_owned()).or_default().push_str(&filled(&body, None));
                return;
            };
            for n in cpu_list(list) {
                files.entry(format!("{start}{n}{end}")).or_default().push_str(&filled(&body, Some(n)));
            }
        };
        let mut file: Option<(&str, String)> = None;
        for line in text.lines() {
            if let Some(header) = line.strip_prefix("== ") {
                if let Some((before, body)) = file.replace((header.trim(), String::new())) {
                    add(before, &body);
                }
            } else if let Some((_, body)) = &mut file {
                body.push_str(line);
                body.push('\n');
            }
        }
        if let Some((header, body)) = file {
            add(header, &body);
        }
        Self::Files(files)
    }

    /// The text of a file; `None` where there is none, or it cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        match self {
            Self::Files(files) => files.get(path).cloned(),
            Self::Folder(root) => {
                let mut bytes = Vec::new();
                File::open(root.join(path)).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
        }
    }

    /// The first bytes of a file that the kernel makes while it is read.
    pub fn start_of(&self, path: &str, bytes: u64) -> Option<String> {
        let Self::Folder(root) = self else { return self.text(path) };
        let mut start = Vec::new();
        File::open(root.join(path)).ok()?.take(bytes).read_to_end(&mut start).ok()?;
        Some(String::from_utf8_lossy(&start).into_owned())
    }

    /// The first line of a file, without what would steer a terminal; `None` where it is empty.
    pub fn line(&self, path: &str) -> Option<String> {
        value(self.text(path)?.lines().next()?)
    }

    /// The number in a file.
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.line(path)?.parse().ok()
    }

    /// The word in square brackets of a file that lists what may be chosen, or its only word.
    pub fn chosen(&self, path: &str) -> Option<String> {
        chosen(&self.line(path)?)
    }

    /// What no file tells of a network device: its features and how long it waits before it interrupts, in the words of `ethtool -k` and
    /// `ethtool -c`. A machine that was written down has lines such as `rx-gro: on` in `ethtool/NAME`.
    pub(crate) fn ethtool(&self, device: &str) -> BTreeMap<String, String> {
        match self {
            Self::Folder(root) if root == Path::new("/") => crate::ethtool::ask(device),
            Self::Folder(_) => BTreeMap::new(),
            Self::Files(files) => {
                let lines = files.get(&format!("ethtool/{device}")).into_iter().flat_map(|text| text.lines());
                lines.filter_map(|line| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()))).collect()
            }
        }
    }

    /// The names in a folder, numbers in them by value: `eth2` before `eth10`.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Self::Folder(root) => {
                let entries = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
                entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
            }
            Self::Files(files) => {
                let below = format!("{folder}/");
                let rest = files.keys().filter_map(|path| path.strip_prefix(&below)?.split('/').next());
                rest.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
            }
        };
        names.sort_by_key(|name| {
            let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            let (start, number) = name.split_at(name.len() - digits);
            (start.to_owned(), number.parse::<u64>().unwrap_or(0), name.clone())
        });
        names
    }
}

/// A value of a fact: on one line, printable, and not long.
pub(crate) fn value(text: &str) -> Option<String> {
    let plain = text.trim().chars().map(|c| if c == '\t' { ' ' } else { c });
    let text: String = plain.filter(|c| !perbuck_core::printable::steers(*c)).take(VALUE).collect();
    (!text.is_empty()).then_some(text)
}

/// The word in square brackets, or the only word.
pub(crate) fn chosen(line: &str) -> Option<String> {
    let bracketed = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word.to_owned());
    bracketed.or_else(|| (line.split_whitespace().count() == 1).then(|| line.trim().to_owned()))
}

/// Numbers of a list of the kernel: `0-3,8`. What is no number is left out.
pub(crate) fn cpu_list(text: &str) -> Vec<u32> {
    /// More than any machine has; a list of a file must not fill the memory.
    const MOST: u32 = 1 << 14;
    let mut numbers = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            numbers.extend(first..=last.min(MOST));
        }
    }
    numbers.into_iter().collect()
}

/// The same list as the kernel writes it; the numbers must rise.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for n in numbers {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*n) => *last = *n,
            _ => parts.push((*n, *n)),
        }
    }
    let text = |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.into_iter().map(text).collect::<Vec<_>>().join(",")
}

/// A text with its square brackets replaced; others than those that [`Tree::unpacked`] knows stay.
fn filled(text: &str, number: Option<u32>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let known = after.split_once(']').and_then(|(word, end)| Some((filling(word, number)?, end)));
        match known {
            Some((word, end)) => {
                out.push_str(&word);
                rest = end;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn filling(word: &str, number: Option<u32>) -> Option<String> {
    if let Some((text, times)) = word.rsplit_once('*') {
        let times = times.parse::<u32>().ok().filter(|n| *n <= 4096)?;
        return Some((0..times).map(|i| text.replace('#', &i.to_string())).collect::<Vec<_>>().join(" "));
    }
    let (number, offset) = (i64::from(number?), word.strip_prefix('n')?);
    let offset = if offset.is_empty() { 0 } else { offset.parse::<i64>().ok()? };
    number.checked_add(offset).map(|n| n.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "A comment.\n== a/cpu[0-1]/list\n[n],[n+2]\n== a/cpu10/list\n10\n== b *0-1\nn: [n]\n\n== c\n[CPU#*2] x\n[0*3]\n\
        == d\nalways [madvise] never\n\n== b\nend\n";

    #[test]
    fn a_machine_is_written_down_as_one_text() {
        let tree = Tree::unpacked(TEXT);
        assert_eq!(tree.line("a/cpu1/list").as_deref(), Some("1,3"));
        assert_eq!(tree.names("a"), ["cpu0", "cpu1", "cpu10"]);
        assert_eq!(tree.text("b").as_deref(), Some("n: 0\n\nn: 1\n\nend\n"));
        assert_eq!(tree.text("c").as_deref(), Some("CPU0 CPU1 x\n0 0 0\n"));
        assert_eq!(tree.chosen("d").as_deref(), Some("madvise"));
        assert_eq!((tree.line("e"), tree.number::<u32>("a/cpu10/list")), (None, Some(10)));
    }

    #[test]
    fn a_folder_is_read_as_files_are() {
        let tree = Tree::running();
        assert!(tree.names("proc/self").contains(&"stat".to_owned()));
        assert!(tree.text("proc/self/stat").is_some_and(|text| text.len() > 10));
        assert!(tree.start_of("proc/self/maps", 64).is_some_and(|text| text.len() <= 64));
        assert_eq!((tree.line("no/such/file"), tree.names("no/such/folder")), (None, Vec::new()));
    }

    proptest! {
        #[test]
        fn lists_keep_their_numbers(numbers in prop::collection::btree_set(0_u32..2000, 0..60)) {
            let numbers: Vec<u32> = numbers.into_iter().collect();
            prop_assert_eq!(cpu_list(&ranges(&numbers)), numbers);
        }

        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,200}", list in "[-0-9, ]{0,40}", archive in "(== [a-z/\\[\\]0-9 *-]{0,20}\n|[\\[\\]n0-9*+-]{0,20}\n){0,10}") {
            Tree::unpacked(&text);
            Tree::unpacked(&archive);
            cpu_list(&list);
            chosen(&text);
            prop_assert!(value(&text).is_none_or(|v| v.chars().count() <= VALUE));
        }
    }
}
