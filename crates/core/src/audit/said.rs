//! What an article says at two places must be the same.

use super::{Check, Ground};
use crate::study::Said;

/// One check for each thing that the study has from several places.
pub(super) fn of_places(ground: &Ground<'_>) -> Vec<Check> {
    let one = |said: &Said| {
        let same = said.at.windows(2).all(|pair| pair[0].1 == pair[1].1);
        let places: Vec<String> = said.at.iter().map(|(place, text)| format!("{text} ({place})")).collect();
        let found = places.join(", ");
        Check {
            text: format!("{}, the same at each place", said.what),
            sentence: format!("The article does not say one thing of {}: {found}.", said.what),
            found,
            holds: same.into(),
            how: "each place must say the same".to_owned(),
            weight: said.weight,
        }
    };
    ground.study.audit.said.iter().map(one).collect()
}
