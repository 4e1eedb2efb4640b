//! Only benchmarks: `cargo bench -p perbuck-engine-bench`.
