//! One suite over every instruction set that this machine has: right against plain `f64`, and equal to the last bit.

use super::{BLOCK, Base, Block, Kernels, available};

/// Around the lane count, around the block, primes, and a vocabulary.
const LENGTHS: [usize; 15] = [1, 2, 15, 16, 17, 31, 33, 67, 127, 511, 512, 513, 1031, 4099, 32_000];

/// Reproducible scores: a plain generator will do, as nothing depends on its quality.
fn noise(length: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            #[expect(clippy::cast_precision_loss, reason = "24 bits")]
            let unit = (state >> 40) as f32 / (1 << 24) as f32;
            unit * 30.0 - 20.0
        })
        .collect()
}

/// Ordinary rows, ties, holes, extremes and denormals.
fn rows(length: usize) -> Vec<Vec<f32>> {
    let mut holes = noise(length, 2);
    holes.iter_mut().step_by(3).for_each(|x| *x = f32::NEG_INFINITY);
    let mut tiny = noise(length, 3);
    for x in &mut tiny {
        *x *= 1e-40;
    }
    let mut far = noise(length, 4);
    far.iter_mut().step_by(2).for_each(|x| *x = f32::MIN);
    let rounded = noise(length, 5).into_iter().map(f32::round).collect();
    vec![noise(length, 1), holes, tiny, far, rounded, vec![0.0; length], vec![f32::NEG_INFINITY; length]]
}

/// Everything the kernels say of a row, as bits.
#[derive(Debug, PartialEq)]
struct Answer {
    scan: Vec<u32>,
    mass: Vec<(u32, i32, u64)>,
    rough: Vec<u64>,
    weights: Vec<u32>,
    moment: u64,
    gathered: (Vec<u32>, Vec<u32>),
    bracketed: (Vec<u64>, Vec<u64>, Vec<(u32, u32)>),
    position: Option<usize>,
    count: usize,
    spread: Vec<u64>,
    least: u32,
    written: Vec<Vec<u32>>,
}

fn bits(xs: &[f32]) -> Vec<u32> {
    xs.iter().map(|x| x.to_bits()).collect()
}

fn answer(kernels: &Kernels, xs: &[f32], temperature: f64) -> Answer {
    let base = Base::new(temperature);
    let mut blocks = vec![Block::default(); xs.len().div_ceil(BLOCK)];
    assert!(!(kernels.scan)(xs, &mut blocks));
    let scan = blocks.iter().map(|block| block.max.to_bits()).collect();
    let max = blocks.iter().fold(f32::NEG_INFINITY, |max, block| max.max(block.max));
    assert!(!(kernels.mass)(xs, base, &mut blocks));
    let mass = blocks.iter().map(|block| (block.max.to_bits(), block.exponent, block.sum.to_bits())).collect();
    assert!(!(kernels.mass_rough)(xs, base, &mut blocks));
    let rough = blocks.iter().map(|block| block.sum.to_bits()).collect();
    let finite = max.max(f32::MIN);
    let mut out = vec![0.0; xs.len()];
    let (mut weights, mut moment) = (Vec::new(), 0);
    if base.covers(finite) {
        (kernels.weights)(xs, base, finite, &mut out);
        weights = bits(&out);
        moment = (kernels.moment)(xs, base, finite).to_bits();
    }
    let threshold = (finite - 3.0).max(f32::MIN);
    let (mut values, mut indices) = (vec![0.0; xs.len() + 16], vec![0; xs.len() + 16]);
    let n = (kernels.gather)(xs, &blocks, threshold, &mut values, &mut indices);
    let mut written = Vec::new();
    let mut bracketed = (Vec::new(), Vec::new(), Vec::new());
    if base.covers(finite) {
        (kernels.mass_from)(xs, base, finite, threshold, &mut blocks);
        bracketed.0.extend(blocks.iter().map(|block| block.sum.to_bits()));
        (kernels.mass_from_rough)(xs, base, finite, threshold, &mut blocks);
        bracketed.0.extend(blocks.iter().map(|block| block.sum.to_bits()));
        let range = [(finite - 9.0).max(f32::MIN), threshold];
        let (mut inside, mut places) = (vec![0.0; xs.len() + 16], vec![0; xs.len() + 16]);
        let n = (kernels.bracket)(xs, base, finite, range, &mut blocks, &mut inside, &mut places);
        bracketed.1.extend(blocks.iter().map(|block| block.sum.to_bits()));
        bracketed.2.extend(bits(&inside[..n]).into_iter().zip(places[..n].iter().copied()));
    }
    let mut lanes = vec![0.0; 16 * blocks.len()];
    (kernels.lane_maxima)(xs, BLOCK, &mut lanes);
    // -0 and +0 are equal, and which of the two a maximum is depends on the instruction.
    for x in &mut lanes {
        *x += 0.0;
    }
    written.push(bits(&lanes));
    let mut copied = vec![Block::default(); blocks.len()];
    assert!(!(kernels.scan_copy)(xs, &mut out, &mut copied));
    written.push(bits(&out));
    written.push(copied.iter().map(|block| block.max.to_bits()).collect());
    (kernels.shift)(xs, finite, &mut out);
    written.push(bits(&out));
    assert!(!(kernels.mass_out)(xs, base, &mut blocks, &mut out));
    written.push(bits(&out));
    (kernels.subtract)(xs, finite, 1.5, &mut out);
    written.push(bits(&out));
    (kernels.multiply)(&mut out, [0.3, 1e-9]);
    written.push(bits(&out));
    let words: Vec<u32> = (0_u32..).take(xs.len() / 40).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    (kernels.mask)(&mut out, &words);
    written.push(bits(&out));
    (kernels.complete)(xs, &words, &mut out);
    written.push(bits(&out));
    Answer {
        scan,
        mass,
        rough,
        weights,
        moment,
        gathered: (bits(&values[..n]), indices[..n].to_vec()),
        bracketed,
        position: (kernels.position)(xs, finite),
        count: (kernels.count)(xs, threshold),
        spread: (kernels.spread)(xs, finite).map(f64::to_bits).to_vec(),
        least: (kernels.least)(xs).to_bits(),
        written,
    }
}

#[test]
fn every_instruction_set_gives_equal_bits() {
    let names: Vec<_> = available().map(Kernels::name).collect();
    println!("instruction sets: {}", names.join(", "));
    let portable = available().last().expect("the portable kernels");
    for length in LENGTHS {
        for (kind, row) in rows(length).iter().enumerate() {
            for temperature in [0.01, 0.7, 1.0, 30.0, 1e30] {
                let expected = answer(portable, row, temperature);
                for kernels in available() {
                    let got = answer(kernels, row, temperature);
                    assert_eq!(expected, got, "{} at length {length}, kind {kind}, T = {temperature}", kernels.name);
                }
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_the_address() {
    let row = noise(1031, 7);
    let expected = answer(super::active(), &row, 0.7);
    for offset in 0..16 {
        let mut buffer = vec![9.0; offset];
        buffer.extend_from_slice(&row);
        assert_eq!(expected, answer(super::active(), &buffer[offset..], 0.7), "offset {offset}");
    }
}

#[test]
fn nan_is_seen_at_every_place() {
    for kernels in available() {
        for length in [1, 15, 16, 17, 63, 64, 65, 513, 600] {
            for at in 0..length {
                let mut row = noise(length, 1);
                row[at] = f32::NAN;
                let mut blocks = vec![Block::default(); length.div_ceil(BLOCK)];
                assert!((kernels.scan)(&row, &mut blocks), "{} misses {at} of {length}", kernels.name);
                assert!((kernels.mass)(&row, Base::new(1.0), &mut blocks), "{} misses {at} of {length}", kernels.name);
            }
        }
    }
}

#[test]
fn sums_agree_with_float64() {
    for length in LENGTHS {
        let row = noise(length, 11);
        for temperature in [0.3, 1.0, 2.5] {
            let mut blocks = vec![Block::default(); length.div_ceil(BLOCK)];
            (super::active().mass)(&row, Base::new(temperature), &mut blocks);
            for (xs, block) in row.chunks(BLOCK).zip(&blocks) {
                let expected: f64 = xs.iter().map(|&x| (f64::from(x) / temperature).exp()).sum();
                let got = block.sum * f64::from(block.exponent).exp2();
                assert!((got / expected - 1.0).abs() < 2e-7, "{got} instead of {expected}");
            }
            let mut rough = blocks.clone();
            (super::active().mass_rough)(&row, Base::new(temperature), &mut rough);
            for (rough, exact) in rough.iter().zip(&blocks) {
                assert!((rough.sum / exact.sum - 1.0).abs() <= super::ROUGH, "{} for {}", rough.sum, exact.sum);
            }
        }
    }
}

#[test]
fn spread_and_least_are_those_of_the_finite_scores() {
    for length in LENGTHS {
        for row in rows(length) {
            let finite: Vec<f64> = row.iter().filter(|x| x.is_finite()).copied().map(f64::from).collect();
            let least = finite.iter().copied().fold(f64::INFINITY, f64::min);
            assert_eq!(least, f64::from((super::active().least)(&row)));
            for center in [0.0, 7.5, f32::MIN] {
                let differences: Vec<f64> = finite.iter().map(|x| x - f64::from(center)).collect();
                let expected = [differences.iter().sum(), differences.iter().map(|d| d * d).sum::<f64>()];
                for (got, expected) in (super::active().spread)(&row, center).into_iter().zip(expected) {
                    assert!((got - expected).abs() <= expected.abs() * 1e-12 + 1e-9, "{got} instead of {expected}");
                }
            }
        }
    }
}

/// Every float in [-87, 0]: 1.1 billion of them take seconds with optimisation, minutes without.
#[test]
#[cfg_attr(debug_assertions, ignore = "walks a billion floats: run with --release")]
fn weights_are_within_two_units_in_the_last_place() {
    let base = Base::new(1.0);
    let last = (-87.0_f32).to_bits();
    let mut bits = (-0.0_f32).to_bits();
    let mut worst = 0.0_f64;
    let (mut xs, mut out) = (vec![0.0_f32; 4096], vec![0.0_f32; 4096]);
    while bits <= last {
        for (x, i) in xs.iter_mut().zip(0..) {
            *x = f32::from_bits((bits + i).min(last));
        }
        (super::active().weights)(&xs, base, 0.0, &mut out);
        for (&x, &w) in xs.iter().zip(&out) {
            let exact = f64::from(x).exp();
            let unit = f64::from_bits((exact.to_bits() >> 52) << 52) * (0.5_f64).powi(23);
            worst = worst.max((f64::from(w) - exact).abs() / unit);
        }
        bits += 4096;
    }
    println!("largest error: {worst} units in the last place");
    assert!(worst <= 2.0, "{worst}");
}
