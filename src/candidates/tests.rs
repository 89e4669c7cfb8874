//! What sums that are not exact leave in doubt is decided by exact ones: at the edges of tokens, nearer than those sums tell.

use super::edge::spread_sum;
use super::mass::Precision;
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

/// What stages ask of candidates.
const QUESTIONS: [fn(&mut Candidates<'_>); 9] = [
    |_| {},
    |candidates| candidates.keep_best(1),
    |candidates| candidates.keep_best(50),
    |candidates| candidates.keep_best(15_000),
    |candidates| candidates.keep_at_least(candidates.max() - 1.0, 1),
    |candidates| candidates.keep_at_least(candidates.max() - 1.0, 60),
    |candidates| candidates.keep_mass(0.9, 1),
    |candidates| candidates.write_temperature(),
    |candidates| {
        let best = candidates.best();
        assert!(candidates.keep_best_lowered(1, 200, |id, x| if id == best { x - 9.0 } else { x }));
    },
];

/// What comes before: a mask alone, or changes of what is allowed and of what is not, once and again.
const CHANGES: [fn(&mut Candidates<'_>); 3] = [
    |_| {},
    |candidates| {
        candidates.change((0..2_000).map(|id| (7 * id, 0.5)), |x, add| x + add);
        candidates.change((0..40_000).step_by(21).map(|id| (id, 90.0)), |x, add| x + add);
        candidates.ban(&[77, 78, 79, 80, 81]);
        candidates.settle();
    },
    |candidates| {
        candidates.change((0..20_000).map(|id| (id, 0.5)), |x, add| x + add);
        candidates.settle();
    },
];

/// As if those scores had come as -inf. Nothing is copied for the best one.
#[test]
fn what_a_mask_forbids_is_impossible() {
    let masks = [0xffff_fffe, 0xa5a5_5a5a, 0x0000_0001, 0].map(|word: u32| {
        let words = (0_u32..1_200).map(|at| if at % 97 == 5 { !0 } else { word.rotate_left(at) });
        words.collect::<Vec<_>>()
    });
    for (row, mask) in rows().iter().flat_map(|row| masks.iter().map(move |mask| (row, mask))) {
        let allows = |at: usize| mask.get(at / 32).is_some_and(|word| word >> (at % 32) & 1 == 1);
        let left: Vec<_> = (0..row.len()).map(|at| if allows(at) { row[at] } else { f32::NEG_INFINITY }).collect();
        for (change, question) in CHANGES.into_iter().flat_map(|change| QUESTIONS.map(|question| (change, question))) {
            for kernels in available() {
                let ask = |row: &[f32], sums| {
                    with_workspace(|workspace| {
                        let mut candidates =
                            Candidates::new(kernels, row.into(), workspace, sums).expect("good scores");
                        change(&mut candidates);
                        let max = candidates.max();
                        question(&mut candidates);
                        (max, candidates.max(), candidates.list())
                    })
                };
                assert_eq!(ask(&left, Sums::None), ask(row, Sums::Allowed(mask)), "{}", kernels.name());
            }
        }
        let mut workspace = Workspace::default();
        let mut candidates =
            Candidates::new(active(), row.into(), &mut workspace, Sums::Allowed(mask)).expect("good scores");
        candidates.ban(&[3, 4, 5]);
        candidates.settle();
        candidates.keep_best(1);
        assert!(workspace.store.copy.is_empty());
    }
}

/// One that has changed, or one that has not: the first of those that a mask leaves.
#[test]
fn the_best_is_the_first_of_equals() {
    let mut row = vec![1.5; 2_000];
    (row[5], row[700], row[705]) = (1.0, 1.0, 1.0);
    for (from, best) in [(0, 0), (5, 5), (6, 6), (698, 698), (700, 700), (701, 701), (705, 705)] {
        let mask: Vec<u32> = (0..63)
            .map(|word| (0..32).filter(|bit| 32 * word + bit >= from).fold(0, |bits, bit| bits | 1 << bit))
            .collect();
        for kernels in available() {
            with_workspace(|workspace| {
                let mut candidates =
                    Candidates::new(kernels, (&row).into(), workspace, Sums::Allowed(&mask)).expect("good scores");
                candidates.change([705, 700, 5].map(|id| (id, ())), |x, ()| x + 0.5);
                candidates.settle();
                assert_eq!(best, candidates.best(), "from {from} on {}", kernels.name());
            });
        }
    }
}
