//! The text that all comments are cut from: 300 MiB of pseudo-English (4.2.2.10, 4.2.2.14), kept in a sixth of that.
//!
//! Every word stands after a space, and a comma or the end of a sentence after none. So the text is a sequence of tokens, each a word with the
//! space before it or a mark, and they are fewer than 256. A token takes one byte. For every [`BLOCK`] bytes of text an index says which
//! token they begin in, and where in it.

use std::sync::OnceLock;

use tpchgen::distribution::{Distribution, Distributions};

use super::stream::Stream;

/// How long the text is (4.2.2.14).
pub(super) const TEXT_BYTES: usize = 300 << 20;

/// Bytes of text for one number of the index. With fewer the index outgrows the caches of a processor, and to miss them twice costs more than to
/// walk over some tokens.
const BLOCK: usize = 256;

/// Bits of a number of the index that say how far into its token a block begins; the others number the token.
const OFFSET_BITS: u32 = 5;

/// The text lacks the space before its first word.
const LEADING_SPACE: usize = 1;

/// A token is shorter than this.
const TOKEN_BYTES: usize = 32;

/// A comment is shorter than this; the longest are those of `partsupp`.
const COMMENT_BYTES: usize = 256;

/// Rounded up, how many tokens the text has: memory that is asked for and not used costs nothing.
const TOKENS_ABOUT: usize = TEXT_BYTES / 6;

/// The text of a token. Its last byte is the length, so that a copy of whole words of the processor takes all there is.
#[derive(Debug, Clone, Copy)]
struct Token([u8; TOKEN_BYTES]);

impl Token {
    fn len(&self) -> usize {
        usize::from(self.0[TOKEN_BYTES - 1])
    }
}

/// The text as tokens.
#[derive(Debug)]
pub(super) struct Text {
    words: [Token; 256],
    tokens: Vec<u8>,
    index: Vec<u32>,
}

/// The text, made at the first use.
pub(super) fn text() -> &'static Text {
    static TEXT: OnceLock<Text> = OnceLock::new();
    TEXT.get_or_init(|| Writer::new().write())
}

impl Text {
    /// Appends `length` bytes of the text from position `at`.
    #[inline]
    pub(super) fn append(&self, out: &mut Vec<u8>, (at, length): (usize, usize)) {
        let from = at + LEADING_SPACE;
        let entry = self.index[from / BLOCK];
        let mut token = (entry >> OFFSET_BITS) as usize;
        let mut before = from % BLOCK + (entry & ((1 << OFFSET_BITS) - 1)) as usize;
        let mut word = self.word(token);
        while before >= word.len() {
            before -= word.len();
            token += 1;
            word = self.word(token);
        }
        // The first word may begin before the comment, the last one end after it.
        let mut buffer = [0; TOKEN_BYTES + COMMENT_BYTES + TOKEN_BYTES];
        let (start, mut to) = (TOKEN_BYTES, TOKEN_BYTES - before);
        loop {
            buffer[to..to + TOKEN_BYTES].copy_from_slice(&word.0);
            to += word.len();
            if to >= start + length {
                break;
            }
            token += 1;
            word = self.word(token);
        }
        out.extend_from_slice(&buffer[start..start + length]);
    }

    #[inline]
    fn word(&self, token: usize) -> &Token {
        &self.words[usize::from(self.tokens[token])]
    }
}

/// What is drawn from a distribution: each value as often as its weight.
fn weighted<T: Copy>(distribution: &Distribution, values: impl Iterator<Item = T>) -> Vec<T> {
    let mut drawn = Vec::new();
    for (position, value) in (0..distribution.size()).zip(values) {
        // Weights are those of the values up to this one.
        drawn.resize(distribution.get_weight(position) as usize, value);
    }
    drawn
}

/// The values of a distribution, each as often as its weight.
pub(super) fn values(distribution: &Distribution) -> Vec<&'static str> {
    weighted(distribution, distribution.get_values().iter().copied())
}

#[inline]
fn draw<T: Copy>(stream: &mut Stream, from: &[T]) -> T {
    from[stream.between(0, from.len() as i64 - 1) as usize]
}

/// Writes the text by the grammar of 4.2.2.14.
struct Writer {
    stream: Stream,
    words: Vec<Token>,
    sentences: Vec<&'static str>,
    noun_phrases: Vec<&'static str>,
    verb_phrases: Vec<&'static str>,
    nouns: Vec<u8>,
    verbs: Vec<u8>,
    adjectives: Vec<u8>,
    adverbs: Vec<u8>,
    articles: Vec<u8>,
    auxiliaries: Vec<u8>,
    prepositions: Vec<u8>,
    terminators: Vec<u8>,
    comma: u8,
    tokens: Vec<u8>,
    index: Vec<u32>,
    /// Bytes of text so far, with the space before the first word.
    length: usize,
}

impl Writer {
    fn new() -> Self {
        let all = Distributions::static_default();
        let mut words = Vec::new();
        let mut tokens = |distribution: &Distribution, before: &str, after: &str| {
            let first = words.len();
            words.extend(distribution.get_values().iter().map(|value| token(&[before, value, after])));
            weighted(distribution, first as u8..=u8::MAX)
        };
        let (nouns, verbs) = (tokens(all.nouns(), " ", ""), tokens(all.verbs(), " ", ""));
        let (adjectives, adverbs) = (tokens(all.adjectives(), " ", ""), tokens(all.adverbs(), " ", ""));
        let (articles, auxiliaries) = (tokens(all.articles(), " ", ""), tokens(all.auxiliaries(), " ", ""));
        let prepositions = tokens(all.prepositions(), " ", " the");
        let terminators = tokens(all.terminators(), "", "");
        let comma = words.len() as u8;
        words.push(token(&[","]));
        Self {
            // The seed of dbgen's own stream for the text, which no row takes a share of.
            stream: Stream::new(933_588_178, 0),
            words,
            sentences: values(all.grammar()),
            noun_phrases: values(all.noun_phrase()),
            verb_phrases: values(all.verb_phrase()),
            nouns,
            verbs,
            adjectives,
            adverbs,
            articles,
            auxiliaries,
            prepositions,
            terminators,
            comma,
            tokens: Vec::with_capacity(TOKENS_ABOUT),
            index: Vec::with_capacity(TEXT_BYTES / BLOCK + 1),
            length: 0,
        }
    }

    fn write(mut self) -> Text {
        while self.length < TEXT_BYTES + LEADING_SPACE {
            self.sentence();
        }
        self.tokens.shrink_to_fit();
        let mut words = [Token([0; TOKEN_BYTES]); 256];
        words[..self.words.len()].copy_from_slice(&self.words);
        Text { words, tokens: self.tokens, index: self.index }
    }

    fn sentence(&mut self) {
        for part in draw(&mut self.stream, &self.sentences).bytes() {
            match part {
                b'N' => self.noun_phrase(),
                b'V' => self.verb_phrase(),
                b'P' => {
                    let preposition = draw(&mut self.stream, &self.prepositions);
                    self.push(preposition);
                    self.noun_phrase();
                }
                b'T' => {
                    let terminator = draw(&mut self.stream, &self.terminators);
                    self.push(terminator);
                }
                _ => {}
            }
        }
    }

    fn noun_phrase(&mut self) {
        for part in draw(&mut self.stream, &self.noun_phrases).bytes() {
            let token = match part {
                b'A' => draw(&mut self.stream, &self.articles),
                b'J' => draw(&mut self.stream, &self.adjectives),
                b'D' => draw(&mut self.stream, &self.adverbs),
                b'N' => draw(&mut self.stream, &self.nouns),
                b',' => self.comma,
                _ => continue,
            };
            self.push(token);
        }
    }

    fn verb_phrase(&mut self) {
        for part in draw(&mut self.stream, &self.verb_phrases).bytes() {
            let token = match part {
                b'D' => draw(&mut self.stream, &self.adverbs),
                b'V' => draw(&mut self.stream, &self.verbs),
                b'X' => draw(&mut self.stream, &self.auxiliaries),
                _ => continue,
            };
            self.push(token);
        }
    }

    #[inline]
    fn push(&mut self, token: u8) {
        let start = self.length;
        self.length += self.words[usize::from(token)].len();
        // No token is as long as a block.
        let block = self.index.len() * BLOCK;
        if block < self.length {
            self.index.push((self.tokens.len() as u32) << OFFSET_BITS | (block - start) as u32);
        }
        self.tokens.push(token);
    }
}

/// A token of these texts, which are shorter together than it can hold.
fn token(texts: &[&str]) -> Token {
    let mut token = Token([0; TOKEN_BYTES]);
    let mut length = 0;
    for byte in texts.iter().flat_map(|text| text.bytes()) {
        token.0[length] = byte;
        length += 1;
    }
    token.0[TOKEN_BYTES - 1] = length as u8;
    token
}

#[cfg(test)]
mod tests {
    use perbuck_core::rng::OpRng;
    use perbuck_core::units::Seed;
    use tpchgen::text::TextPool;

    use super::*;

    fn cut(at: usize, length: usize) -> Vec<u8> {
        let mut out = b"before".to_vec();
        text().append(&mut out, (at, length));
        out.split_off(6)
    }

    #[test]
    fn the_text_is_that_of_dbgen() {
        let theirs = TextPool::get_or_init_default();
        assert_eq!(theirs.size() as usize, TEXT_BYTES);
        let expected = |at: usize, length: usize| theirs.text(at as i32, (at + length) as i32).as_bytes();
        let mut rng = OpRng::at(Seed(7), 0, 0);
        for _ in 0..20_000 {
            let length = rng.between(1, 198) as usize;
            let at = rng.between(0, (TEXT_BYTES - length) as i64) as usize;
            assert_eq!(cut(at, length), expected(at, length), "{length} at {at}");
        }
        // Both ends, and every position around the edges of some blocks.
        for edge in [BLOCK, 1_000 * BLOCK, TEXT_BYTES / 2, TEXT_BYTES - 2 * BLOCK - 198] {
            for at in edge - BLOCK..=edge + 2 * BLOCK {
                assert_eq!((cut(at, 198), cut(at, 1)), (expected(at, 198).to_vec(), expected(at, 1).to_vec()), "at {at}");
            }
        }
        assert_eq!(cut(TEXT_BYTES - 198, 198), expected(TEXT_BYTES - 198, 198));
    }

    #[test]
    fn it_takes_a_sixth_of_its_length() {
        let text = text();
        let bytes = text.tokens.capacity() + 4 * text.index.capacity();
        assert!(bytes < TEXT_BYTES / 6, "{bytes}");
        assert!(text.tokens.len() < 1 << (32 - OFFSET_BITS) && TOKEN_BYTES == 1 << OFFSET_BITS && TOKEN_BYTES < BLOCK);
    }
}
