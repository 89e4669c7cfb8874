//! What is not far below the largest score, by its definition, for every kind of row and element.

use half::{bf16, f16};

use super::{LENGTHS, rows};
use crate::kernels::{BLOCK, Block, LANES, Part, available};
use crate::scores::Scores;

#[test]
fn what_is_near_the_largest_so_far_is_kept() {
    for length in LENGTHS {
        for row in rows(length) {
            check((&row).into());
            let f16s: Vec<_> = row.iter().copied().map(f16::from_f32).collect();
            check(Scores::F16(&f16s));
            let bf16s: Vec<_> = row.iter().copied().map(bf16::from_f32).collect();
            check(Scores::Bf16(&bf16s));
        }
    }
}

/// Block by block; in a block in the same order everywhere, and not always in that of the row.
fn check(xs: Scores<'_>) {
    let row: Vec<f32> = xs.iter().collect();
    for distance in [-1e-3, -3.0, -20.0, -1e39] {
        let mut first: Option<Vec<u32>> = None;
        for kernels in available() {
            let mut blocks = vec![Block::default(); row.len().div_ceil(BLOCK)];
            let (mut parts, mut values) = (vec![Part::default(); blocks.len()], vec![f32::NAN; row.len() + LANES]);
            assert!(!kernels.scan_above(xs, distance, &mut blocks, &mut parts, &mut values));
            let (mut largest, mut start) = (f32::NEG_INFINITY, 0);
            for ((block, part), xs) in blocks.iter().zip(&parts).zip(row.chunks(BLOCK)) {
                let max = xs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                largest = largest.max(max);
                let reaches = |x: &f32| f64::from(*x) >= (f64::from(largest) + distance).max(f32::MIN.into());
                let mut expected: Vec<f32> = xs.iter().copied().filter(reaches).collect();
                let mut got = values[start..part.end as usize].to_vec();
                expected.sort_by(f32::total_cmp);
                got.sort_by(f32::total_cmp);
                assert_eq!((max, expected), (block.max, got), "{}: {distance}", kernels.name);
                start = part.end as usize;
            }
            let bits = values[..start].iter().map(|x| x.to_bits()).collect();
            assert_eq!(first.get_or_insert_with(|| Clone::clone(&bits)), &bits, "{}", kernels.name);
        }
    }
}
