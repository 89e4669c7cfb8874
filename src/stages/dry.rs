//! DRY, "don't repeat yourself": what would go on with a repeat becomes less likely, the more so the longer the repeat.
//!
//! From text-generation-webui, pull request 5677. The penalty is `multiplier * base^(length - allowed_length)`, with the
//! exponent held where the power would leave `f32`. What would overflow is the largest finite number.

use crate::candidates::{Candidates, finite};
use crate::history::{Repeats, largest_exponent};
use crate::params::Dry;

/// Takes the penalty from each token that would repeat a run of at least the allowed length.
pub(super) fn apply(candidates: &mut Candidates<'_>, multiplier: Option<f64>, dry: &Dry, repeats: Option<&Repeats>) {
    let (Some(multiplier), Some(repeats)) = (multiplier, repeats) else { return };
    let largest = largest_exponent(dry.base).unwrap_or(0);
    let allowed = usize::try_from(dry.allowed_length).unwrap_or(usize::MAX);
    candidates.change(repeats.found().iter().copied(), |x, length| {
        let taken = finite(multiplier * power(dry.base, (length - allowed).min(largest)));
        (x - taken).clamp(f32::MIN, f32::MAX)
    });
}

/// `base^exponent` by squaring: the same bits wherever, which no library promises of its own.
fn power(base: f64, exponent: usize) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_right_where_they_are_exact_and_finite_at_the_largest_exponent() {
        assert_eq!(
            [1.0, 3.0, 9.0, 27.0, 1024.0],
            [power(3.0, 0), power(3.0, 1), power(3.0, 2), power(3.0, 3), power(2.0, 10)]
        );
        assert_eq!([Some(128), Some(158), None], [2.0, 1.75, 1.0].map(largest_exponent));
        for base in [1.0 + f64::EPSILON, 1.001, 1.75, 2.0, 1e30, f64::MAX] {
            assert!(power(base, largest_exponent(base).unwrap()).is_finite(), "{base}");
        }
    }
}
