//! The kernels without Python and without a sampler, on every instruction set: `kernel/instruction set/vocabulary`.
//!
//! `cargo bench --features bench`; `scan` is the memory pass with a look at every score for NaN. Every answer is checked
//! before it is timed.

#![expect(clippy::disallowed_methods, reason = "what is right comes from elsewhere than what is tested")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sortition::kernels::available;
use sortition::kernels::bench::{Bench, NAMES, NEAR};

const VOCABULARIES: [usize; 3] = [32, 32_000, 151_936];

fn kernels(criterion: &mut Criterion) {
    for vocab in VOCABULARIES {
        let row = row(vocab);
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for name in NAMES {
            let mut group = criterion.benchmark_group(name);
            group.throughput(Throughput::Bytes(4 * vocab as u64));
            for set in available() {
                let mut bench = Bench::new(set, &row, max);
                bench.run(name, &row);
                check(name, &row, max, bench.answer(name));
                group.bench_function(format!("{}/{vocab}", set.name()), |b| {
                    b.iter(|| bench.run(name, black_box(&row)));
                });
            }
            group.finish();
        }
    }
}

/// Against the definition in `f64`.
fn check(name: &str, row: &[f32], max: f32, answer: f64) {
    let expected = match name {
        "scan" | "lane_maxima" => f64::from(max),
        "gather" | "count" => row.iter().map(|&x| f64::from(u8::from(x >= max - NEAR))).sum(),
        _ => row.iter().map(|&x| f64::from(x).exp()).sum::<f64>(),
    };
    assert!((answer - expected).abs() <= 1e-6 * expected.abs(), "{name}: {answer} instead of {expected}");
}

/// Sums of twelve uniform numbers, which is nearly normal.
fn row(vocab: usize) -> Vec<f32> {
    let mut state = 1_u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).expect("sixteen bits")) / 65_536.0
    };
    (0..vocab).map(|_| (0..12).map(|_| uniform()).sum::<f32>() - 6.0).collect()
}

criterion_group!(benches, kernels);
criterion_main!(benches);
