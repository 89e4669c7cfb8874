//! Weights and their sums against `f64`, on every instruction set.

use super::{LENGTHS, noise, rows};
use crate::kernels::{BLOCK, Band, Base, Block, Bracket, ESTIMATE, Kernels, Part, ROUGH, active, available};

#[test]
fn sums_agree_with_float64() {
    for kernels in available() {
        for (length, temperature) in LENGTHS.into_iter().flat_map(|length| [0.3, 1.0, 2.5].map(|t| (length, t))) {
            let row = noise(length, 11);
            let mut blocks = vec![Block::default(); length.div_ceil(BLOCK)];
            kernels.mass(&row, Base::new(temperature), &mut blocks);
            for (xs, block) in row.chunks(BLOCK).zip(&blocks) {
                let expected: f64 = xs.iter().map(|&x| (f64::from(x) / temperature).exp()).sum();
                let got = block.sum * f64::from(block.exponent).exp2();
                assert!((got / expected - 1.0).abs() < 2e-7, "{}: {got} instead of {expected}", kernels.name);
            }
            let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let mut from = blocks.clone();
            kernels.mass_from(&row, Base::new(temperature), max, f32::MIN, &mut from);
            let mut rough = blocks.clone();
            kernels.mass_from_rough(&row, Base::new(temperature), max, f32::MIN, &mut rough);
            let mut estimate = blocks.clone();
            kernels.estimate(&row, Base::new(temperature), max, &mut estimate);
            let sum = |block: &Block| block.sum * f64::from(block.exponent).exp2();
            let [mut read_rough, mut read_estimate] = [(); 2].map(|()| vec![Block::default(); blocks.len()]);
            assert!(!kernels.mass_rough(&row, Base::new(temperature), &mut read_rough));
            assert!(!kernels.mass_estimate(&row, Base::new(temperature), &mut read_estimate));
            for (at, exact) in blocks.iter().map(sum).enumerate() {
                assert_eq!(exact, sum(&from[at]), "{}", kernels.name);
                assert_eq!([blocks[at].max; 2], [&read_rough, &read_estimate].map(|read| read[at].max));
                for (got, limit) in [
                    (sum(&rough[at]), ROUGH),
                    (sum(&read_rough[at]), ROUGH),
                    (sum(&estimate[at]), ESTIMATE),
                    (sum(&read_estimate[at]), ESTIMATE),
                ] {
                    let error = (got - exact).abs() / got;
                    assert!(error <= limit, "{}: {got} for {exact}", kernels.name);
                }
            }
        }
    }
}

/// Alone, every weight between two powers of two, at the ends of what is covered and in the middle.
#[test]
fn estimates_are_within_their_bound() {
    for kernels in available() {
        let mut worst = 0.0_f64;
        for (temperature, start) in [(1.0, 0.0), (1.0, -20.0), (1.0, 22_000.0), (1.0, -22_000.0), (7.3, -90_000.0)] {
            let base = Base::new(temperature);
            for step in 0..4_000_u16 {
                let x = start - f32::from(step) * 0.001;
                let mut blocks = [Block { max: x, ..Block::default() }; 2];
                let [estimate, exact] = &mut blocks;
                kernels.estimate(&[x], base, x, std::slice::from_mut(estimate));
                kernels.mass_from(&[x], base, x, f32::MIN, std::slice::from_mut(exact));
                worst = worst.max((estimate.sum - exact.sum).abs() / estimate.sum);
                let mut read = [Block::default()];
                assert!(!kernels.mass_estimate(&[x], base, &mut read));
                assert_eq!(*estimate, read[0], "{} at {x}", kernels.name);
            }
        }
        // As far below the limit of a row as a part of it may lie, and as far below that as a score weighs anything.
        for step in 0..4_000_u16 {
            let (base, best) = (Base::new(1.0), -22_801.0);
            let x = best - f32::from(step) * 0.0217;
            let mut blocks = [Block::default(); 2];
            let [estimate, exact] = &mut blocks;
            let row = [vec![best], vec![x; BLOCK - 1]].concat();
            assert!(base.weighs(best) && !base.covers(best));
            assert!(!kernels.mass_estimate(&row, base, std::slice::from_mut(estimate)));
            assert!(!kernels.mass(&row, base, std::slice::from_mut(exact)));
            worst = worst.max((estimate.sum - exact.sum).abs() / estimate.sum);
        }
        assert!((0.9 * ESTIMATE..=ESTIMATE).contains(&worst), "{}: {worst}", kernels.name);
    }
}

/// However little the least of all scores lies below the best, once both are divided.
#[test]
fn what_is_impossible_weighs_nothing_in_an_estimate() {
    for kernels in available() {
        for (temperature, max) in
            [1.0, 1e36, 5e37, 1e38, 2e38, 1e45, 1e46, 1e300].map(|t| [(t, 0.0), (t, 3e38)]).concat()
        {
            let base = Base::new(temperature);
            if !base.covers(max) {
                continue;
            }
            let mut row = [f32::NEG_INFINITY; BLOCK - 3];
            row[7] = max;
            let mut blocks = [Block { max, ..Block::default() }; 2];
            let [estimate, exact] = &mut blocks;
            kernels.estimate(&row, base, max, std::slice::from_mut(estimate));
            kernels.mass_from(&row, base, max, f32::MIN, std::slice::from_mut(exact));
            let error = (estimate.sum - exact.sum).abs() / estimate.sum;
            assert!(error <= ESTIMATE, "{}: {error} at {temperature}", kernels.name);
        }
    }
}

/// The same of what is above a bracket, and of what is inside.
#[test]
fn a_bracket_parts_a_row_in_three() {
    for kernels in available() {
        for length in LENGTHS {
            check_bracket(kernels, &noise(length, 11));
        }
    }
}

fn check_bracket(kernels: &Kernels, row: &[f32]) {
    let (low, high) = (-0.5, 0.75);
    let base = Base::new(1.0);
    let sum = |xs: &[f32], from: f32| xs.iter().filter(|&&x| x >= from).map(|&x| f64::from(x).exp()).sum::<f64>();
    let near = |got: f64, expected: f64| {
        assert!((got - expected).abs() <= 3e-7 * expected, "{}: {got} for {expected}", kernels.name);
    };
    let unit = f64::from(base.exponent(1.0)).exp2();
    let inside: Vec<f32> = row.iter().copied().filter(|x| (low..high).contains(x)).collect();
    let mut blocks = vec![Block::default(); row.len().div_ceil(BLOCK)];
    let mut parts = vec![Part::default(); blocks.len()];
    let mut values = vec![0.0; row.len() + 16];
    let bracket = Bracket { low, high, max: 1.0 };
    for read in [Kernels::bracket, Kernels::bracket_exact] {
        read(kernels, row, base, bracket, &mut blocks, &mut parts, &mut values);
        assert_eq!(inside, values[..inside.len()]);
        for (xs, (block, part)) in row.chunks(BLOCK).zip(blocks.iter().zip(&parts)) {
            near(block.sum * unit, sum(xs, f32::MIN));
            near(part.above * unit, sum(xs, high));
        }
        for (xs, part) in (1..).map(|i| &row[..row.len().min(i * BLOCK)]).zip(&parts) {
            assert_eq!(xs.iter().filter(|x| (low..high).contains(x)).count(), part.end as usize);
        }
    }
    let mut kept: Vec<_> = parts.iter().map(|part| Block { sum: part.above, ..Block::default() }).collect();
    kernels.add_inside(&values, base, 1.0, 0.25, &parts, &mut kept);
    for (xs, block) in row.chunks(BLOCK).zip(&kept) {
        near(block.sum * unit, sum(xs, 0.25));
    }
}

/// The sums over a band's core, and what else is in the band; from ranges that overlap, are empty, or hold all.
#[test]
fn a_band_is_summed_in_its_core_and_taken_out_around_it() {
    let (all, none) = ([f32::MIN, f32::INFINITY], [0.5, 0.5]);
    let bands = [([-0.5, 0.25], [-4.0, 0.75]), (none, [-4.0, 0.75]), (all, all), (none, all), (none, none)];
    for row in LENGTHS.into_iter().flat_map(|length| [noise(length, 12), rows(length).swap_remove(1)]) {
        for (kernels, (core, all)) in available().flat_map(|kernels| bands.map(|band| (kernels, band))) {
            check_band(kernels, &row, Band { core, all });
        }
    }
}

fn check_band(kernels: &Kernels, row: &[f32], band: Band) {
    let base = Base::new(1.0);
    let max = 1.0;
    let is_in = |[low, high]: [f32; 2], x: f32| low <= x && x < high;
    let doubtful: Vec<f32> = row.iter().copied().filter(|&x| is_in(band.all, x) && !is_in(band.core, x)).collect();
    let core: Vec<f64> = row.iter().copied().filter(|&x| is_in(band.core, x)).map(f64::from).collect();
    let (mut values, mut indices) = (vec![0.0; row.len() + 16], vec![0; row.len() + 16]);
    let near = kernels.band(row, base, max, band, &mut values);
    assert_eq!((core.len(), doubtful.len()), (near.count, near.doubtful), "{}", kernels.name);
    assert_eq!(doubtful, values[..doubtful.len()], "{}", kernels.name);
    let unit = f64::from(base.exponent(max)).exp2();
    let mass: f64 = core.iter().map(|x| x.exp()).sum();
    let moments = core.iter().map(|x| x.exp() * (x - f64::from(max)));
    let (moment, size) = (moments.clone().sum::<f64>(), moments.map(f64::abs).sum::<f64>());
    assert!((near.mass * unit - mass).abs() <= 3e-7 * mass, "{}: {near:?} for {mass}", kernels.name);
    assert!((near.moment * unit - moment).abs() <= 3e-7 * size, "{}: {near:?} for {moment}", kernels.name);
    let mut blocks = vec![Block::default(); row.len().div_ceil(BLOCK)];
    kernels.scan(row, &mut blocks);
    let count = kernels.gather_between(row, &blocks, band.all, &mut values, &mut indices);
    let expected = (0_u32..).zip(row).filter(|&(_, &x)| is_in(band.all, x));
    let expected: (Vec<u32>, Vec<f32>) = expected.map(|(place, &x)| (place, x)).unzip();
    assert_eq!(expected, (indices[..count].to_vec(), values[..count].to_vec()), "{}", kernels.name);
}

/// The row is covered, but only by its best score; all others weigh nearly as much.
#[test]
fn parts_of_a_row_weigh_beyond_its_limit() {
    for kernels in available() {
        for temperature in [1e-4, 1.0, 3.0] {
            check_limit(kernels, temperature);
        }
    }
}

fn check_limit(kernels: &Kernels, temperature: f64) {
    let base = Base::new(temperature);
    #[expect(clippy::cast_possible_truncation, reason = "a score near the limit")]
    let limit = (-32_768.0 * temperature * std::f64::consts::LN_2) as f32;
    let (mut best, mut other) = (limit, limit * (1.0 + 1e-6));
    while !base.covers(best) {
        best = best.next_up();
    }
    while base.covers(other) {
        other = other.next_down();
    }
    let row: Vec<_> = [vec![best], vec![other; 3 * 4096]].concat();
    let expected: f64 = row.iter().map(|x| ((f64::from(*x) - f64::from(best)) / temperature).exp()).sum();
    let mut blocks = vec![Block::default(); row.len().div_ceil(BLOCK)];
    let mut out = vec![0.0; row.len()];
    kernels.mass(&row, base, &mut blocks);
    let sum: f64 = blocks.iter().map(|block| block.sum * f64::from(block.exponent + 32_768).exp2()).sum();
    let unit = (f64::from(best) / temperature * std::f64::consts::LOG2_E + 32_768.0).exp2();
    let error = (sum / unit / expected - 1.0).abs();
    assert!(error < 1e-6, "{}: {sum} for {expected} at {temperature}", kernels.name);
    kernels.mass_out(&row, base, &mut blocks, &mut out);
    assert!(out.iter().all(|&weight| weight > 0.0), "{} at {temperature}", kernels.name);
}

/// Every float in [-87, 0]: 1.1 billion of them take seconds with optimisation, minutes without. On other instruction sets than
/// the best, some of them.
#[test]
#[cfg_attr(debug_assertions, ignore = "walks a billion floats: run with --release")]
fn weights_are_within_two_units_in_the_last_place() {
    for kernels in available() {
        let worst = worst_weight(kernels, if std::ptr::eq(kernels, active()) { 1 } else { 61 });
        println!("{}: largest error: {worst} units in the last place", kernels.name);
        assert!(worst <= 2.0, "{}: {worst}", kernels.name);
    }
}

/// The largest error of every `step`-th float, in units in the last place.
fn worst_weight(kernels: &Kernels, step: usize) -> f64 {
    let base = Base::new(1.0);
    let mut floats = ((-0.0_f32).to_bits()..=(-87.0_f32).to_bits()).step_by(step).map(f32::from_bits);
    let mut worst = 0.0_f64;
    let (mut xs, mut out) = (Vec::new(), vec![0.0_f32; 4096]);
    loop {
        xs.clear();
        xs.extend(floats.by_ref().take(out.len()));
        if xs.is_empty() {
            return worst;
        }
        kernels.weights(&xs, base, 0.0, &mut out[..xs.len()]);
        for (&x, &w) in xs.iter().zip(&out) {
            let exact = f64::from(x).exp();
            let unit = f64::from_bits((exact.to_bits() >> 52) << 52) * f64::from(f32::EPSILON);
            worst = worst.max((f64::from(w) - exact).abs() / unit);
        }
    }
}
