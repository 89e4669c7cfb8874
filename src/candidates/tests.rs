//! What sums that are not exact leave in doubt is decided by exact ones: at the edges of tokens, nearer than those sums tell.

use super::edge::spread_sum;
use super::*;
use crate::kernels::{active, available};

/// Beside an edge, as a part of the sum: more than sums of the same numbers in `f64` differ by, and less than all others err by.
const BESIDE: f64 = 1e-11;

/// Rows whose rough sums lose what seven in eight scores weigh, as each of those is added to a much heavier one: a flat one;
/// some peaks that hold three quarters of the mass; and such as hold nearly all, beside which the others are estimated.
fn rows() -> [Vec<f32>; 3] {
    [None, Some(6.5), Some(10.5)].map(|height| {
        let score = |at: u16| {
            let noise = f32::from(at.wrapping_mul(0x9e37)) / 655_360.0;
            match height {
                Some(height) if at % 2_500 == 3 => height + noise,
                _ if (at / 16).is_multiple_of(8) => noise,
                _ => -18.0,
            }
        };
        (0..40_000).map(score).collect()
    })
}

fn with_row<T>(kernels: &'static Kernels, row: &[f32], ask: impl FnOnce(&mut Candidates<'_>) -> T) -> T {
    with_workspace(|workspace| {
        ask(&mut Candidates::new(kernels, row.into(), workspace, Sums::None).expect("good scores"))
    })
}

/// The weights of scores, and the sum of them all.
fn weigh(row: &[f32]) -> (Vec<f64>, f64) {
    let mut weights = vec![0.0; row.len()];
    active().weights(row, Base::new(1.0), row.iter().copied().fold(f32::MIN, f32::max), &mut weights);
    (weights.iter().copied().map(f64::from).collect(), spread_sum(&weights))
}

/// Just before and just behind the edges of the tokens at these places: a mass, and at which place it is reached.
fn beside(weights: &[f64], sum: f64, places: impl Iterator<Item = usize>) -> impl Iterator<Item = (f64, usize)> {
    places.flat_map(move |place| {
        let edge: f64 = weights[..=place].iter().sum();
        [(edge - BESIDE * sum, place), (edge + BESIDE * sum, place + 1)]
    })
}

#[test]
fn sums_are_rough_or_estimates() {
    for kernels in available() {
        let precisions = rows().map(|row| with_row(kernels, &row, |candidates| candidates.quick_total().precision));
        assert!(matches!(precisions, [Precision::Rough, Precision::Rough, Precision::Estimated(_)]), "{precisions:?}");
    }
}

#[test]
fn a_nucleus_ends_where_exact_sums_say() {
    for (row, places) in rows().iter().zip([(100..4_000).step_by(83), (0..14).step_by(1), (0..14).step_by(1)]) {
        let mut sorted = row.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let (weights, sum) = weigh(&sorted);
        for (needed, last) in beside(&weights, sum, places) {
            for kernels in available() {
                let left = with_row(kernels, row, |candidates| {
                    candidates.keep_mass(needed / (sum * MET), 1);
                    candidates.len()
                });
                assert_eq!(last + 1, left, "{needed} of {sum} by {}", kernels.name());
            }
        }
    }
}

#[test]
fn a_draw_is_what_exact_sums_say() {
    for row in rows() {
        let (weights, sum) = weigh(&row);
        // Both sides of these edges are heavy.
        for (target, token) in beside(&weights, sum, (128..39_000).step_by(1_280)) {
            for kernels in available() {
                let drawn = with_row(kernels, &row, |candidates| candidates.draw(|| target / sum));
                assert_eq!(token, drawn as usize, "{target} of {sum} by {}", kernels.name());
            }
        }
    }
}
