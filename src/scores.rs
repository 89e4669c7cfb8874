//! One row of scores, in any precision that models hand out.

use std::ops::Range;

use half::{bf16, f16};

use crate::error::Error;

/// A row of scores as it came: `f32`, or the half precision of [`half::f16`] and [`half::bf16`].
///
/// Half precision is read as it is, two bytes a score. All that comes of it is, to the bit, what comes of the same numbers
/// as `f32`, which every one of them is. Slices, arrays and vectors turn into it by themselves:
///
/// ```
/// use half::bf16;
/// let row = [0.5, 2.0, -1.0].map(bf16::from_f32);
/// assert_eq!(sortition::argmax(&[0.5, 2.0, -1.0]), sortition::argmax(&row));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scores<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Half precision of IEEE 754, binary16.
    F16(&'a [f16]),
    /// The upper half of single precision.
    Bf16(&'a [bf16]),
}

impl Scores<'_> {
    /// How many scores there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::F32(xs) => xs.len(),
            Self::F16(xs) => xs.len(),
            Self::Bf16(xs) => xs.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The score of the token `at`; `None` beyond the last.
    #[must_use]
    pub fn get(self, at: usize) -> Option<f32> {
        match self {
            Self::F32(xs) => xs.get(at).copied(),
            Self::F16(xs) => xs.get(at).map(|x| x.to_f32()),
            Self::Bf16(xs) => xs.get(at).map(|x| x.to_f32()),
        }
    }

    /// Whether `out` has a place for every score.
    ///
    /// # Errors
    ///
    /// [`Error::RowLength`] if it has more or fewer.
    pub(crate) fn check_length_of(self, out: &[f32]) -> Result<(), Error> {
        if self.len() == out.len() {
            return Ok(());
        }
        Err(Error::RowLength { row: None, expected: format!("{} (as out has)", out.len()), got: self.len() })
    }

    /// All scores, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = f32> {
        (0..self.len()).filter_map(move |at| self.get(at))
    }

    /// Every score with its token, in order: faster than [`Self::iter`].
    pub(crate) fn for_each(self, mut visit: impl FnMut(usize, f32)) {
        match self {
            Self::F32(xs) => xs.iter().enumerate().for_each(|(at, &x)| visit(at, x)),
            Self::F16(xs) => xs.iter().enumerate().for_each(|(at, x)| visit(at, x.to_f32())),
            Self::Bf16(xs) => xs.iter().enumerate().for_each(|(at, x)| visit(at, x.to_f32())),
        }
    }

    /// The scores at `range`, which must be inside.
    pub(crate) fn slice(self, range: Range<usize>) -> Self {
        match self {
            Self::F32(xs) => Self::F32(&xs[range]),
            Self::F16(xs) => Self::F16(&xs[range]),
            Self::Bf16(xs) => Self::Bf16(&xs[range]),
        }
    }
}

macro_rules! scores_from {
    ($number:ty, $variant:ident) => {
        impl<'a> From<&'a [$number]> for Scores<'a> {
            fn from(xs: &'a [$number]) -> Self {
                Self::$variant(xs)
            }
        }

        impl<'a, const N: usize> From<&'a [$number; N]> for Scores<'a> {
            fn from(xs: &'a [$number; N]) -> Self {
                Self::$variant(xs)
            }
        }

        impl<'a> From<&'a Vec<$number>> for Scores<'a> {
            fn from(xs: &'a Vec<$number>) -> Self {
                Self::$variant(xs)
            }
        }
    };
}

scores_from!(f32, F32);
scores_from!(f16, F16);
scores_from!(bf16, Bf16);
