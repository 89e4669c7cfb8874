//! Scores in order, in time that grows as their number does.
//!
//! What a cut reads off the sorted distribution may take all of a flat row, and comparing would then cost some seventeen
//! steps a score. So the scores become integers that ascend as they descend, and those are sorted digit by digit, the lowest
//! first: one read counts how often each value of each digit occurs, which tells where its keys begin; then each digit takes
//! a read and a write, which leaves those of one value as they came. A digit that all keys share is skipped. A row that
//! is in order already is only recognised: sorting it by digits is slow, as equal digits follow each other and each write waits
//! for the one before.
//!
//! Equal scores stand side by side, in any order, and -0 becomes +0.

use super::cuts::{ascending, descending};

/// Bits of a digit: three make a key, and the counts of one fit the nearest cache.
const BITS: u32 = 11;

const VALUES: usize = 1 << BITS;

const DIGITS: usize = u32::BITS.div_ceil(BITS) as usize;

/// So few are sorted by comparing: it would take longer to add up the counts.
const FEW: usize = 768;

/// Buffers, which outlive a sort.
#[derive(Debug, Default)]
pub(super) struct Radix {
    keys: Vec<u32>,
    spare: Vec<u32>,
}

impl Radix {
    /// Sorts scores, the largest first.
    pub(super) fn sort(&mut self, scores: &mut [f32]) {
        self.keys.clear();
        self.keys.extend(scores.iter().map(|&x| descending(x)));
        if self.keys.is_sorted_by(|a, b| a >= b) {
            self.keys.reverse();
        } else if scores.len() <= FEW {
            self.keys.sort_unstable();
        } else if !self.keys.is_sorted() {
            self.sort_keys();
        }
        for (x, &key) in scores.iter_mut().zip(&self.keys) {
            *x = ascending(key);
        }
    }

    /// Sorts the keys, of which there are some, the least first.
    fn sort_keys(&mut self) {
        let Self { keys, spare } = self;
        // How often values occur; then where their keys go.
        #[expect(
            clippy::large_stack_arrays,
            reason = "24 kB, and their number must be known for the loop to be unrolled"
        )]
        let mut places = [[0_u32; VALUES]; DIGITS];
        for &key in &*keys {
            for (places, at) in places.iter_mut().zip(0..) {
                places[digit(key, at)] += 1;
            }
        }
        spare.resize(keys.len(), 0);
        for (places, at) in places.iter_mut().zip(0..) {
            if places[digit(keys[0], at)] as usize == keys.len() {
                continue;
            }
            let mut before = 0;
            for place in &mut *places {
                before += std::mem::replace(place, before);
            }
            for &key in &*keys {
                let place = &mut places[digit(key, at)];
                spare[*place as usize] = key;
                *place += 1;
            }
            std::mem::swap(keys, spare);
        }
    }
}

/// The digit numbered `at`, from the lowest on.
fn digit(key: u32, at: u32) -> usize {
    (key >> (at * BITS)) as usize % VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row longer than is sorted by comparing, made of a score for each place.
    fn row(score: impl Fn(u16) -> f32) -> Vec<f32> {
        (0..3_001).map(score).collect()
    }

    /// Bits of all kinds: every sign and exponent, so that no digit is shared; no NaN.
    fn any(at: u16) -> f32 {
        let x = f32::from_bits(u32::from(at).wrapping_mul(0x9e37_79b9));
        if x.is_nan() { 0.5 } else { x }
    }

    #[test]
    fn sorts_as_the_standard_library_does() {
        let least = f32::from_bits(1);
        let rows = [
            ("any", row(any)),
            ("few", (0..700).map(any).collect()),
            ("one", vec![1.0]),
            ("none", Vec::new()),
            ("all equal", row(|_| 2.5)),
            ("zeros of both signs", row(|at| if at % 3 == 0 { -0.0 } else { 0.0 })),
            ("ascending", row(f32::from)),
            ("descending", row(|at| -f32::from(at))),
            ("ascending but for the first", row(|at| f32::from(if at == 0 { 9_000 } else { at }))),
            ("ascending but for the last", row(|at| f32::from(at % 3_000))),
            ("descending but for the first", row(|at| -f32::from(if at == 0 { 9_000 } else { at }))),
            ("descending but for the last", row(|at| -f32::from(at % 3_000))),
            ("organ pipe", row(|at| f32::from(at.min(3_000 - at)))),
            ("denormals", row(|at| f32::from_bits(u32::from(at) % 700) * if at % 2 == 0 { 1.0 } else { -1.0 })),
            ("only the lowest digit differs", row(|at| f32::from_bits(0x3f80_0000 + u32::from(at) % 2_048))),
            (
                "one has another sign",
                row(|at| f32::from_bits(0x3f80_0000 + u32::from(at) % 2_048) * if at == 1_500 { -1.0 } else { 1.0 }),
            ),
            ("ends", row(|at| [f32::MAX, f32::MIN, least, -least, f32::NEG_INFINITY][usize::from(at) % 5])),
        ];
        let mut radix = Radix::default();
        for (name, mut scores) in rows {
            let mut expected = scores.clone();
            expected.sort_by(|a, b| b.partial_cmp(a).expect("no NaN"));
            radix.sort(&mut scores);
            assert_eq!(expected, scores, "{name}");
        }
    }

    #[test]
    fn a_row_in_order_is_not_moved_digit_by_digit() {
        for mut scores in [row(f32::from), row(|at| -f32::from(at)), row(|at| f32::from(at / 700))] {
            let mut radix = Radix::default();
            radix.sort(&mut scores);
            assert!(scores.is_sorted_by(|a, b| a >= b) && radix.spare.is_empty());
        }
    }

    #[test]
    fn keys_of_any_bits_are_sorted() {
        let mut keys: Vec<u32> = (0..5_000_u32).map(|at| at.wrapping_mul(0x9e37_79b9)).collect();
        keys.extend([u32::MAX, 0, 1, 1 << 31]);
        let mut radix = Radix { keys: keys.clone(), ..Radix::default() };
        radix.sort_keys();
        keys.sort_unstable();
        assert_eq!(keys, radix.keys);
    }
}
