//! What the file of a program tells of its build: notes of its compiler, and instructions in its code.
//!
//! Code is searched for the bytes of an instruction. A class that is found is in the file, and need not ever be executed: a program may
//! choose at run time. A few bytes of data within the code can look like one. Libraries that the program loads are not searched, and of
//! PCLMULQDQ the form of AVX is not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use object::{Architecture, Object, ObjectSection, ReadCache, SectionKind};
use perbuck_core::run_record::Build;

/// Bytes of code that are in memory at once: the peak of the client's memory is recorded.
const PART: usize = 1 << 20;
/// Bytes of the longest pattern, less one: what one part shares with the next.
const OVERLAP: usize = 5;
/// Characters of the compiler's notes at most.
const COMMENT: usize = 200;

/// Device, inode, size and time of change of a file: a server is asked before each trial, and its program is read once.
type Identity = (u64, u64, u64, i64);

static SEEN: Mutex<BTreeMap<Identity, Build>> = Mutex::new(BTreeMap::new());

/// The build of the program that a process runs; nothing of it where its file cannot be read.
pub fn build_of(pid: u32) -> Build {
    // The link leads to the file that was started, also where its name now belongs to another one.
    File::open(format!("/proc/{pid}/exe")).and_then(|file| known(&file)).unwrap_or_default()
}

/// The same of the program in a file.
pub fn build_of_file(path: &Path) -> Build {
    File::open(path).and_then(|file| known(&file)).unwrap_or_default()
}

fn known(file: &File) -> io::Result<Build> {
    let meta = file.metadata()?;
    let identity = (meta.dev(), meta.ino(), meta.size(), meta.mtime_nsec() + meta.mtime() * 1_000_000_000);
    let seen = || SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(build) = seen().get(&identity) {
        return Ok(build.clone());
    }
    let build = build(file)?;
    seen().insert(identity, build.clone());
    Ok(build)
}

/// What an ELF file tells; nothing of another file.
fn build(file: &File) -> io::Result<Build> {
    let cache = ReadCache::new(file);
    let Ok(elf) = object::File::parse(&cache) else { return Ok(Build::default()) };
    let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let build_id = elf.build_id().ok().flatten().map(hex).filter(|id| !id.is_empty());
    let comment = elf.section_by_name(".comment").and_then(|s| s.data().ok().map(compiler)).filter(|text| !text.is_empty());
    let code = elf.sections().filter(|s| s.kind() == SectionKind::Text).filter_map(|s| s.file_range());
    let code: Vec<(u64, u64)> = code.collect();
    // Instructions of Arm are four bytes long and aligned.
    let (step, classes): (usize, &[Class]) = match elf.architecture() {
        Architecture::X86_64 => (1, &[("SSE4.2 CRC32", crc32_of_x86), ("PCLMULQDQ", carry_less_of_x86)]),
        Architecture::Aarch64 => (4, &[("CRC32", crc32_of_arm), ("LSE atomics", atomics_of_arm)]),
        _ => (1, &[]),
    };
    let instructions = if code.is_empty() { BTreeMap::new() } else { counted(file, &code, step, classes)? };
    Ok(Build { commit: None, compiler: comment, build_id, instructions })
}

/// The notes of all compilers that made parts of the program, each once.
fn compiler(comment: &[u8]) -> String {
    let texts = comment.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).trim().to_owned());
    let texts: BTreeSet<String> = texts.filter(|text| !text.is_empty()).collect();
    texts.into_iter().collect::<Vec<_>>().join("; ").chars().take(COMMENT).collect()
}

/// A class of instructions: its name, and whether the bytes that follow, at least one, begin with one of them.
type Class = (&'static str, fn(&[u8]) -> bool);

/// How often each class occurs in these ranges of a file.
fn counted(mut file: &File, ranges: &[(u64, u64)], step: usize, classes: &[Class]) -> io::Result<BTreeMap<String, u64>> {
    let mut counts = vec![0_u64; classes.len()];
    let mut part = Vec::with_capacity(PART + OVERLAP);
    for (start, size) in ranges {
        let mut at = 0;
        while at < *size {
            let length = (*size - at).min(PART as u64);
            file.seek(SeekFrom::Start(start + at))?;
            part.clear();
            let with_overlap = (length + OVERLAP as u64).min(*size - at);
            file.take(with_overlap).read_to_end(&mut part)?;
            for i in (0..part.len().min(length as usize)).step_by(step) {
                for (count, (_, is_one)) in counts.iter_mut().zip(classes) {
                    *count += u64::from(is_one(&part[i..]));
                }
            }
            at += length;
        }
    }
    Ok(classes.iter().map(|(name, _)| (*name).to_owned()).zip(counts).collect())
}

/// `F2 [REX] 0F 38 F0` and `F1`: CRC32 of SSE4.2.
fn crc32_of_x86(code: &[u8]) -> bool {
    matches!(code, [0xf2, 0x0f, 0x38, 0xf0 | 0xf1, ..] | [0xf2, 0x40..=0x4f, 0x0f, 0x38, 0xf0 | 0xf1, ..])
}

/// `66 [REX] 0F 3A 44`: PCLMULQDQ, of which fast checksums are made.
fn carry_less_of_x86(code: &[u8]) -> bool {
    matches!(code, [0x66, 0x0f, 0x3a, 0x44, ..] | [0x66, 0x40..=0x4f, 0x0f, 0x3a, 0x44, ..])
}

fn word_of_arm(code: &[u8]) -> Option<u32> {
    code.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// CRC32X and CRC32CX: `1001 1010 110m mmmm 010C 11nn nnnd dddd`.
fn crc32_of_arm(code: &[u8]) -> bool {
    word_of_arm(code).is_some_and(|word| word & 0xffe0_ec00 == 0x9ac0_4c00)
}

/// CAS, LDADD and its like, and SWP, of every size and order.
fn atomics_of_arm(code: &[u8]) -> bool {
    word_of_arm(code).is_some_and(|word| {
        word & 0x3fa0_7c00 == 0x08a0_7c00 || word & 0x3f20_8c00 == 0x3820_0000 || word & 0x3f20_fc00 == 0x3820_8000
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;

    /// A program of the machine's C compiler.
    fn compiled(name: &str, flags: &[&str]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("perbuck-build-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (source, program) = (folder.join("sum.c"), folder.join(name));
        // With the flag the compiler may use the instruction; without it the same sum is a loop.
        let text = "#include <stdio.h>\n\
            #if defined(__SSE4_2__)\nstatic unsigned add(unsigned c, unsigned v) { return __builtin_ia32_crc32si(c, v); }\n\
            #elif defined(__ARM_FEATURE_CRC32)\n#include <arm_acle.h>\n\
            static unsigned add(unsigned c, unsigned v) { return __crc32d(c, v); }\n\
            #else\nstatic unsigned add(unsigned c, unsigned v) { return c * 31 + v; }\n#endif\n\
            int main(int n, char **v) { printf(\"%u\\n\", add((unsigned)n, (unsigned)v[0][0])); return 0; }\n";
        std::fs::write(&source, text).unwrap();
        let mut cc = Command::new("cc");
        let made = cc.args(flags).args(["-O2", "-Wl,--build-id"]).arg("-o").arg(&program).arg(&source).status().unwrap();
        assert!(made.success());
        program
    }

    fn of(path: &Path) -> Build {
        build(&File::open(path).unwrap()).unwrap()
    }

    #[test]
    fn other_flags_of_the_compiler_are_found() {
        let (flag, class) = match std::env::consts::ARCH {
            "aarch64" => ("-march=armv8-a+crc", "CRC32"),
            _ => ("-msse4.2", "SSE4.2 CRC32"),
        };
        let (plain, fast) = (of(&compiled("plain", &[])), of(&compiled("fast", &[flag])));
        assert_eq!((plain.instructions[class], fast.instructions[class] > 0), (0, true), "{fast:?}");
        assert!(plain.build_id.is_some() && plain.build_id != fast.build_id);
        assert!(plain.compiler.as_ref().is_some_and(|text| text.contains("GCC") || text.contains("clang")), "{plain:?}");
        assert_eq!(plain.compiler, fast.compiler);
        assert_eq!(of(&compiled("plain", &[])), plain, "the same source and flags give the same build");
    }

    #[test]
    fn the_program_of_a_process_is_read_and_what_is_no_program_tells_nothing() {
        let own = build_of(std::process::id());
        assert!(own.compiler.is_some() && !own.instructions.is_empty(), "{own:?}");
        assert_eq!(build_of(std::process::id()), own);
        assert_eq!(build_of(u32::MAX), Build::default());
        let text = std::env::temp_dir().join(format!("perbuck-no-program-{}", std::process::id()));
        std::fs::write(&text, "no program").unwrap();
        assert_eq!(of(&text), Build::default());
        std::fs::remove_file(&text).unwrap();
    }

    #[test]
    fn encodings_are_those_of_the_manuals() {
        for (code, is_one) in [
            (&[0xf2, 0x0f, 0x38, 0xf1, 0xc1][..], true),
            (&[0xf2, 0x48, 0x0f, 0x38, 0xf1, 0xc1], true),
            (&[0xf2, 0x0f, 0x38, 0xf2, 0xc1], false),
            (&[0x0f, 0x38, 0xf1, 0xc1], false),
        ] {
            assert_eq!(crc32_of_x86(code), is_one, "{code:x?}");
        }
        assert!(carry_less_of_x86(&[0x66, 0x0f, 0x3a, 0x44, 0xc1, 0x00]));
        let arm = |word: u32| word.to_le_bytes();
        // crc32cx w0, w1, x2; crc32b w0, w1, w2 is of bytes.
        assert!(crc32_of_arm(&arm(0x9ac2_5c20)) && !crc32_of_arm(&arm(0x1ac2_4020)));
        // casal x0, x1, [x2]; ldaddal w0, w1, [x2]; swpal w0, w1, [x2].
        assert!([0xc8e0_fc41, 0xb8e0_0041, 0xb8e0_8041].iter().all(|word| atomics_of_arm(&arm(*word))));
        // ldr x0, [x1, x2]; ldapr w0, [x1]; stxr w0, x1, [x2]; ldar x0, [x1].
        assert!(![0xf862_6820, 0xb8bf_c020, 0xc800_7c41, 0xc8df_fc20].iter().any(|word| atomics_of_arm(&arm(*word))));
    }
}
