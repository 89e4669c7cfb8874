//! What a set of places leaves of a row: its maxima, a copy, what is gathered.

use half::f16;

use super::{LENGTHS, bits, rows};
use crate::kernels::{BLOCK, Block, available};
use crate::scores::Scores;

/// Against the definition: maxima, a copy and a gather without the places of a set, which may end before the row does.
#[test]
fn what_is_excepted_is_passed_over() {
    for (length, row) in LENGTHS.into_iter().flat_map(|length| rows(length).into_iter().map(move |row| (length, row))) {
        let f16s: Vec<_> = row.iter().map(|&x| f16::from_f32(x.max(-60_000.0))).collect();
        for (xs, kernels) in
            available().flat_map(|kernels| [Scores::F32(&row), Scores::F16(&f16s)].map(|xs| (xs, kernels)))
        {
            for words in [0, length / 40, length.div_ceil(32)] {
                let words: Vec<u32> = (7_u32..).take(words).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
                let is_left = |at: usize| words.get(at / 32).is_none_or(|word| word >> (at % 32) & 1 == 0);
                let left: Vec<f32> =
                    xs.iter().enumerate().map(|(at, x)| if is_left(at) { x } else { f32::NEG_INFINITY }).collect();
                let mut blocks = vec![Block { max: 1.0, ..Block::default() }; length.div_ceil(BLOCK)];
                let stale: Vec<u32> = (0_u32..).step_by(2).take(blocks.len().div_ceil(2)).collect();
                kernels.rescan(xs, &words, &stale, &mut blocks);
                let mut first = vec![Block::default(); blocks.len()];
                assert!(!kernels.scan_except(xs, &words, &mut first));
                let mut copied = vec![0.0; length];
                kernels.copy(xs, &words, &mut copied);
                assert_eq!(bits(&left), bits(&copied), "{} of {length}", kernels.name);
                let mut lanes = vec![0.0; 16 * length.div_ceil(64)];
                kernels.lane_maxima(xs, 64, &words, &mut lanes);
                for (at, (block, first)) in blocks.iter().zip(first).enumerate() {
                    let max =
                        left.chunks(BLOCK).nth(at).into_iter().flatten().copied().fold(f32::NEG_INFINITY, f32::max);
                    assert_eq!((max + 0.0).to_bits(), first.max.to_bits(), "{} at {at} of {length}", kernels.name);
                    assert_eq!(if at % 2 == 0 { max } else { 1.0 }, block.max, "{} at {at} of {length}", kernels.name);
                }
                for (at, &lane) in lanes.iter().enumerate() {
                    let places = (at / 16 * 64..length.min((at / 16 + 1) * 64)).skip(at % 16).step_by(16);
                    assert_eq!(places.map(|place| left[place]).fold(f32::NEG_INFINITY, f32::max), lane);
                }
                let blocks = vec![Block { max: f32::INFINITY, ..Block::default() }; blocks.len()];
                for threshold in [-5.0, 0.0, 9.0] {
                    let (mut values, mut indices) = (vec![0.0; length + 16], vec![0; length + 16]);
                    let count = kernels.gather(xs, &blocks, threshold, &words, &mut values, &mut indices);
                    let expected: Vec<(usize, f32)> =
                        left.iter().copied().enumerate().filter(|&(_, x)| x >= threshold).collect();
                    let found =
                        indices[..count].iter().map(|&place| place as usize).zip(values[..count].iter().copied());
                    assert!(found.eq(expected), "{} at length {length}", kernels.name);
                }
            }
        }
    }
}

/// A mask forbids what is beyond its last word. NaN and +inf are reported wherever they stand.
#[test]
fn what_a_mask_forbids_is_gone_with_the_first_read() {
    for length in [1, 40, BLOCK, 3 * BLOCK + 70] {
        let row: Vec<_> =
            (0..length).map(|at| f32::from(u16::try_from(at * 40_503 % 8_191).unwrap()) - 100.0).collect();
        let words: Vec<_> = (0_u32..).take(length / 50).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let allows = |at: usize| words.get(at / 32).is_some_and(|word| word >> (at % 32) & 1 == 1);
        let expected: Vec<_> = (0..length).map(|at| if allows(at) { row[at] } else { f32::NEG_INFINITY }).collect();
        let maxima: Vec<_> =
            expected.chunks(BLOCK).map(|xs| xs.iter().copied().fold(f32::NEG_INFINITY, f32::max)).collect();
        for kernels in available() {
            let scan = |row: &[f32]| {
                let (mut out, mut blocks) = (vec![0.0; length], vec![Block::default(); length.div_ceil(BLOCK)]);
                let nan = kernels.scan_copy(row, Some(&words), &mut out, &mut blocks);
                (nan, out, blocks.iter().map(|block| block.max).collect::<Vec<_>>())
            };
            assert_eq!((false, expected.clone(), maxima.clone()), scan(&row), "{length} on {}", kernels.name);
            let forbidden = (0..length).rfind(|&at| !allows(at)).expect("the last");
            let with = |x| {
                let mut row = row.clone();
                row[forbidden] = x;
                scan(&row)
            };
            assert!(with(f32::NAN).0);
            assert_eq!(f32::INFINITY, with(f32::INFINITY).2[forbidden / BLOCK]);
        }
    }
}

/// Also at an excepted place, and where all are.
#[test]
fn infinity_is_seen_at_every_place() {
    for length in [1_usize, 15, 16, 33, 65, 513, 600] {
        let except = vec![!0; length.div_ceil(32)];
        for at in 0..length {
            let mut row = vec![f32::MIN; length];
            row[at] = f32::INFINITY;
            let f16s: Vec<_> = row.iter().copied().map(f16::from_f32).collect();
            for (xs, kernels) in
                available().flat_map(|kernels| [Scores::F32(&row), Scores::F16(&f16s)].map(|xs| (xs, kernels)))
            {
                let mut blocks = vec![Block::default(); length.div_ceil(BLOCK)];
                assert!(kernels.scan_except(xs, &except, &mut blocks), "{} misses {at} of {length}", kernels.name);
            }
        }
    }
}
