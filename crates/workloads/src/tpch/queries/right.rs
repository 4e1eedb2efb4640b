//! The scales whose right answers to the values of validation are known.

use super::Answer;
use crate::tpch::{QUERIES, Scale};

/// Of scale 0.01, computed by another database (see the file).
const SMALL: &str = include_str!("answers/answers-0.01.txt");

/// Whether the right answers of a scale are known.
pub(in crate::tpch) fn known(scale: Scale) -> bool {
    [Scale::SMALLEST, Scale::hundredths(100)].contains(&scale)
}

/// The right answers with the values of validation, query by query: at scale 1 the official ones (2.3.1); none where they are not known.
///
/// # Errors
/// That the text of an answer is damaged.
pub(in crate::tpch) fn right_answers(scale: Scale) -> Result<Vec<Answer>, String> {
    match scale {
        _ if !known(scale) => Ok(Vec::new()),
        Scale::SMALLEST => Answer::parse_all(SMALL),
        _ => (1..=QUERIES).map(Answer::official).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_answers_of_two_scales_are_known() {
        for (hundredths, count) in [(1, QUERIES), (100, QUERIES), (10, 0), (1000, 0)] {
            let answers = right_answers(Scale::hundredths(hundredths)).unwrap();
            assert_eq!(answers.len(), count, "{hundredths}");
            assert!(answers.iter().map(Answer::number).eq(1..=count));
        }
    }
}
