//! The words and signs of an expression.

use super::super::variables::name_length;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    Int(i64),
    /// 2⁶³, which only a minus before it makes a number.
    TooLarge,
    Double(f64),
    /// The name after a colon.
    Variable(&'a str),
    /// A keyword or a function.
    Word(&'a str),
    Sign(&'static str),
}

/// Longer ones before their beginnings.
const SIGNS: [&str; 20] =
    ["<=", ">=", "<>", "!=", "<<", ">>", "<", ">", "=", "+", "-", "*", "/", "%", "|", "#", "&", "~", "(", ")"];

/// All tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
    let (mut all, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() {
        let (token, length) = token(rest)?;
        all.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(all)
}

fn token(text: &str) -> Result<(Token<'_>, usize), String> {
    let first = text.chars().next().unwrap_or_default();
    if let Some(name) = text.strip_prefix(':') {
        let length = name_length(name);
        if length > 0 {
            return Ok((Token::Variable(&name[..length]), length + 1));
        }
    }
    if first.is_ascii_digit() || (first == '.' && text[1..].starts_with(|c: char| c.is_ascii_digit())) {
        return number(text);
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let length = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        return Ok((Token::Word(&text[..length]), length));
    }
    if first == ',' {
        return Ok((Token::Sign(","), 1));
    }
    let sign = SIGNS.iter().find(|sign| text.starts_with(**sign));
    sign.map(|sign| (Token::Sign(sign), sign.len())).ok_or_else(|| format!("unexpected character '{first}'"))
}

fn number(text: &str) -> Result<(Token<'_>, usize), String> {
    let digits = |from: usize| text[from..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |n| from + n);
    let (mut end, mut whole) = (digits(0), true);
    if text[end..].starts_with('.') {
        (end, whole) = (digits(end + 1), false);
    }
    if let Some(power) = text[end..].strip_prefix(['e', 'E']) {
        let signed = usize::from(power.starts_with(['+', '-']));
        if power[signed..].starts_with(|c: char| c.is_ascii_digit()) {
            (end, whole) = (digits(end + 1 + signed), false);
        }
    }
    let literal = &text[..end];
    let token = if whole {
        match literal.parse() {
            Ok(value) => Token::Int(value),
            Err(_) if literal.trim_start_matches('0') == "9223372036854775808" => Token::TooLarge,
            Err(_) => return Err(format!("bigint constant overflow: {literal}")),
        }
    } else {
        match literal.parse::<f64>() {
            Ok(value) if value.is_finite() => Token::Double(value),
            _ => return Err(format!("double constant overflow: {literal}")),
        }
    };
    Ok((token, end))
}
