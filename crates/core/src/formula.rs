//! The formulas of an audit: decimal numbers, `+ − × ÷`, names of other numbers in brackets, and a few functions.
//!
//! ```text
//! 60 * [month arm us-west-2]
//! percent(result('small', 'arm', 300) / result('small', 'x86', 300) - 1)
//! ```

use crate::exact::Exact;

/// A formula, read.
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    /// A number.
    Number(Exact),
    /// Another number or a given number, by its name.
    Name(String),
    /// A function of words and formulas.
    Call(String, Vec<Argument>),
    /// Two formulas joined.
    Binary(Operator, Box<Formula>, Box<Formula>),
    /// The negative of a formula.
    Minus(Box<Formula>),
}

/// What stands between the brackets of a function.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A word in quotes.
    Word(String),
    /// A formula.
    Formula(Formula),
}

/// What joins two formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

/// How deep brackets may stand in brackets, and the longest formula in bytes; both far above what an article needs.
const DEEPEST: usize = 60;
const LONGEST: usize = 4_000;

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// What was found at which character and what would have been right.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("the formula has {} bytes, above {LONGEST}", text.len()));
        }
        let mut reader = Reader { text, at: 0, depth: 0 };
        let formula = reader.sum()?;
        match reader.peek() {
            None => Ok(formula),
            Some(found) => Err(reader.wrong(&format!("`{found}`"), "the end, or one of + - * /")),
        }
    }

    /// Whether a function of that name is in it.
    pub fn calls(&self, name: &str) -> bool {
        self.functions().iter().any(|(function, _)| *function == name)
    }

    /// The functions in it with what stands between their brackets, in the order of the text.
    pub fn functions(&self) -> Vec<(&str, &[Argument])> {
        match self {
            Self::Number(_) | Self::Name(_) => Vec::new(),
            Self::Minus(inner) => inner.functions(),
            Self::Binary(_, a, b) => [a.functions(), b.functions()].concat(),
            Self::Call(function, arguments) => {
                let inner =
                    arguments.iter().filter_map(|a| if let Argument::Formula(f) = a { Some(f.functions()) } else { None });
                std::iter::once((function.as_str(), arguments.as_slice())).chain(inner.flatten()).collect()
            }
        }
    }

    /// The names in brackets, each once, in the order of the text.
    pub fn names(&self) -> Vec<&str> {
        fn collect<'f>(formula: &'f Formula, found: &mut Vec<&'f str>) {
            match formula {
                Formula::Number(_) => {}
                Formula::Name(name) if found.contains(&name.as_str()) => {}
                Formula::Name(name) => found.push(name),
                Formula::Minus(inner) => collect(inner, found),
                Formula::Binary(_, a, b) => [a, b].into_iter().for_each(|f| collect(f, found)),
                Formula::Call(_, arguments) => arguments.iter().for_each(|a| match a {
                    Argument::Word(_) => {}
                    Argument::Formula(f) => collect(f, found),
                }),
            }
        }
        let mut found = Vec::new();
        collect(self, &mut found);
        found
    }
}

/// Reads from left to right; × and ÷ bind before + and −, and equals from the left.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn wrong(&self, found: &str, right: &str) -> String {
        let character = self.text[..self.at].chars().count() + 1;
        format!("at character {character} of `{}` stands {found}; expected {right}", self.text)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The next character that is no blank.
    fn peek(&mut self) -> Option<char> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn need(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) {
            return Ok(());
        }
        let found = shown(self.peek());
        Err(self.wrong(&found, &format!("`{wanted}`")))
    }

    fn sum(&mut self) -> Result<Formula, String> {
        self.chain([('+', Operator::Plus), ('-', Operator::Minus)], Self::product)
    }

    fn product(&mut self) -> Result<Formula, String> {
        self.chain([('*', Operator::Times), ('/', Operator::Over)], Self::factor)
    }

    /// Parts that operators join, from the left.
    fn chain(
        &mut self,
        operators: [(char, Operator); 2],
        part: fn(&mut Self) -> Result<Formula, String>,
    ) -> Result<Formula, String> {
        let mut left = part(self)?;
        while let Some((_, operator)) = operators.into_iter().find(|(sign, _)| self.take(*sign)) {
            left = Formula::Binary(operator, Box::new(left), Box::new(part(self)?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Formula, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("another bracket or sign", &format!("at most {DEEPEST} within each other")));
        }
        let read = self.one();
        self.depth -= 1;
        read
    }

    fn one(&mut self) -> Result<Formula, String> {
        match self.peek() {
            Some('-') if self.take('-') => self.factor().map(|f| Formula::Minus(Box::new(f))),
            Some('(') if self.take('(') => {
                let inner = self.sum()?;
                self.need(')').map(|()| inner)
            }
            Some('[') => self.between('[', ']').map(Formula::Name),
            Some(c) if c.is_ascii_digit() => {
                let number = self.run(|c| c.is_ascii_digit() || c == '.');
                Exact::parse(number).map(|(value, _)| Formula::Number(value))
            }
            Some(c) if c.is_ascii_alphabetic() => {
                let name = self.run(|c| c.is_ascii_alphanumeric() || c == '_').to_owned();
                let arguments = if self.take('(') { self.arguments()? } else { Vec::new() };
                Ok(Formula::Call(name, arguments))
            }
            other => Err(self.wrong(&shown(other), "a number, a [name], a function or a bracket")),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Argument>, String> {
        let mut found = Vec::new();
        if self.take(')') {
            return Ok(found);
        }
        loop {
            found.push(match self.peek() {
                Some('\'') => Argument::Word(self.between('\'', '\'')?),
                _ => Argument::Formula(self.sum()?),
            });
            if !self.take(',') {
                self.need(')')?;
                return Ok(found);
            }
        }
    }

    fn between(&mut self, open: char, close: char) -> Result<String, String> {
        self.need(open)?;
        let Some(length) = self.rest().find(close) else {
            return Err(self.wrong("no end of a name", &format!("`{close}` after it")));
        };
        let inner = self.rest()[..length].trim().to_owned();
        self.at += length + close.len_utf8();
        Ok(inner)
    }

    fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c: char| !belongs(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }
}

fn shown(found: Option<char>) -> String {
    found.map_or("the end".to_owned(), |c| format!("`{c}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn products_bind_before_sums_and_from_the_left() {
        let number = |n| Box::new(Formula::Number(Exact::whole(n)));
        let product = Formula::Binary(Operator::Times, number(2), number(3));
        let expected = Formula::Binary(Operator::Plus, number(1), Box::new(product));
        assert_eq!(Formula::parse(" 1 + 2*3 ").unwrap(), expected);
        let left = Formula::Binary(Operator::Minus, number(9), number(4));
        assert_eq!(Formula::parse("9 - 4 - 1").unwrap(), Formula::Binary(Operator::Minus, Box::new(left), number(1)));
    }

    #[test]
    fn names_are_found_once_and_in_order() {
        let formula = Formula::parse("[b] / mean([a], [b], result('w', 'c', 300))").unwrap();
        assert_eq!(formula.names(), ["b", "a"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_character() {
        for (text, expected) in [
            ("1 +", "at character 4 of `1 +` stands the end"),
            ("(1", "expected `)`"),
            ("[a", "expected `]` after it"),
            ("1 2", "at character 3 of `1 2` stands `2`"),
            ("1.2.3", "not a decimal number"),
            ("f('a'", "expected `)`"),
            ("@", "stands `@`"),
        ] {
            let told = Formula::parse(text).unwrap_err();
            assert!(told.contains(expected), "{text}: {told}");
        }
        assert!(Formula::parse(&"(".repeat(3_000)).unwrap_err().contains("at most 60"));
        assert!(Formula::parse(&"1".repeat(5_000)).unwrap_err().contains("5000 bytes"));
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "\\PC{0,60}") {
            let _ = Formula::parse(&text);
        }

        #[test]
        fn nothing_of_the_grammar_panics(text in "[-+*/(),'0-9a-z\\[\\]. ]{0,40}") {
            let _ = Formula::parse(&text);
        }
    }
}
