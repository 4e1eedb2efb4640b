//! Expressions of `\set`, `\if` and `\elif`.

mod evaluate;
mod function;
mod parse;
mod tokens;

#[cfg(test)]
mod tests;

pub(super) use evaluate::Context;
use function::Function;
pub(super) use parse::parse;

use super::value::Value;
use super::variables::Slot;

/// An expression, checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Constant(Value),
    Variable(Slot),
    Call(Function, Box<[Expression]>),
    /// Conditions, each with its value, and the value where none holds.
    Case(Box<[(Expression, Expression)]>, Box<Expression>),
}
