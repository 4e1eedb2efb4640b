//! Price files of a user: a whole list, or an overlay of rows that are put over a list.

use perbuck_core::problem::Problem;
use perbuck_core::toml_reader::{Located, TomlFile};

use crate::catalogue::find;
use crate::snapshot::{Listed, Machine, Region, Snapshot};
use crate::write;

/// Reads a price file. One that names a `base`, or that has no `name` of its own, is an overlay: its rows replace those of the
/// base, or of the bundled list `of_study`, and are added to the others. `None` as the text means that the file is a whole list as
/// it stands; else it is the text of the list that came out.
///
/// # Errors
/// Every problem of the file, in the order of its lines.
pub fn read_prices(file: &str, text: &str, of_study: Option<&str>) -> Result<(Snapshot, Option<String>), Vec<Problem>> {
    let Some(base) = base_of(file, text, of_study)? else { return Ok((Snapshot::read(file, text)?, None)) };
    let base = find(&base, "`base`", file)?;
    // A report is the same wherever its files lie, so only the last part of a path may stand in it.
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let list = base.overlaid(file, name, text)?;
    let text = write::write(&list);
    Ok((list, Some(text)))
}

/// The bundled list that an overlay belongs to; `None` for a file that is a whole list.
fn base_of(name: &str, text: &str, of_study: Option<&str>) -> Result<Option<Located<String>>, Vec<Problem>> {
    let file = TomlFile::parse(name, text.to_owned()).map_err(|p| vec![p])?;
    let root = file.root();
    if let Some(base) = root.text("base") {
        return Ok(Some(base));
    }
    if root.has("name") || root.has("base") {
        return Ok(None);
    }
    match of_study {
        Some(study) => Ok(Some(Located { value: study.to_owned(), line: 1 })),
        None => {
            let message = "the file names neither itself nor the list that its rows belong to".to_owned();
            let help = "add `base = \"aws-2026-07\"`; or, if it is a whole list, its own `name`".to_owned();
            Err(vec![Problem { file: name.to_owned(), line: 1, message, help }])
        }
    }
}

impl Snapshot {
    /// All machines of the list by their types, each once.
    pub(crate) fn machines(&self) -> impl Iterator<Item = (String, Machine)> {
        self.regions.iter().flat_map(|r| &r.instances).map(|i| (i.machine.name.clone(), i.machine.clone()))
    }

    /// This list with the rows of another one over it.
    pub(crate) fn with(&self, rows: Self) -> Self {
        let mut list = self.clone();
        list.name = rows.name;
        for region in rows.regions {
            match list.regions.iter_mut().find(|r| r.name == region.name) {
                Some(there) => there.take(region),
                None => list.regions.push(region),
            }
        }
        put(&mut list.listed, rows.listed, |a: &Listed, b| a.region == b.region && a.item == b.item);
        let priced = |region: &str, name: &str| {
            let region = list.regions.iter().find(|r| r.name == region);
            region.is_some_and(|r| r.instance(name).is_some() || r.volume(name).is_some())
        };
        list.missing.retain(|m| !priced(&m.region, &m.name));
        list.missing.extend(rows.missing);
        list
    }
}

impl Region {
    fn take(&mut self, rows: Self) {
        put(&mut self.instances, rows.instances, |a, b| a.machine.name == b.machine.name);
        put(&mut self.volumes, rows.volumes, |a, b| a.kind == b.kind);
        self.volume_snapshot = rows.volume_snapshot.or(self.volume_snapshot.take());
    }
}

/// Replaces the rows that are the same thing, and adds the others.
fn put<T>(all: &mut Vec<T>, rows: Vec<T>, same: impl Fn(&T, &T) -> bool) {
    for row in rows {
        match all.iter_mut().find(|there| same(there, &row)) {
            Some(there) => *there = row,
            None => all.push(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::overlay_of;
    use perbuck_core::units::MicroUsd;

    const ROWS: &str = r#"
schema = 1
base = "aws-2026-07"
as_of = "2026-11-02"

[[region]]
name = "us-west-2"
instance = [
  { type = "m7g.xlarge", usd_per_hour = 0.15, commitment = [{ name = "EDP", months = 12, usd_per_hour = 0.11 }] },
]

[[region.volume]]
kind = "fast"
usd_per_gb_month = 0.2
"#;

    #[test]
    fn rows_of_an_overlay_replace_and_add_and_the_rest_stays() {
        let (list, text) = read_prices("/home/me/mine.toml", ROWS, None).unwrap();
        assert_eq!(list.name, "aws-2026-07 with mine.toml");
        let region = list.region("us-west-2").unwrap();
        let own = region.instance("m7g.xlarge").unwrap();
        assert_eq!((own.usd_per_hour, own.commitments.len(), own.machine.vcpu), (MicroUsd(150_000), 1, 4));
        assert_eq!((own.origin.date.as_str(), own.origin.source.as_str()), ("2026-11-02", "mine.toml"));
        assert!(region.volume("fast").is_some() && region.volume("gp3").is_some(), "a kind is added");
        let other = list.region("us-east-1").unwrap().instance("m7g.xlarge").unwrap();
        assert_eq!(other.usd_per_hour, MicroUsd(163_200), "another region keeps its price");
        // What is stored is a whole list, and needs no base any more.
        let text = text.unwrap();
        let stored = Snapshot::read("prices.toml", &text).unwrap();
        assert_eq!((stored.name, stored.regions.len()), (list.name, list.regions.len()));
        assert_eq!(read_prices("prices.toml", &text, Some("gcp-2026-07")).unwrap().1, None, "a whole list is taken as it stands");
    }

    #[test]
    fn rows_without_a_base_belong_to_the_list_of_the_study() {
        let rows = ROWS.replace("base = \"aws-2026-07\"\n", "");
        assert_eq!(read_prices("mine.toml", &rows, Some("aws-2026-07")).unwrap().0.name, "aws-2026-07 with mine.toml");
        let problems = read_prices("mine.toml", &rows, None).unwrap_err();
        assert!(problems[0].help.contains("base = \"aws-2026-07\""), "{}", problems[0]);
        let wrong = ROWS.replace("aws-2026-07", "aws-2026-7");
        assert_eq!(read_prices("mine.toml", &wrong, None).unwrap_err()[0].line, 3);
    }

    #[test]
    fn a_row_that_was_missing_is_no_longer_said_to_be() {
        let rows = "schema = 1\nas_of = \"2026-11\"\n[[region]]\nname = \"eu-west-1\"\n[[region.volume]]\nkind = \"gp3\"\nusd_per_gb_month = 0.088\n";
        let (list, _) = read_prices("mine.toml", rows, Some("aws-2024-08")).unwrap();
        assert_eq!(list.why_missing("eu-west-1", "gp3"), None);
        assert!(list.why_missing("eu-west-1", "gp2").is_some());
        assert!(list.why_missing("eu-west-1", "r8g.large").unwrap().contains("not sold there"), "a size by its family");
    }

    #[test]
    fn rows_to_start_from_change_nothing_until_they_are_edited() {
        for b in crate::catalogue() {
            let list = Snapshot::read(b.name, b.text).unwrap();
            let (same, _) = read_prices("mine.toml", &overlay_of(&list, b.name), None).unwrap();
            assert_eq!(same.regions.len(), list.regions.len());
            for (now, before) in same.regions.iter().zip(&list.regions) {
                let prices = |r: &Region| r.instances.iter().map(|i| (i.usd_per_hour, i.origin.clone())).collect::<Vec<_>>();
                assert_eq!(prices(now), prices(before), "{}", b.name);
            }
        }
    }
}
