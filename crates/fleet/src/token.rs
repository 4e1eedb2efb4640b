//! What coordinator and agents know, and no other program: it is made for a study, and proves each to the other.

use std::fmt;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Bytes of a token that perbuck makes.
const LENGTH: usize = 32;
/// A shorter one could be guessed: a false agent gets a proof by which it can try words.
const SHORTEST: usize = 32;

/// A token. It cannot be printed by accident.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// A new one, as the text of a file.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn made() -> Result<String, String> {
        let mut bytes = [0; LENGTH];
        SystemRandom::new().fill(&mut bytes).map_err(|_| "the system gives no random numbers".to_owned())?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The token of a text; white space around it is not part of it.
    ///
    /// # Errors
    /// A text that is too short to be secret.
    pub fn of(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() < SHORTEST {
            return Err(format!("a token has at least {SHORTEST} characters, and this one has {}", text.len()));
        }
        Ok(Self(text.as_bytes().to_vec()))
    }

    /// The proof of one side that it knows the token, on a connection that these bytes tell from every other.
    pub(crate) fn proof(&self, side: &str, connection: &[u8]) -> Vec<u8> {
        hmac::sign(&self.key(), &[side.as_bytes(), connection].concat()).as_ref().to_vec()
    }

    /// Whether that is such a proof, in a time that does not tell where it differs.
    pub(crate) fn proves(&self, side: &str, connection: &[u8], proof: &[u8]) -> bool {
        hmac::verify(&self.key(), &[side.as_bytes(), connection].concat(), proof).is_ok()
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }
}
