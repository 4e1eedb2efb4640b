//! Ids drawn by perbuck beside ids drawn by the real sysbench 1.0.20: 10⁶ of each law from fixed seeds, compared id by id by
//! a chi-square test of two samples at 0.1 %. Zipfian is not in 1.0.20; like all others it has its test against the closed
//! form beside its code.

use std::process::Command;

use crate::common::both::{Words, options};
use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;

const DRAWS: u32 = 1_000_000;

/// Prints how often each id of 1 to DRAWS_LAST came in DRAWS draws by `--rand-type`.
const SCRIPT: &str = r#"
function event()
   local last, seen = tonumber(os.getenv("DRAWS_LAST")), {}
   for id = 1, last do seen[id] = 0 end
   for _ = 1, tonumber(os.getenv("DRAWS")) do
      local id = sysbench.rand.default(1, last)
      seen[id] = seen[id] + 1
   end
   for id = 1, last do print("drawn", id, seen[id]) end
end
"#;

/// What the real program draws of `1..=last` with these options, by id.
fn theirs(last: usize, words: Words<'_>) -> Vec<u32> {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("draws.lua");
    std::fs::write(&script, SCRIPT).unwrap();
    let given = words.iter().map(|(name, value)| format!("--{}={value}", name.replace('_', "-")));
    let run = Command::new("sysbench")
        .arg(&script)
        .args(given)
        .args(["--rand-seed=11", "--threads=1", "--events=1", "--time=0", "run"])
        .env("DRAWS_LAST", last.to_string())
        .env("DRAWS", DRAWS.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success() && text.contains("sysbench 1.0.20"), "{text}{}", String::from_utf8_lossy(&run.stderr));
    let count = |line: &str| line.strip_prefix("drawn\t")?.split_once('\t')?.1.parse().ok();
    let counts: Vec<u32> = text.lines().filter_map(count).collect();
    assert_eq!((counts.len(), counts.iter().sum::<u32>()), (last, DRAWS));
    counts
}

/// What we draw of them, each id by the stream of an operation of its own.
fn ours(last: usize, words: Words<'_>) -> Vec<u32> {
    let size = last.to_string();
    let ids = options("oltp_read_write", &[words, &[("table_size", size.as_str())]].concat()).ids();
    let mut counts = vec![0; last];
    for sequence in 0..u64::from(DRAWS) {
        counts[ids.draw(&mut OpRng::at(Seed(12), 3, sequence)) as usize - 1] += 1;
    }
    counts
}

/// Chi-square of two samples of the same size over the value that one of 1000 such pairs of one law exceeds. Neighbours
/// are taken together until both samples have ten draws between them.
fn difference(a: &[u32], b: &[u32]) -> f64 {
    let (mut sum, mut bins, mut pool) = (0.0, 0.0, (0.0, 0.0));
    for (a, b) in a.iter().zip(b) {
        pool = (pool.0 + f64::from(*a), pool.1 + f64::from(*b));
        if pool.0 + pool.1 >= 10.0 {
            let (a, b) = std::mem::take(&mut pool);
            sum += (a - b).powi(2) / (a + b);
            bins += 1.0;
        }
    }
    let freedom = f64::max(bins - 1.0, 1.0);
    // Wilson and Hilferty: the cube root of chi-square over its freedom is nearly normal.
    let ninth = 2.0 / (9.0 * freedom);
    sum / (freedom * (1.0 - ninth + 3.090 * ninth.sqrt()).powi(3))
}

#[test]
fn ids_are_drawn_as_by_the_real_program() {
    let cases: [(usize, Words<'_>); 11] = [
        (10_000, &[("rand_type", "uniform")]),
        (7, &[("rand_type", "uniform")]),
        (10_000, &[("rand_type", "gaussian")]),
        (999, &[("rand_type", "gaussian"), ("rand_spec_iter", "3")]),
        (10_000, &[("rand_type", "pareto")]),
        (1_234, &[("rand_type", "pareto"), ("rand_pareto_h", "0.35")]),
        (10_000, &[("rand_type", "special")]),
        (12_345, &[("rand_type", "special"), ("rand_spec_pct", "10"), ("rand_spec_res", "50")]),
        (1_000, &[("rand_type", "special"), ("rand_spec_iter", "1"), ("rand_spec_res", "0")]),
        (100, &[("rand_type", "special"), ("rand_spec_pct", "100"), ("rand_spec_res", "90")]),
        (10, &[("rand_type", "special")]),
    ];
    for (last, options) in cases {
        let same: Vec<(&str, &str)> = options.iter().copied().chain([("compat", "sysbench-1.0")]).collect();
        let difference = difference(&theirs(last, options), &ours(last, &same));
        assert!(difference < 1.0, "{last} ids, {options:?}: {difference} times the limit");
    }
}

#[test]
fn without_compat_the_whole_band_of_special_is_hot() {
    let special = [("rand_type", "special")];
    let (theirs, ours) = (theirs(10_000, &special), ours(10_000, &special));
    assert!(difference(&theirs, &ours) > 10.0);
    // Its band of 100 ids lies in the middle. Ours draws all of them alike; of theirs the first quarter is cold.
    let band = |counts: &[u32]| counts[4_955..4_970].iter().sum::<u32>();
    assert!(band(&ours) > 15 * 7_000 && band(&theirs) < 15 * 1_000, "{} {}", band(&ours), band(&theirs));
}

#[test]
fn the_comparison_sees_a_difference() {
    let other = [("rand_type", "pareto"), ("rand_pareto_h", "0.21")];
    assert!(difference(&ours(1_000, &[("rand_type", "pareto")]), &ours(1_000, &other)) > 1.0);
    let uniform = ours(1_000, &[("rand_type", "uniform")]);
    assert!(difference(&uniform, &ours(1_000, &[("rand_type", "uniform"), ("rand_scramble", "on")])) < 1.0);
}
