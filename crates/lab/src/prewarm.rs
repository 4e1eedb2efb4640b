//! Reading the data of a stage into its servers' memory before a trial (`prewarm`), until the servers' own counters say that they are there.

use std::time::{Duration, Instant};

use perbuck_core::run_record::Prewarmed;
use perbuck_core::study::Prewarm;
use perbuck_load::driver::{BYTES_READ, PAGES_READ};

use crate::counters::differences;
use crate::error::{ErrorKind, LabError};
use crate::progress::{Progress, clock_text};
use crate::stage::Stage;

/// How often the data are read at most. What the third pass still reads from disk, every other one would read, too.
const PASSES: u32 = 3;

/// Reads the data until a pass reads nothing from disk, or three have.
pub(crate) fn run(stage: &Stage, what: Prewarm, progress: &mut dyn Progress) -> Result<Prewarmed, LabError> {
    let Stage { title, server, dialect, .. } = stage;
    let began = Instant::now();
    let mut refused = None;
    if let Some(sql) = dialect.before_scans() {
        // Where this user may not run it, less is read into memory.
        match server.execute("preparing to read its data into memory", sql) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            prepared => refused = prepared.err().map(|error| format!("{sql} was refused: {}", error.words().0)),
        }
    }
    let lists: Vec<String> = stage.tables.iter().map(|table| dialect.scans(table, what == Prewarm::Indexes)).collect();
    let mut done = Prewarmed { what: what.word().to_owned(), passes: 0, took_ns: 0, pages_read: None, bytes_read: None };
    let mut before = server.counters()?;
    while done.passes < PASSES {
        done.passes += 1;
        let pass = done.passes;
        server.scan(&lists, &mut |table, of| {
            progress.passing(&format!(
                "{title}: prewarm, pass {pass}: reading table {table} of {of}, {}",
                clock_text(began.elapsed())
            ));
        })?;
        let after = server.counters()?;
        let rise = differences(&before, &after, 0);
        let counted = |name: &str| rise.get(name).and_then(|n| u64::try_from(*n).ok());
        (done.pages_read, done.bytes_read) = (counted(PAGES_READ), counted(BYTES_READ));
        before = after;
        // Without a counter another pass would tell no more.
        if done.pages_read.is_none_or(|pages| pages == 0) {
            break;
        }
    }
    let took = began.elapsed();
    done.took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    tell(title, &done, (took, refused.as_deref()), progress);
    Ok(done)
}

fn tell(title: &str, done: &Prewarmed, (took, refused): (Duration, Option<&str>), progress: &mut dyn Progress) {
    let passes = if done.passes == 1 { "1 pass".to_owned() } else { format!("{} passes", done.passes) };
    let took = format!("{passes}, {:.1} s", took.as_secs_f64());
    let end = match (done.pages_read, done.bytes_read) {
        (None, _) => "the server does not count what it reads from disk".to_owned(),
        (Some(0), _) => "the last pass read nothing from disk".to_owned(),
        (Some(pages), bytes) => {
            let read =
                bytes.map_or_else(|| format!("{pages} pages"), |bytes| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)));
            let scan = format!("a scan reads {read} from disk each time ({took})");
            progress.alert(&match refused {
                Some(refused) => format!(
                    "{title}: {scan}; {refused}. Let an administrator run it: without it a scan leaves little of a large table in memory"
                ),
                None => format!("{title}: the data do not fit in memory: {scan}"),
            });
            return;
        }
    };
    progress.line(&format!("{title}: prewarm of {}: {took}; {end}", done.what));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Said(Vec<String>);

    impl Progress for Said {
        fn line(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }
        fn alert(&mut self, text: &str) {
            self.0.push(format!("! {text}"));
        }

        fn passing(&mut self, _text: &str) {}
    }

    #[test]
    fn a_prewarm_says_whether_the_data_are_in_memory() {
        let told_with = |passes, pages_read, bytes_read, refused| {
            let mut said = Said::default();
            let done = Prewarmed { what: "tables".to_owned(), passes, took_ns: 0, pages_read, bytes_read };
            tell("arm, small", &done, (Duration::from_millis(1500), refused), &mut said);
            said.0.remove(0)
        };
        let told = |passes, pages_read, bytes_read| told_with(passes, pages_read, bytes_read, None);
        let held = "arm, small: prewarm of tables: 2 passes, 1.5 s; the last pass read nothing from disk";
        assert_eq!(told(2, Some(0), Some(0)), held);
        let fits_not = "! arm, small: the data do not fit in memory: a scan reads 94.5 MiB from disk each time (3 passes, 1.5 s)";
        assert_eq!(told(3, Some(6050), Some(99_123_200)), fits_not);
        let blocks = "! arm, small: the data do not fit in memory: a scan reads 9 pages from disk each time (3 passes, 1.5 s)";
        assert_eq!(told(3, Some(9), None), blocks);
        let refused = told_with(3, Some(9), None, Some("CREATE EXTENSION x was refused: no right"));
        assert!(
            refused.contains("each time (3 passes, 1.5 s); CREATE EXTENSION x was refused: no right. Let an administrator"),
            "{refused}"
        );
        let unchecked = "arm, small: prewarm of tables: 1 pass, 1.5 s; the server does not count what it reads from disk";
        assert_eq!(told(1, None, None), unchecked);
    }
}
