//! Whether the files beside records are those that the records name.

use std::path::Path;

use super::Findings;
use crate::sidecar::{Beside, Sort};

/// Says of the files of a sort whether they are those that the records name. No page embeds them, and no number of a page needs them,
/// so one that is missing is no difference.
pub(super) fn check(found: &mut Findings, all: &[(String, [(Sort, Beside); 2])], folder: &Path) {
    for sort in Sort::ALL {
        let word = sort.ending();
        let of_sort: Vec<(&String, &Beside)> = all
            .iter()
            .flat_map(|(name, both)| both.iter().filter(|(of, _)| *of == sort).map(move |(_, beside)| (name, beside)))
            .collect();
        let count = |of: &Beside| of_sort.iter().filter(|(_, beside)| *beside == of).count();
        for (name, beside) in &of_sort {
            if let Beside::Other(why) = beside {
                found.differs(format!("{word} {name}.{word}: {why}"));
            }
        }
        let (whole, missing, folder) = (count(&Beside::Whole), count(&Beside::Missing), folder.display());
        if whole > 0 {
            found.held(format!("{whole} files of {word} in {folder} are those that the records name"));
        }
        if missing > 0 {
            found.held(format!(
                "{missing} records in {folder} name files of {word} that are not there: no number of the page needs them"
            ));
        }
    }
}
