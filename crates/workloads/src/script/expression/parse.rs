//! Reads an expression, with the precedence of operators that pgbench documents.

use perbuck_core::problem::nearest;

use super::function::{Function, MOST};
use super::tokens::{Token, tokens};
use super::{Expression, Value};
use crate::script::variables::Names;

/// Parentheses, calls and signs within each other at most.
const DEEPEST: u32 = 100;
/// Words and signs of an expression at most: as many operators may be within each other, and each takes room on the stack.
const LONGEST: usize = 1000;

/// How tightly operators bind, the loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Is,
    Comparison,
    Bits,
    Sum,
    Product,
    Sign,
}

impl Level {
    /// The next tighter one.
    fn tighter(self) -> Self {
        match self {
            Self::Or => Self::And,
            Self::And => Self::Not,
            Self::Not => Self::Is,
            Self::Is => Self::Comparison,
            Self::Comparison => Self::Bits,
            Self::Bits => Self::Sum,
            Self::Sum => Self::Product,
            Self::Product | Self::Sign => Self::Sign,
        }
    }
}

/// Reads the expression of a command; names that it mentions are added.
pub(in crate::script) fn parse(text: &str, names: &mut Names) -> Result<Expression, String> {
    let tokens = tokens(text)?;
    if tokens.len() > LONGEST {
        return Err(format!("the expression has {} words and signs, and {LONGEST} are the most", tokens.len()));
    }
    let mut reader = Reader { tokens, at: 0, depth: 0, names };
    let expression = reader.expression(Level::Or)?;
    match reader.next() {
        None => Ok(expression),
        Some(token) => Err(unexpected(Some(token))),
    }
}

struct Reader<'a, 'n> {
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: u32,
    names: &'n mut Names,
}

fn unexpected(token: Option<Token<'_>>) -> String {
    match token {
        None => "the expression ends too early".to_owned(),
        Some(Token::Sign(sign)) => format!("unexpected `{sign}`"),
        Some(Token::Word(word)) => format!("unexpected `{word}`"),
        Some(Token::Variable(name)) => format!("unexpected `:{name}`"),
        Some(Token::Int(value)) => format!("unexpected number {value}"),
        Some(Token::TooLarge) => "bigint constant overflow: 9223372036854775808".to_owned(),
        Some(Token::Double(value)) => format!("unexpected number {value}"),
    }
}

fn call<const N: usize>(function: Function, arguments: [Expression; N]) -> Expression {
    Expression::Call(function, Box::new(arguments))
}

fn not(expression: Expression) -> Expression {
    call(Function::Not, [expression])
}

impl<'a> Reader<'a, '_> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    fn next(&mut self) -> Option<Token<'a>> {
        self.at += 1;
        self.tokens.get(self.at - 1).copied()
    }

    /// Takes a keyword, if it is next.
    fn takes(&mut self, keyword: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(keyword));
        self.at += usize::from(is_next);
        is_next
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Sign(found)) if found == sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn needs(&mut self, keyword: &str) -> Result<(), String> {
        if self.takes(keyword) { Ok(()) } else { Err(format!("{}, where {keyword} was expected", unexpected(self.peek()))) }
    }

    fn needs_sign(&mut self, sign: &str) -> Result<(), String> {
        if self.takes_sign(sign) { Ok(()) } else { Err(format!("{}, where `{sign}` was expected", unexpected(self.peek()))) }
    }

    /// The operator that is next, if it binds at least so tightly.
    fn operator(&mut self, level: Level) -> Option<(Level, &'static str)> {
        let found = match self.peek()? {
            Token::Sign(sign @ ("<" | ">" | "=" | "<=" | ">=" | "<>" | "!=")) => (Level::Comparison, sign),
            Token::Sign(sign @ ("|" | "#" | "&" | "<<" | ">>")) => (Level::Bits, sign),
            Token::Sign(sign @ ("+" | "-")) => (Level::Sum, sign),
            Token::Sign(sign @ ("*" | "/" | "%")) => (Level::Product, sign),
            Token::Word(word) => {
                let known =
                    [(Level::Or, "or"), (Level::And, "and"), (Level::Is, "is"), (Level::Is, "isnull"), (Level::Is, "notnull")];
                *known.iter().find(|(_, keyword)| word.eq_ignore_ascii_case(keyword))?
            }
            _ => return None,
        };
        (found.0 >= level).then(|| {
            self.at += 1;
            found
        })
    }

    fn expression(&mut self, level: Level) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("the expression is nested more than {DEEPEST} deep"));
        }
        let mut left = self.prefix()?;
        // Comparisons have no order among themselves: `1 < 2 < 3` is an error.
        let mut compared = false;
        while let Some((of, sign)) = self.operator(level) {
            if of == Level::Is {
                left = self.tested(left, sign)?;
                continue;
            }
            if of == Level::Comparison && std::mem::replace(&mut compared, true) {
                return Err(format!("unexpected `{sign}`: compare with parentheses"));
            }
            let right = self.expression(of.tighter())?;
            left = joined(sign, left, right);
        }
        self.depth -= 1;
        Ok(left)
    }

    /// What `IS`, `ISNULL` or `NOTNULL` says of an expression.
    fn tested(&mut self, tested: Expression, sign: &str) -> Result<Expression, String> {
        let is = |value| call(Function::Is, [tested, Expression::Constant(value)]);
        match sign {
            "isnull" => return Ok(is(Value::Null)),
            "notnull" => return Ok(not(is(Value::Null))),
            _ => {}
        }
        let negated = self.takes("not");
        let value = match self.next() {
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("null") => Value::Null,
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("true") => Value::Bool(true),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("false") => Value::Bool(false),
            other => return Err(format!("{}, where NULL, TRUE or FALSE was expected", unexpected(other))),
        };
        Ok(if negated { not(is(value)) } else { is(value) })
    }

    fn prefix(&mut self) -> Result<Expression, String> {
        if self.takes("not") {
            return self.expression(Level::Not).map(not);
        }
        if self.takes_sign("~") {
            let operand = self.expression(Level::Sum)?;
            return Ok(call(Function::BitXor, [operand, Expression::Constant(Value::Int(-1))]));
        }
        if self.takes_sign("+") {
            return self.expression(Level::Sign);
        }
        if self.takes_sign("-") {
            if self.peek() == Some(Token::TooLarge) {
                self.at += 1;
                return Ok(Expression::Constant(Value::Int(i64::MIN)));
            }
            let operand = self.expression(Level::Sign)?;
            return Ok(call(Function::Subtract, [Expression::Constant(Value::Int(0)), operand]));
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Expression, String> {
        match self.next() {
            Some(Token::Int(value)) => Ok(Expression::Constant(Value::Int(value))),
            Some(Token::Double(value)) => Ok(Expression::Constant(Value::Double(value))),
            Some(Token::Variable(name)) => Ok(Expression::Variable(self.names.slot(name))),
            Some(Token::Sign("(")) => {
                let within = self.expression(Level::Or)?;
                self.needs_sign(")")?;
                Ok(within)
            }
            Some(Token::Word(word)) => self.word(word),
            other => Err(unexpected(other)),
        }
    }

    fn word(&mut self, word: &str) -> Result<Expression, String> {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        if is("null") {
            return Ok(Expression::Constant(Value::Null));
        }
        if is("true") || is("false") {
            return Ok(Expression::Constant(Value::Bool(is("true"))));
        }
        if is("case") {
            return self.case();
        }
        if self.takes_sign("(") { self.arguments(word) } else { Err(unexpected(Some(Token::Word(word)))) }
    }

    /// The rest of a call whose parenthesis was opened.
    fn arguments(&mut self, name: &str) -> Result<Expression, String> {
        let Some((function, wanted)) = Function::named(name) else {
            let near = nearest(&name.to_ascii_lowercase(), Function::names())
                .map_or(String::new(), |n| format!(": did you mean `{n}`?"));
            return Err(format!("unexpected function name \"{name}\"{near}"));
        };
        let mut all = Vec::new();
        if !self.takes_sign(")") {
            loop {
                all.push(self.expression(Level::Or)?);
                if self.takes_sign(")") {
                    break;
                }
                self.needs_sign(",")?;
            }
        }
        if all.len() > MOST {
            return Err(format!("too many function arguments, maximum is {MOST}"));
        }
        if wanted.most == MOST && all.is_empty() {
            return Err(format!("at least one argument expected, in function \"{name}\""));
        }
        if !(wanted.least..=wanted.most).contains(&all.len()) {
            return Err(format!("unexpected number of arguments ({}) for function \"{name}\"", all.len()));
        }
        if wanted.seeded && all.len() < wanted.most {
            all.push(Expression::Variable(self.names.slot("default_seed")));
        }
        Ok(Expression::Call(function, all.into()))
    }

    fn case(&mut self) -> Result<Expression, String> {
        let mut branches = Vec::new();
        self.needs("when")?;
        loop {
            let condition = self.expression(Level::Or)?;
            self.needs("then")?;
            branches.push((condition, self.expression(Level::Or)?));
            if !self.takes("when") {
                break;
            }
        }
        let otherwise = if self.takes("else") { self.expression(Level::Or)? } else { Expression::Constant(Value::Null) };
        self.needs("end")?;
        Ok(Expression::Case(branches.into(), Box::new(otherwise)))
    }
}

/// Two operands with the operator between them.
fn joined(sign: &str, left: Expression, right: Expression) -> Expression {
    let (function, swapped) = match sign {
        "or" => (Function::Or, false),
        "and" => (Function::And, false),
        "<" => (Function::Less, false),
        ">" => (Function::Less, true),
        "<=" => (Function::LessOrEqual, false),
        ">=" => (Function::LessOrEqual, true),
        "=" => (Function::Equal, false),
        "<>" | "!=" => (Function::NotEqual, false),
        "|" => (Function::BitOr, false),
        "#" => (Function::BitXor, false),
        "&" => (Function::BitAnd, false),
        "<<" => (Function::BitsUp, false),
        ">>" => (Function::BitsDown, false),
        "+" => (Function::Add, false),
        "-" => (Function::Subtract, false),
        "*" => (Function::Multiply, false),
        "/" => (Function::Divide, false),
        _ => (Function::Modulo, false),
    };
    call(function, if swapped { [right, left] } else { [left, right] })
}
