//! One suite over every instruction set that this machine has: right against plain `f64`, and equal to the last bit.

mod above;
mod except;
mod mass;
mod nan;

use half::{bf16, f16};

use super::{BLOCK, Band, Base, Block, Bracket, Kernels, Part, Scores, available};

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

/// Ordinary rows, ties, holes, extremes and denormals; with scores of one sign, and zeros of both.
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
    let negative = noise(length, 6).into_iter().map(|x| x - 11.0).collect();
    let zeros = noise(length, 7).into_iter().map(|x| 0.0_f32.copysign(x)).collect();
    let [positive_zero, negative_zero, impossible] = [0.0, -0.0, f32::NEG_INFINITY].map(|x| vec![x; length]);
    vec![noise(length, 1), holes, tiny, far, rounded, negative, zeros, positive_zero, negative_zero, impossible]
}

/// Everything the kernels say of a row, as bits.
#[derive(Debug, PartialEq)]
struct Answer {
    scan: Vec<u32>,
    mass: Vec<(u32, i32, u64)>,
    weights: Vec<u32>,
    moment: u64,
    gathered: (Vec<u32>, Vec<u32>),
    from: Vec<u64>,
    bracketed: Vec<[u64; 4]>,
    inside: Vec<Vec<u32>>,
    band: Vec<u64>,
    between: (Vec<u32>, Vec<u32>),
    position: Option<usize>,
    count: usize,
    spread: Vec<u64>,
    least: u32,
    written: Vec<Vec<u32>>,
}

fn bits(xs: &[f32]) -> Vec<u32> {
    xs.iter().map(|x| x.to_bits()).collect()
}

/// Maxima, exponents and sums of every block, by all that read a row for them.
fn sums(kernels: &Kernels, xs: Scores<'_>, base: Base) -> Vec<(u32, i32, u64)> {
    let mut blocks = vec![Block::default(); xs.len().div_ceil(BLOCK)];
    let mut out = vec![0.0; xs.len()];
    let mut found = Vec::new();
    let mut note = |nan: bool, blocks: &[Block]| {
        assert!(!nan);
        found.extend(blocks.iter().map(|block| (block.max.to_bits(), block.exponent, block.sum.to_bits())));
    };
    note(kernels.mass(xs, base, &mut blocks), &blocks);
    note(kernels.mass_rough(xs, base, &mut blocks), &blocks);
    note(kernels.mass_estimate(xs, base, &mut blocks), &blocks);
    note(kernels.mass_out(xs, base, &mut blocks, &mut out), &blocks);
    found
}

fn answer<'a>(kernels: &Kernels, xs: impl Into<Scores<'a>>, temperature: f64) -> Answer {
    let xs = xs.into();
    let base = Base::new(temperature);
    let mut blocks = vec![Block::default(); xs.len().div_ceil(BLOCK)];
    assert!(!kernels.scan(xs, &mut blocks));
    let scan = blocks.iter().map(|block| block.max.to_bits()).collect();
    let max = blocks.iter().fold(f32::NEG_INFINITY, |max, block| max.max(block.max));
    let mass = sums(kernels, xs, base);
    let finite = max.max(f32::MIN);
    let mut out = vec![0.0; xs.len()];
    let (mut weights, mut moment) = (Vec::new(), 0);
    if base.covers(finite) {
        kernels.weights(xs, base, finite, &mut out);
        weights = bits(&out);
        moment = kernels.moment(xs, base, finite).to_bits();
    }
    let threshold = (finite - 3.0).max(f32::MIN);
    let (mut values, mut indices) = (vec![0.0; xs.len() + 16], vec![0; xs.len() + 16]);
    let n = kernels.gather(xs, &blocks, threshold, &[], &mut values, &mut indices);
    let gathered = (bits(&values[..n]), indices[..n].to_vec());
    let mut written = Vec::new();
    let (mut from, mut bracketed, mut inside) = (Vec::new(), Vec::new(), Vec::new());
    if base.covers(finite) {
        kernels.mass_from(xs, base, finite, threshold, &mut blocks);
        from.extend(blocks.iter().map(|block| block.sum.to_bits()));
        kernels.mass_from_rough(xs, base, finite, threshold, &mut blocks);
        from.extend(blocks.iter().map(|block| block.sum.to_bits()));
        kernels.estimate(xs, base, finite, &mut blocks);
        from.extend(blocks.iter().map(|block| block.sum.to_bits()));
        let bracket = Bracket { low: (finite - 9.0).max(f32::MIN), high: threshold, max: finite };
        let mut parts = vec![Part::default(); blocks.len()];
        for exact in [false, true] {
            let read = if exact { Kernels::bracket_exact } else { Kernels::bracket };
            let mut values = vec![0.0; xs.len() + 16];
            read(kernels, xs, base, bracket, &mut blocks, &mut parts, &mut values);
            let sums = blocks.iter().zip(&parts).map(|(block, part)| (block.max, block.sum, part.above, part.end));
            bracketed.extend(
                sums.map(|(max, sum, above, end)| {
                    [u64::from(max.to_bits()), sum.to_bits(), above.to_bits(), end.into()]
                }),
            );
            let count = parts.last().map_or(0, |part| part.end as usize);
            kernels.add_inside(&values, base, finite, threshold - 4.0, &parts, &mut blocks);
            from.extend(blocks.iter().map(|block| block.sum.to_bits()));
            inside.push(bits(&values[..count]));
        }
    }
    let mut band = Vec::new();
    let range = [(finite - 9.0).max(f32::MIN), threshold];
    if base.covers(finite) {
        let near = kernels.band(xs, base, finite, Band { core: [threshold, finite], all: range }, &mut values);
        band = vec![near.count as u64, near.mass.to_bits(), near.moment.to_bits()];
        inside.push(bits(&values[..near.doubtful]));
    }
    let n = kernels.gather_between(xs, &blocks, range, &mut values, &mut indices);
    let between = (bits(&values[..n]), indices[..n].to_vec());
    let mut lanes = vec![0.0; 16 * blocks.len()];
    let words: Vec<u32> = (0_u32..).take(xs.len() / 40).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    for except in [&[][..], &words] {
        kernels.lane_maxima(xs, BLOCK, except, &mut lanes);
        // -0 and +0 are equal, and which of the two a maximum is depends on the instruction.
        written.push(lanes.iter().map(|x| (x + 0.0).to_bits()).collect());
        assert!(!kernels.scan_except(xs, except, &mut blocks));
        written.push(blocks.iter().map(|block| block.max.to_bits()).collect());
    }
    let mut copied = vec![Block::default(); blocks.len()];
    for mask in [None, Some(&words[..])] {
        assert!(!kernels.scan_copy(xs, mask, &mut out, &mut copied));
        written.push(bits(&out));
        written.push(copied.iter().map(|block| block.max.to_bits()).collect());
    }
    kernels.shift(xs, finite, &mut out);
    written.push(bits(&out));
    assert!(!kernels.mass_out(xs, base, &mut blocks, &mut out));
    written.push(bits(&out));
    kernels.subtract(xs, finite, 1.5, &mut out);
    written.push(bits(&out));
    (kernels.multiply)(&mut out, [0.3, 1e-9]);
    written.push(bits(&out));
    (kernels.mask)(&mut out, &words);
    written.push(bits(&out));
    kernels.copy(xs, &words, &mut out);
    written.push(bits(&out));
    Answer {
        scan,
        mass,
        weights,
        moment,
        gathered,
        from,
        bracketed,
        inside,
        band,
        between,
        position: kernels.position(xs, finite),
        count: kernels.count(xs, threshold),
        spread: kernels.spread(xs, finite).map(f64::to_bits).to_vec(),
        least: kernels.least(xs).to_bits(),
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
fn half_precision_gives_the_bits_of_single() {
    for length in LENGTHS {
        for (kind, row) in rows(length).into_iter().enumerate() {
            // Too low for f16 is as far below as f16 goes.
            let f16s: Vec<_> = row.iter().map(|&x| f16::from_f32(if x == f32::MIN { -65_504.0 } else { x })).collect();
            let bf16s: Vec<_> =
                row.iter().map(|&x| if x == f32::MIN { bf16::MIN } else { bf16::from_f32(x) }).collect();
            for half in [Scores::F16(&f16s), Scores::Bf16(&bf16s)] {
                let single: Vec<f32> = half.iter().collect();
                for temperature in [0.01, 0.7, 1.0] {
                    for kernels in available() {
                        let (expected, got) =
                            (answer(kernels, &single, temperature), answer(kernels, half, temperature));
                        assert_eq!(expected, got, "{} at length {length}, kind {kind}", kernels.name);
                    }
                }
            }
        }
    }
}

/// Subnormals, infinities and every NaN among them.
#[test]
fn every_number_of_half_precision_is_read_exactly() {
    let f16s: Vec<_> = (0..=u16::MAX).map(f16::from_bits).collect();
    let bf16s: Vec<_> = (0..=u16::MAX).map(bf16::from_bits).collect();
    // All the scores there can be, and a last vector that is not full.
    for (half, name) in [(Scores::F16(&f16s), "f16"), (Scores::Bf16(&bf16s), "bf16")] {
        for kernels in available() {
            for half in [half, half.slice(3..half.len())] {
                let mut blocks = vec![Block::default(); half.len().div_ceil(BLOCK)];
                let mut got = vec![0.0; half.len()];
                assert!(kernels.scan_copy(half, None, &mut got, &mut blocks), "there are NaN");
                for (expected, got) in half.iter().zip(got) {
                    let equal = expected.to_bits() == got.to_bits() || expected.is_nan() && got.is_nan();
                    assert!(equal, "{name} on {}: {got:e} instead of {expected:e}", kernels.name);
                }
            }
        }
    }
}

/// Exponent and fraction, by the definition of IEEE 754: what the test above compares with.
#[test]
fn half_precision_is_what_the_standard_says() {
    for bits in 0..=u16::MAX {
        let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        let size = match exponent {
            0 => fraction * (-24_f64).exp2(),
            31 if fraction > 0.0 => f64::NAN,
            31 => f64::INFINITY,
            _ => (1024.0 + fraction) * f64::from(exponent - 25).exp2(),
        };
        let expected = if sign == 1 { -size } else { size };
        let [binary16, bfloat16] = [f16::from_bits(bits).to_f32(), bf16::from_bits(bits).to_f32()];
        assert!(f64::from(binary16).total_cmp(&expected).is_eq() || expected.is_nan() && binary16.is_nan());
        assert!(
            bfloat16.to_bits() == u32::from(bits) << 16
                || bfloat16.is_nan() && f32::from_bits(u32::from(bits) << 16).is_nan()
        );
    }
}

#[test]
fn bits_do_not_depend_on_the_address() {
    let row = noise(1031, 7);
    let f16s: Vec<_> = row.iter().copied().map(f16::from_f32).collect();
    let bf16s: Vec<_> = row.iter().copied().map(bf16::from_f32).collect();
    for kernels in available() {
        let expected = [answer(kernels, &row, 0.7), answer(kernels, &f16s, 0.7), answer(kernels, &bf16s, 0.7)];
        for offset in 0..32 {
            // What stands before is larger than all of the row.
            let row = [vec![99.0; offset], row.clone()].concat();
            let f16s = [vec![f16::MAX; offset], f16s.clone()].concat();
            let bf16s = [vec![bf16::MAX; offset], bf16s.clone()].concat();
            let [row, f16s, bf16s] =
                [Scores::F32(&row[offset..]), Scores::F16(&f16s[offset..]), Scores::Bf16(&bf16s[offset..])];
            let got = [row, f16s, bf16s].map(|xs| answer(kernels, xs, 0.7));
            assert_eq!(expected, got, "{} at offset {offset}", kernels.name);
        }
    }
}

/// Every number among others of every kind: NaN is told from -inf, and the largest is the largest.
#[test]
fn every_number_of_half_precision_is_found() {
    let mut blocks = [Block::default()];
    let mut check = |half: Scores<'_>| {
        let nan = half.iter().any(f32::is_nan);
        let max = half.iter().fold(f32::NEG_INFINITY, f32::max) + 0.0;
        for kernels in available() {
            assert_eq!(nan, kernels.scan(half, &mut blocks), "{} of {half:?}", kernels.name);
            assert!(nan || max.to_bits() == blocks[0].max.to_bits(), "{} of {half:?}", kernels.name);
        }
    };
    for number in 0..=u16::MAX {
        // Neighbours of both signs, or of one; a last vector that is not full; the number at another place each time.
        for other in [0xff80, 0xfc00, 0x8000, 0xbf80, 0x0000, 0x3c00, number ^ 0x8000, number.wrapping_mul(0x9e37)] {
            let mut row = [other; 67];
            row[usize::from(number) % 67] = number;
            row[usize::from(number / 67) % 67] ^= number & 1;
            check(Scores::F16(&row.map(f16::from_bits)));
            check(Scores::Bf16(&row.map(bf16::from_bits)));
        }
    }
}

#[test]
fn spread_and_least_are_those_of_the_finite_scores() {
    for row in LENGTHS.into_iter().flat_map(rows) {
        let finite: Vec<f64> = row.iter().filter(|x| x.is_finite()).copied().map(f64::from).collect();
        let least = finite.iter().copied().fold(f64::INFINITY, f64::min);
        for (kernels, center) in available().flat_map(|kernels| [0.0, 7.5, f32::MIN].map(|center| (kernels, center))) {
            assert_eq!(least, f64::from(kernels.least(&row)), "{}", kernels.name);
            let differences: Vec<f64> = finite.iter().map(|x| x - f64::from(center)).collect();
            let expected = [differences.iter().sum(), differences.iter().map(|d| d * d).sum::<f64>()];
            for (got, expected) in kernels.spread(&row, center).into_iter().zip(expected) {
                let near = (got - expected).abs() <= expected.abs() * 1e-12 + 1e-9;
                assert!(near, "{}: {got} instead of {expected}", kernels.name);
            }
        }
    }
}
