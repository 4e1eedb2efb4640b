//! Makes constants of the field numbers in `kvproto.proto`: a module for each package, in it one for each message.

use std::fmt::Write;
use std::{env, fs, path::Path};

/// `GetRegionByIDRequest` as `Get_Region_By_ID_Request`: what a name of Rust is made from.
fn with_underscores(name: &str) -> String {
    let bytes = name.as_bytes();
    let starts_word = |i: usize| {
        let after_small = bytes[i - 1].is_ascii_lowercase();
        let before_small = bytes.get(i + 1).is_some_and(u8::is_ascii_lowercase) && bytes[i - 1].is_ascii_uppercase();
        bytes[i].is_ascii_uppercase() && (after_small || before_small)
    };
    let mut out = String::new();
    for (i, letter) in name.char_indices() {
        if i > 0 && starts_word(i) {
            out.push('_');
        }
        out.push(letter);
    }
    out
}

fn main() {
    println!("cargo::rerun-if-changed=kvproto.proto");
    let proto = fs::read_to_string("kvproto.proto").expect("the definitions lie beside this file");
    // Messages that are open: the innermost has the fields. Those of a `oneof` belong to the message around it.
    let (mut open, mut messages, mut out) = (Vec::new(), Vec::<(String, String)>::new(), String::new());
    let mut write = |package: &str, messages: &mut Vec<(String, String)>| {
        if !package.is_empty() {
            writeln!(out, "/// Messages of `{package}.proto`.\npub mod {package} {{").expect("a text grows");
            messages.drain(..).for_each(|(name, fields)| {
                let module = with_underscores(&name).to_lowercase();
                writeln!(out, "/// Fields of `{name}`.\npub mod {module} {{\n{fields}}}").expect("a text grows");
            });
            out.push_str("}\n");
        }
    };
    let mut package = String::new();
    for line in proto.lines().map(|line| line.trim().trim_end_matches(';')) {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["package", next] => {
                write(&package, &mut messages);
                package = next.to_owned();
            }
            ["message" | "enum", name, "{"] => {
                open.push(messages.len());
                messages.push((name.to_owned(), String::new()));
            }
            ["oneof", _, "{"] => open.extend(open.last().copied()),
            ["}"] => drop(open.pop()),
            [.., field, "=", number] => {
                let fields = &mut messages[*open.last().expect("a field belongs to a message")].1;
                let name = with_underscores(field).to_uppercase();
                writeln!(fields, "/// `{field}`\npub const {name}: u32 = {number};").expect("a text grows");
            }
            _ => {}
        }
    }
    write(&package, &mut messages);
    let folder = env::var("OUT_DIR").expect("cargo names it");
    fs::write(Path::new(&folder).join("kvproto.rs"), out).expect("cargo's folder can be written");
}
