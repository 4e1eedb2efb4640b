//! What the parts of an operation cost by themselves, without kernel and database.
//!
//! Run: `cargo bench -p perbuck-engine-bench`. The caches are warm here. In a real run the database uses them too, and
//! what a statement costs then is in `bench/client-cpu`.
#![allow(missing_docs, reason = "the macros of criterion make items without documentation")]
#![allow(clippy::unwrap_used, reason = "a benchmark fails by it")]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use perbuck_core::arrivals::{Arrivals, RatePhase, Schedule};
use perbuck_core::histogram::Histogram;
use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_load::connection::{Connection, Counts};
use perbuck_load::driver::Session;
use perbuck_load::recorder::{Outcome, Recorder, Sample};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::window::Window;
use perbuck_mysql::MysqlSession;
use perbuck_mysql::canned::Answers;

fn latencies() -> Vec<u64> {
    let mut rng = OpRng::new(Seed(1));
    (0..4096).map(|_| (-(1.0 - rng.unit_f64()).ln() * 400_000.0) as u64 + 60_000).collect()
}

fn recorder(c: &mut Criterion) {
    let values = latencies();
    let mut histogram = Histogram::new();
    let mut i = 0;
    c.bench_function("histogram: one value", |b| {
        b.iter(|| {
            i = (i + 1) % values.len();
            histogram.record(black_box(values[i]));
        });
    });
    for open_loop in [false, true] {
        let window = Window { opens: perbuck_event::now(), length_ns: i64::MAX / 4, warmup_ns: 0 };
        let mut recorder = Recorder::new(window, &[window.length_ns], 1, open_loop, channel().0);
        let (mut i, mut now) = (0, 0);
        let name = if open_loop { "recorder: open loop, 3 histograms and the second's" } else { "recorder: closed loop" };
        c.bench_function(name, |b| {
            b.iter(|| {
                i = (i + 1) % values.len();
                now += 100;
                let finished_ns = now + values[i] as i64;
                let statements = Counts { read: 1, select: 1, ..Counts::default() };
                let outcome = Outcome::Committed;
                recorder.record(black_box(Sample {
                    kind: 0,
                    outcome,
                    intended_ns: now - 5_000,
                    started_ns: now,
                    finished_ns,
                    statements,
                    facts: [10, 0, 0, 0],
                }));
            });
        });
    }
}

fn generators(c: &mut Criterion) {
    let mut sequence = 0;
    c.bench_function("operation's own random stream", |b| {
        b.iter(|| {
            sequence += 1;
            OpRng::at(Seed(7), 3, black_box(sequence)).next_u64()
        });
    });
    for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
        let phase = RatePhase { length_ns: u64::MAX / 4, from_per_s: 50_000.0, to_per_s: 50_000.0 };
        let mut schedule = Schedule::new(&[phase], arrivals, Seed(1));
        c.bench_function(&format!("arrival, {arrivals:?}"), |b| b.iter(|| black_box(schedule.next())));
    }
}

/// Packets of an answer, numbered from 1.
fn packets(all: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for (payload, number) in all.iter().zip(1u8..=255) {
        out.extend_from_slice(&(payload.len() as u32 | u32::from(number) << 24).to_le_bytes());
        out.extend_from_slice(payload);
    }
    out
}

/// `c char(120)` as MariaDB describes it, and rows of it.
fn answers(rows: usize) -> Answers {
    let column: &[u8] = b"\x03def\x04test\x07sbtest1\x07sbtest1\x01c\x01c\x0c\x2d\x00\xe0\x01\x00\x00\xfe\x01\x10\x00\x00\x00";
    let row = [&[0u8, 0, 120][..], &[b'7'; 120]].concat();
    let end: &[u8] = b"\xfe\x00\x00\x22\x00\x00\x00";
    let mut executed: Vec<&[u8]> = vec![b"\x01", column];
    executed.extend(std::iter::repeat_n(&row[..], rows));
    executed.push(end);
    let prepared = packets(&[b"\x00\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00", column]);
    Answers { prepared, executed: packets(&executed), text: packets(&[b"\x00\x00\x00\x02\x00\x00\x00"]), at_once: usize::MAX }
}

/// Statements through connection, session and protocol, answered from memory.
fn protocol(c: &mut Criterion) {
    for (name, rows, keep) in
        [("point select, counted", 1, false), ("point select, kept", 1, true), ("100 rows, counted", 100, false)]
    {
        c.bench_function(&format!("protocol: {name}"), |b| b.iter_custom(|count| statements(count, rows, keep)));
    }
}

fn statements(count: u64, rows: usize, keep: bool) -> Duration {
    perbuck_event::block_on(async {
        let mut catalogue = Catalogue::default();
        let sql = "SELECT c FROM sbtest1 WHERE id = ?";
        let id: StatementId = if keep { catalogue.add_read(sql) } else { catalogue.add(Verb::Select, sql) };
        let mut session = MysqlSession::canned(answers(rows)).await.unwrap();
        session.lift_timeout();
        let mut connection = Connection::open(session, Arc::new(catalogue)).await.unwrap();
        connection.bind();
        let started = Instant::now();
        for i in 0..count {
            connection.bind().int(black_box(i as i64));
            connection.execute(id).await.unwrap();
            assert_eq!(connection.rows().len(), rows as u64);
        }
        started.elapsed()
    })
    .unwrap()
}

criterion_group!(benches, recorder, generators, protocol);
criterion_main!(benches);
