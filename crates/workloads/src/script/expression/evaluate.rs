//! Computes an expression, without memory of its own.

use perbuck_core::rng::OpRng;

use super::function::{Function, MOST};
use super::{Expression, Value};
use crate::script::random;
use crate::script::value::Outcome;
use crate::script::variables::{Names, Variables};

/// What an expression is computed with.
pub(in crate::script) struct Context<'a> {
    pub(in crate::script) variables: &'a Variables,
    pub(in crate::script) names: &'a Names,
    pub(in crate::script) rng: &'a mut OpRng,
    /// Is told of what `debug()` is given.
    pub(in crate::script) debug: &'a dyn Fn(Value),
}

impl Expression {
    pub(in crate::script) fn evaluate(&self, context: &mut Context<'_>) -> Outcome<Value> {
        match self {
            Self::Constant(value) => Ok(*value),
            Self::Variable(slot) => context.variables.value(*slot, context.names),
            Self::Case(branches, otherwise) => {
                for (condition, value) in branches {
                    if condition.evaluate(context)?.holds() {
                        return value.evaluate(context);
                    }
                }
                otherwise.evaluate(context)
            }
            Self::Call(Function::And, arguments) => both(arguments, context, false),
            Self::Call(Function::Or, arguments) => both(arguments, context, true),
            Self::Call(function, arguments) => {
                let mut values = [Value::Null; MOST];
                let values = values.get_mut(..arguments.len()).unwrap_or_default();
                for (value, argument) in values.iter_mut().zip(arguments) {
                    *value = argument.evaluate(context)?;
                }
                called(*function, values, context)
            }
        }
    }
}

/// AND and OR: the second operand is computed only where the first does not decide. One that does is `decides`.
fn both(arguments: &[Expression], context: &mut Context<'_>, decides: bool) -> Outcome<Value> {
    let [left, right] = arguments else { return Err("two operands were expected".to_owned()) };
    let one = |value: Value| if value == Value::Null { Ok(None) } else { value.bool().map(Some) };
    let left = one(left.evaluate(context)?)?;
    if left == Some(decides) {
        return Ok(Value::Bool(decides));
    }
    let right = one(right.evaluate(context)?)?;
    Ok(match (left, right) {
        (_, Some(right)) if right == decides => Value::Bool(decides),
        (Some(_), Some(_)) => Value::Bool(!decides),
        _ => Value::Null,
    })
}

fn called(function: Function, values: &[Value], context: &mut Context<'_>) -> Outcome<Value> {
    match (function, values) {
        (Function::Is, [left, right]) => return Ok(Value::Bool(left == right)),
        (Function::Debug, [value]) => {
            (context.debug)(*value);
            return Ok(*value);
        }
        // Of NULL comes NULL.
        _ if values.contains(&Value::Null) => return Ok(Value::Null),
        _ => {}
    }
    match (function, values) {
        (Function::Pi, []) => Ok(Value::Double(std::f64::consts::PI)),
        (Function::Greatest | Function::Least, all) => extreme(all, function == Function::Greatest),
        (_, [one]) => of_one(function, *one),
        (_, [left, right]) => of_two(function, *left, *right, context),
        (_, [low, high, parameter]) => of_three(function, [*low, *high, *parameter], context),
        _ => Err("unexpected number of arguments".to_owned()),
    }
}

fn of_one(function: Function, value: Value) -> Outcome<Value> {
    Ok(match function {
        Function::Not => Value::Bool(!value.bool()?),
        Function::Int => Value::Int(value.int()?),
        Function::Double => Value::Double(value.double()?),
        Function::Abs => match value {
            Value::Int(v) => Value::Int(v.checked_abs().ok_or_else(|| out_of_range("abs"))?),
            other => Value::Double(other.double()?.abs()),
        },
        Function::Exp => Value::Double(value.double()?.exp()),
        Function::Ln => Value::Double(value.double()?.ln()),
        _ => Value::Double(value.double()?.sqrt()),
    })
}

fn of_two(function: Function, left: Value, right: Value, context: &mut Context<'_>) -> Outcome<Value> {
    match function {
        Function::Random => Ok(Value::Int(random::uniform(context.rng, left.int()?, right.int()?)?)),
        Function::Power => Ok(Value::Double(left.double()?.powf(right.double()?))),
        Function::HashFnv1a => Ok(Value::Int(random::fnv1a(left.int()?, right.int()?))),
        Function::HashMurmur2 => Ok(Value::Int(random::murmur2(left.int()?, right.int()?))),
        _ if left.is_double() || right.is_double() => of_doubles(function, left, right),
        _ => of_ints(function, left.int()?, right.int()?),
    }
}

fn of_doubles(function: Function, left: Value, right: Value) -> Outcome<Value> {
    let (l, r) = (left.double()?, right.double()?);
    Ok(match function {
        Function::Add => Value::Double(l + r),
        Function::Subtract => Value::Double(l - r),
        Function::Multiply => Value::Double(l * r),
        Function::Divide => Value::Double(l / r),
        Function::Equal => Value::Bool(l == r),
        Function::NotEqual => Value::Bool(l != r),
        Function::Less => Value::Bool(l < r),
        Function::LessOrEqual => Value::Bool(l <= r),
        // What is defined for whole numbers alone.
        _ => return of_ints(function, left.int()?, right.int()?),
    })
}

fn out_of_range(what: &str) -> String {
    format!("bigint {what} out of range")
}

fn of_ints(function: Function, l: i64, r: i64) -> Outcome<Value> {
    let whole = |value: Option<i64>, what: &str| value.map(Value::Int).ok_or_else(|| out_of_range(what));
    match function {
        Function::Add => whole(l.checked_add(r), "add"),
        Function::Subtract => whole(l.checked_sub(r), "sub"),
        Function::Multiply => whole(l.checked_mul(r), "mul"),
        Function::Divide | Function::Modulo if r == 0 => Err("division by zero".to_owned()),
        Function::Divide => whole(l.checked_div(r), "div"),
        Function::Modulo => Ok(Value::Int(l.wrapping_rem(r))),
        Function::BitAnd => Ok(Value::Int(l & r)),
        Function::BitOr => Ok(Value::Int(l | r)),
        Function::BitXor => Ok(Value::Int(l ^ r)),
        Function::BitsUp => Ok(Value::Int(l.wrapping_shl(r as u32))),
        Function::BitsDown => Ok(Value::Int(l.wrapping_shr(r as u32))),
        Function::Equal => Ok(Value::Bool(l == r)),
        Function::NotEqual => Ok(Value::Bool(l != r)),
        Function::Less => Ok(Value::Bool(l < r)),
        _ => Ok(Value::Bool(l <= r)),
    }
}

fn of_three(function: Function, [low, high, last]: [Value; 3], context: &mut Context<'_>) -> Outcome<Value> {
    let (low, high) = (low.int()?, high.int()?);
    let drawn = match function {
        Function::Permute => random::permute(low, high, last.int()?),
        Function::RandomExponential => random::exponential(context.rng, low, high, last.double()?),
        Function::RandomGaussian => random::gaussian(context.rng, low, high, last.double()?),
        _ => random::zipfian(context.rng, low, high, last.double()?),
    };
    drawn.map(Value::Int)
}

/// The largest or the smallest; floating where any of them is.
fn extreme(all: &[Value], largest: bool) -> Outcome<Value> {
    if all.iter().any(|value| value.is_double()) {
        let mut best = all.first().map_or(Ok(0.0), |value| value.double())?;
        for value in all {
            let value = value.double()?;
            best = if largest { best.max(value) } else { best.min(value) };
        }
        return Ok(Value::Double(best));
    }
    let mut best = all.first().map_or(Ok(0), |value| value.int())?;
    for value in all {
        let value = value.int()?;
        best = if largest { best.max(value) } else { best.min(value) };
    }
    Ok(Value::Int(best))
}
