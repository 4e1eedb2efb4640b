//! Answers to password challenges ("Authentication Methods"). Nothing here prints or keeps a password.

use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use rsa::pkcs8::DecodePublicKey;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use perbuck_net::{Malformed, Parsed};

/// The methods that perbuck knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plugin {
    /// `mysql_native_password`: MariaDB's and TiDB's default.
    Native,
    /// `caching_sha2_password`: MySQL's default since 8.0.
    CachingSha2,
    /// `client_ed25519` of MariaDB.
    Ed25519,
    /// `unix_socket` of MariaDB: the operating system says who is at the other end of a socket in the file system.
    UnixSocket,
    /// `auth_socket`, MySQL's name for it.
    AuthSocket,
}

impl Plugin {
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        [Self::Native, Self::CachingSha2, Self::Ed25519, Self::UnixSocket, Self::AuthSocket]
            .into_iter()
            .find(|plugin| plugin.name() == name)
    }

    pub(crate) fn name(self) -> &'static [u8] {
        match self {
            Self::Native => b"mysql_native_password",
            Self::CachingSha2 => b"caching_sha2_password",
            Self::Ed25519 => b"client_ed25519",
            Self::UnixSocket => b"unix_socket",
            Self::AuthSocket => b"auth_socket",
        }
    }

    /// How many bytes of a challenge count; a NUL may follow.
    pub(crate) fn challenge_length(self) -> usize {
        match self {
            Self::Native | Self::CachingSha2 => 20,
            Self::Ed25519 => 32,
            Self::UnixSocket | Self::AuthSocket => 0,
        }
    }

    /// The answer to a challenge. Without a password the first two methods answer nothing; the third signs all the same.
    pub(crate) fn answer(self, password: &[u8], challenge: &[u8]) -> Vec<u8> {
        match self {
            Self::Native | Self::CachingSha2 if password.is_empty() => Vec::new(),
            Self::Native => native(password, challenge),
            Self::CachingSha2 => caching_sha2(password, challenge),
            Self::Ed25519 => ed25519(password, challenge),
            Self::UnixSocket | Self::AuthSocket => Vec::new(),
        }
    }
}

/// SHA1(password) XOR SHA1(challenge ‖ SHA1(SHA1(password))), "Native Password Authentication".
fn native(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let hash = Sha1::digest(password);
    let mask = Sha1::new().chain_update(challenge).chain_update(Sha1::digest(hash)).finalize();
    hash.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)) ‖ challenge), "Caching_sha2_password information".
fn caching_sha2(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let hash = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(hash)).chain_update(challenge).finalize();
    hash.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// An Ed25519 signature of the challenge, where the hash of the password of any length stands for the hash of the
/// 32-byte seed ("Authentication Plugin - ed25519" of MariaDB). Signing libraries take a seed only, hence by hand.
fn ed25519(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let (secret, prefix) = ed25519_key(password);
    let public = EdwardsPoint::mul_base(&secret).compress();
    let nonce = hash_to_scalar(&[&prefix, challenge]);
    let commitment = EdwardsPoint::mul_base(&nonce).compress();
    let e = hash_to_scalar(&[commitment.as_bytes(), public.as_bytes(), challenge]);
    let mut signature = commitment.as_bytes().to_vec();
    signature.extend_from_slice((e * secret + nonce).as_bytes());
    signature
}

fn ed25519_key(password: &[u8]) -> (Scalar, [u8; 32]) {
    let hash = Sha512::digest(password);
    let (mut secret, mut prefix) = ([0; 32], [0; 32]);
    secret.copy_from_slice(&hash[..32]);
    prefix.copy_from_slice(&hash[32..]);
    // The public key is secret × base, which the reduction modulo the group's order does not change.
    (Scalar::from_bytes_mod_order(clamp_integer(secret)), prefix)
}

fn hash_to_scalar(parts: &[&[u8]]) -> Scalar {
    let mut hash = Sha512::new();
    for part in parts {
        hash.update(part);
    }
    Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
}

/// The password for the eyes of the server that has the private key: RSA-OAEP of (password ‖ NUL) XOR challenge.
/// Keys beyond 4096 bits are refused by the library, so that a server cannot keep us busy with one.
pub(crate) fn rsa_encrypt(password: &[u8], challenge: &[u8], key_pem: &[u8]) -> Parsed<Vec<u8>> {
    let unreadable = Malformed("the public key for the password cannot be used");
    let pem = std::str::from_utf8(key_pem).map_err(|_| unreadable)?;
    let key = RsaPublicKey::from_public_key_pem(pem.trim()).map_err(|_| unreadable)?;
    if challenge.is_empty() {
        return Err(Malformed("the password challenge is empty"));
    }
    let mut masked: Vec<u8> = password.iter().chain(&[0]).zip(challenge.iter().cycle()).map(|(p, c)| p ^ c).collect();
    let encrypted = key.encrypt(&mut rsa::rand_core::OsRng, Oaep::new::<Sha1>(), &masked);
    masked.fill(0);
    encrypted.map_err(|_| Malformed("the public key is too short for the password"))
}

#[cfg(test)]
mod tests {
    use rsa::RsaPrivateKey;
    use rsa::pkcs8::{EncodePublicKey, LineEnding};

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// The vectors come from another implementation of the formulas (Python's hashlib).
    #[test]
    fn answers_are_those_of_the_formulas() {
        let challenge: Vec<u8> = (1..=20).collect();
        assert_eq!(hex(&Plugin::Native.answer(b"password", &challenge)), "c17d6009a5cb47e59f7483fcf05553bbbf7dd0d6");
        let sha2 = "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9";
        assert_eq!(hex(&Plugin::CachingSha2.answer(b"secret", &challenge)), sha2);
        // Without a password nothing is answered.
        assert!([Plugin::Native, Plugin::CachingSha2].iter().all(|plugin| plugin.answer(b"", &challenge).is_empty()));
    }

    /// The server's side of the check: it stores the double hash.
    #[test]
    fn a_native_answer_opens_the_stored_hash() {
        let challenge: Vec<u8> = (1..=20).collect();
        let answer = Plugin::Native.answer(b"password", &challenge);
        let stored = Sha1::digest(Sha1::digest(b"password"));
        // mysql.user of that password, as every MySQL book prints it.
        assert_eq!(hex(&stored), "2470c0c06dee42fd1618bb99005adca2ec9d1e19");
        let mask = Sha1::new().chain_update(&challenge).chain_update(stored).finalize();
        let hash: Vec<u8> = answer.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(Sha1::digest(hash), stored);
    }

    /// MariaDB's documentation prints the public keys of these passwords, in base64 (here in hexadecimal).
    #[test]
    fn an_ed25519_answer_is_a_signature_under_mariadbs_public_key() {
        let (secret, _) = ed25519_key(b"secret");
        let public = EdwardsPoint::mul_base(&secret).compress();
        // ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY
        assert_eq!(hex(public.as_bytes()), "648814444520e4f56043a2ec9215e63be7992d2d270bc6dee873e36164786096");
        let challenge = [7; 32];
        let signature = Plugin::Ed25519.answer(b"secret", &challenge);
        let (commitment, s) = signature.split_at(32);
        // Verification by the equation: s·B = R + H(R ‖ A ‖ m)·A.
        let e = hash_to_scalar(&[commitment, public.as_bytes(), &challenge]);
        let s = Scalar::from_canonical_bytes(s.try_into().unwrap()).unwrap();
        let expected = EdwardsPoint::mul_base(&s) - e * public.decompress().unwrap();
        assert_eq!(expected.compress().as_bytes(), commitment);
    }

    #[test]
    fn the_rsa_answer_is_opened_with_the_private_key() {
        let private = RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 1024).unwrap();
        let pem = private.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
        let challenge: Vec<u8> = (1..=20).collect();
        let password = b"a password that is longer than the challenge";
        let answer = rsa_encrypt(password, &challenge, pem.as_bytes()).unwrap();
        let masked = private.decrypt(Oaep::new::<Sha1>(), &answer).unwrap();
        let opened: Vec<u8> = masked.iter().zip(challenge.iter().cycle()).map(|(m, c)| m ^ c).collect();
        assert_eq!(opened, [&password[..], &[0]].concat());
        assert!(rsa_encrypt(&[b'x'; 300], &challenge, pem.as_bytes()).is_err());
        assert!(rsa_encrypt(b"x", &challenge, b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n").is_err());
        assert!(rsa_encrypt(b"x", &[], pem.as_bytes()).is_err());
    }
}
