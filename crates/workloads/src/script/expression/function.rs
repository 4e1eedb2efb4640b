//! The functions and operators of expressions.

/// What is computed from arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::script) enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    BitsUp,
    BitsDown,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Not,
    And,
    Or,
    /// Whether two values are the same, NULL and types included.
    Is,
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// How many arguments a function takes: from, to, and whether the last of them is a seed with a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) seeded: bool,
}

/// The most arguments of any call.
pub(super) const MOST: usize = 16;

const fn exactly(count: usize) -> Arguments {
    Arguments { least: count, most: count, seeded: false }
}

const fn with_seed(count: usize) -> Arguments {
    Arguments { least: count, most: count + 1, seeded: true }
}

const SOME: Arguments = Arguments { least: 1, most: MOST, seeded: false };

const NAMED: [(&str, Function, Arguments); 21] = [
    ("abs", Function::Abs, exactly(1)),
    ("debug", Function::Debug, exactly(1)),
    ("double", Function::Double, exactly(1)),
    ("exp", Function::Exp, exactly(1)),
    ("greatest", Function::Greatest, SOME),
    ("hash", Function::HashMurmur2, with_seed(1)),
    ("hash_fnv1a", Function::HashFnv1a, with_seed(1)),
    ("hash_murmur2", Function::HashMurmur2, with_seed(1)),
    ("int", Function::Int, exactly(1)),
    ("least", Function::Least, SOME),
    ("ln", Function::Ln, exactly(1)),
    ("mod", Function::Modulo, exactly(2)),
    ("permute", Function::Permute, with_seed(2)),
    ("pi", Function::Pi, exactly(0)),
    ("pow", Function::Power, exactly(2)),
    ("power", Function::Power, exactly(2)),
    ("random", Function::Random, exactly(2)),
    ("random_exponential", Function::RandomExponential, exactly(3)),
    ("random_gaussian", Function::RandomGaussian, exactly(3)),
    ("random_zipfian", Function::RandomZipfian, exactly(3)),
    ("sqrt", Function::Sqrt, exactly(1)),
];

impl Function {
    /// The function of that name, in letters of either case.
    pub(super) fn named(name: &str) -> Option<(Self, Arguments)> {
        let found = NAMED.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
        found.map(|(_, function, arguments)| (*function, *arguments))
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, ..)| *name)
    }
}
