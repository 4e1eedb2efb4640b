//! What an article says at two places must be the same.

use super::{Check, Ground};
use crate::study::Said;

/// One check for each thing that the study has from several places.
pub(super) fn of_statements(ground: &Ground<'_>) -> Vec<Check> {
    let one = |said: &Said| {
        let same = said.at.windows(2).all(|pair| pair[0].1 == pair[1].1);
        let all: Vec<String> = said.at.iter().map(|(source, text)| format!("{text} ({source})")).collect();
        let found = all.join(", ");
        Check {
            text: format!("{}, the same at each place", said.what),
            sentence: format!("The article differs with itself on {}: {found}.", said.what),
            found,
            holds: same.into(),
            how: "each place must say the same".to_owned(),
            weight: said.weight,
        }
    };
    ground.study.audit.said.iter().map(one).collect()
}
