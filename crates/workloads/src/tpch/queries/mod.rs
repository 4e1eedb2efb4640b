//! The 22 queries: text, substitution parameters, order in a stream, and what a right answer is.

mod answers;
mod order;
mod right;
mod substitution;
mod text;

pub(in crate::tpch) use answers::{Answer, Difference, compare, digest};
pub(crate) use order::order;
pub(in crate::tpch) use right::{known, right_answers};
pub(in crate::tpch) use substitution::{Substitution, numbers};
pub(in crate::tpch) use text::statement;
