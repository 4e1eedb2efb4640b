//! What `deny.toml` claims of perbuck's own code, held by a test.

use std::path::{Path, PathBuf};

/// What a private RSA key is made, read or used by; RUSTSEC-2023-0071 is about its use.
const PRIVATE: [&str; 4] = ["RsaPrivateKey", "pkcs1v15", "decrypt", "SigningKey"];

/// All files below a folder with that name or that ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found
}

/// The words of a private key in what comes before a file's tests.
fn private_uses(text: &str) -> Vec<&'static str> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    PRIVATE.into_iter().filter(|word| code.contains(word)).collect()
}

#[test]
fn rsa_only_encrypts_with_a_public_key() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifests = files(crates, "Cargo.toml");
    let users: Vec<_> = manifests.iter().filter(|m| std::fs::read_to_string(m).unwrap().contains("\nrsa = ")).collect();
    assert_eq!(users, [&crates.join("db/mysql/Cargo.toml")], "who uses the crate `rsa`");
    let sources = files(&crates.join("db/mysql/src"), ".rs");
    let rsa: Vec<_> = sources.iter().filter(|s| std::fs::read_to_string(s).unwrap().contains("rsa::")).collect();
    assert_eq!(rsa, [&crates.join("db/mysql/src/wire/auth.rs")], "where it is used");
    for source in &sources {
        let text = std::fs::read_to_string(source).unwrap();
        assert_eq!(private_uses(&text), Vec::<&str>::new(), "{}", source.display());
    }
    assert_eq!(private_uses("use rsa::RsaPrivateKey;\n#[cfg(test)]\nkey.decrypt()"), ["RsaPrivateKey"]);
}
