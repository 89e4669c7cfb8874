//! What can be wrong with a request. A message gives the name that the user typed, the legal range and the value seen.

use crate::processor::Failure;
use crate::stage::Stage;

/// Why a request was refused. Nothing has changed when one of these comes back.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter outside its range.
    #[error("{name} must be {range}, got {value}")]
    Range {
        /// The parameter.
        name: &'static str,
        /// Its legal range.
        range: &'static str,
        /// What was given.
        value: String,
    },
    /// A parameter names a token that the vocabulary lacks.
    #[error("{}{name} names token {id}, but the vocabulary has {vocab} tokens: ids must be in [0, {vocab})", in_row(*row))]
    UnknownToken {
        /// Which row of the batch.
        row: Option<usize>,
        /// The parameter.
        name: &'static str,
        /// The id.
        id: u32,
        /// The size of the vocabulary.
        vocab: usize,
    },
    /// A row without scores, or with fewer than the vocabulary has tokens.
    #[error("{}a row of logits must have {expected} scores, got {got}", in_row(*row))]
    RowLength {
        /// Which row of the batch.
        row: Option<usize>,
        /// How many scores there must be.
        expected: String,
        /// How many there are.
        got: usize,
    },
    /// A score that is NaN or positive infinity.
    #[error("{}token {token} has {}", in_row(*row), bad_score(*value))]
    BadScore {
        /// Which row of the batch.
        row: Option<usize>,
        /// The first token with such a score.
        token: usize,
        /// The score.
        value: f32,
    },
    /// A processor of the caller's own failed, or what it left is no row of scores.
    #[error("{}custom: {failure}", in_row(*row))]
    Processor {
        /// Which row of the batch.
        row: Option<usize>,
        /// What is wrong.
        failure: Failure,
    },
    /// A row of a draft's scores out of which its token cannot have been drawn.
    #[error("{}draft_logits: {what}", in_row(*row))]
    Draft {
        /// Which row of the draft's scores.
        row: Option<usize>,
        /// The token with a score that is wrong, if it is that.
        token: Option<usize>,
        /// What is wrong.
        what: String,
    },
    /// No token is possible.
    #[error("{}no token is possible: {}", in_row(*row), emptied_by(*stage))]
    NoCandidate {
        /// Which row of the batch.
        row: Option<usize>,
        /// The stage that removed the last candidate; `None` if every score came in as -inf.
        stage: Option<Stage>,
    },
}

impl Error {
    /// The same error, in row `row` of a batch. A parameter outside its range has no row, nor has an interrupt.
    #[must_use]
    pub fn in_row(mut self, index: usize) -> Self {
        if self.is_interrupt() {
            return self;
        }
        match &mut self {
            Self::UnknownToken { row, .. }
            | Self::RowLength { row, .. }
            | Self::BadScore { row, .. }
            | Self::Processor { row, .. }
            | Self::Draft { row, .. }
            | Self::NoCandidate { row, .. } => {
                *row = Some(index);
            }
            Self::Range { .. } => {}
        }
        self
    }

    /// Whether it is no row's error, but ends the whole call.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Processor { failure: Failure::Interrupt(_), .. })
    }

    /// Which row of the batch it was, if there was one.
    #[must_use]
    pub fn row(&self) -> Option<usize> {
        match *self {
            Self::UnknownToken { row, .. }
            | Self::RowLength { row, .. }
            | Self::BadScore { row, .. }
            | Self::Processor { row, .. }
            | Self::Draft { row, .. }
            | Self::NoCandidate { row, .. } => row,
            Self::Range { .. } => None,
        }
    }
}

/// What is wrong with a score. What a caller's float64 was, a marked NaN says: `_arrays.py` makes it of a finite number that
/// float32 has no room for, so that only those that are looked at are errors.
pub(crate) fn bad_score(value: f32) -> String {
    const TOO_HIGH: u32 = 0x7fc0_0f64;
    const TOO_LOW: u32 = 0xffc0_0f64;
    match value.to_bits() {
        TOO_HIGH => "a score above 3.4028e38: scores must fit in float32".to_owned(),
        TOO_LOW => "a score below -3.4028e38: scores must fit in float32".to_owned(),
        _ => format!("the score {value}: scores must be finite or -inf"),
    }
}

/// A name that was given, as an error shows it.
pub(crate) fn quoted(name: &str) -> String {
    const MOST: usize = 40;
    let shown: String = name.chars().take(MOST).collect();
    format!("'{}{}'", shown.escape_debug(), if name.chars().nth(MOST).is_some() { "…" } else { "" })
}

fn in_row(row: Option<usize>) -> String {
    row.map_or_else(String::new, |row| format!("row {row}: "))
}

fn emptied_by(stage: Option<Stage>) -> String {
    stage.map_or_else(
        || "every score is -inf".to_owned(),
        |stage| format!("{} removed the last candidate", stage.name()),
    )
}
