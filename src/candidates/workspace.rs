//! Buffers that outlive a draw, so that nothing is allocated per token.

use std::cell::RefCell;

use super::crossing::{Item, Sums};
use super::edits::Edits;
use super::radix::Radix;
use crate::kernels::{Block, Part};

/// The buffers of one draw.
///
/// They belong to the thread: those of a sampler would be far away, in the last cache or beyond it, whenever others had
/// been at work since.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(super) store: Store,
    pub(super) scratch: Scratch,
}

thread_local! {
    #[expect(clippy::vec_box, reason = "taken out and put back for every token")]
    static KEPT: RefCell<Vec<Box<Workspace>>> = const { RefCell::new(Vec::new()) };
}

/// Hands out buffers of this thread, and keeps them: one set, and another one for work inside of such work.
pub(crate) fn with_workspace<R>(work: impl FnOnce(&mut Workspace) -> R) -> R {
    let mut workspace = KEPT.with_borrow_mut(Vec::pop).unwrap_or_default();
    let result = work(&mut workspace);
    KEPT.with_borrow_mut(|kept| kept.push(workspace));
    result
}

/// Where scores live once they are not the caller's.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// A changed copy of the whole row.
    pub(super) copy: Vec<f32>,
    /// The list: ids ascending, and their scores.
    pub(super) ids: Vec<u32>,
    pub(super) scores: Vec<f32>,
}

#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) blocks: Vec<Block>,
    /// What a bracket or a share leaves of each beside.
    pub(super) parts: Vec<Part>,
    /// Changed scores, and places that a mask forbids, of an edited row.
    pub(super) edits: Edits,
    /// Blocks whose maximum is out of date.
    pub(super) stale: Vec<bool>,
    /// What a gather found: scores and their places.
    pub(super) values: Vec<f32>,
    pub(super) indices: Vec<u32>,
    /// The same of a search among those.
    pub(super) inner: Vec<Block>,
    pub(super) inner_parts: Vec<Part>,
    pub(super) narrowed: Vec<f32>,
    /// Changed scores of at least a threshold, or those that are spared, with their places.
    pub(super) risen: Vec<(u32, f32)>,
    /// Maxima to select among, weights, shifted scores.
    pub(super) floats: Vec<f32>,
    pub(super) shifted: Vec<f32>,
    /// Sort keys that carry weights.
    pub(super) keys: Vec<u64>,
    /// What a sort of all scores needs.
    pub(super) radix: Radix,
    /// Sums over a sample, by distance.
    pub(super) octaves: Vec<Sums>,
    /// Candidates at one distance, ids to remove, and scores before they were written anew.
    pub(super) tied: Vec<Item>,
    pub(super) gone: Vec<u32>,
    pub(super) before: Vec<f32>,
}

/// Makes `buffer` at least `length` long.
pub(super) fn grow<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) {
    if buffer.len() < length {
        buffer.resize(length, T::default());
    }
}
