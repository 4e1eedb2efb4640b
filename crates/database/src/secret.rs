//! Passwords: a type that cannot be printed, serialised or compared by accident.

use std::fmt;

/// A password.
#[derive(Clone, Default)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Takes the bytes as they are; the caller strips the newline of a file.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Whether it is empty, which is to say that none was given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its bytes, for authentication alone.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        // Best effort: the compiler may elide it, and earlier copies of a grown Vec are out of reach.
        self.0.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(…)");
    }
}
