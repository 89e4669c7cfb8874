//! NaN is seen by every kernel that is the first to read a row.

use half::{bf16, f16};

use super::noise;
use crate::kernels::{BLOCK, Base, Block, Kernels, LANES, Part, available};
use crate::scores::Scores;

#[test]
fn nan_is_seen_at_every_place() {
    for kernels in available() {
        let check = |xs: Scores<'_>, at: usize| {
            let mut blocks = vec![Block::default(); xs.len().div_ceil(BLOCK)];
            assert!(kernels.scan(xs, &mut blocks), "{} misses {at} of {}", kernels.name, xs.len());
            let (mut parts, mut values) = (vec![Part::default(); blocks.len()], vec![0.0; xs.len() + LANES]);
            let seen = kernels.scan_above(xs, -1.0, &mut blocks, &mut parts, &mut values);
            assert!(seen, "{} misses {at} of {}", kernels.name, xs.len());
            let seen = kernels.scan_except(xs, &vec![!0; xs.len().div_ceil(32)], &mut blocks);
            assert!(seen, "{} misses {at} of {}", kernels.name, xs.len());
            for mass in [Kernels::mass, Kernels::mass_rough, Kernels::mass_estimate] {
                let seen = mass(kernels, xs, Base::new(1.0), &mut blocks);
                assert!(seen, "{} misses {at} of {}", kernels.name, xs.len());
            }
            let seen = kernels.mass_out(xs, Base::new(1.0), &mut blocks, &mut vec![0.0; xs.len()]);
            assert!(seen, "{} misses {at} of {}", kernels.name, xs.len());
        };
        for length in [1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 513, 600] {
            for at in 0..length {
                let mut row = noise(length, 1);
                let mut f16s: Vec<_> = row.iter().copied().map(f16::from_f32).collect();
                let mut bf16s: Vec<_> = row.iter().copied().map(bf16::from_f32).collect();
                // The least and the most of each sign.
                for nan in [0x7f80_0001, 0x7fff_ffff, 0xff80_0001, 0xffff_ffff] {
                    row[at] = f32::from_bits(nan);
                    check(Scores::F32(&row), at);
                }
                for nan in [0x7c01, 0x7fff, 0xfc01, 0xffff] {
                    f16s[at] = f16::from_bits(nan);
                    check(Scores::F16(&f16s), at);
                }
                for nan in [0x7f81, 0x7fff, 0xff81, 0xffff] {
                    bf16s[at] = bf16::from_bits(nan);
                    check(Scores::Bf16(&bf16s), at);
                }
            }
        }
    }
}
