//! Rows in parallel, on as many threads as are allowed.
//!
//! A row's result does not depend on which thread computes it, nor on how many there are. No thread is woken for work that
//! takes less than the waking.
//!
//! The thread that calls serves the rows too, and threads that are free help: each takes the next row when it is done with
//! one, the heaviest first, so rows of unequal cost balance. Whoever wakes when the last row is taken has come too late, and
//! nobody waits for it. A call only reserves helpers that are free and never queues behind another call, whose rows may be
//! waiting for something (a lock, in a processor) that this caller holds. For the same reason a call from within a helper
//! works alone.

use std::cmp::Reverse;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Error;

mod gate;

/// So much work is worth another thread. In scores that are read once, some 0.05 ns each in a cache and 0.1 ns beyond:
/// sending for a thread took the caller 45 us where cores are virtual and sleep.
pub(crate) const WORTH_WAKING: usize = 1_000_000;

/// The number set by [`set_num_threads`]; zero when none was.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// The threads beside the caller's.
struct Helpers {
    /// A forked child has a copy of the pool, but none of its threads.
    process: u32,
    pool: ThreadPool,
    free: AtomicUsize,
}

static HELPERS: Mutex<Option<Arc<Helpers>>> = Mutex::new(None);

/// How many threads rows are spread over: what [`set_num_threads`] said, or else as many as the machine has cores.
///
/// ```
/// sortition::set_num_threads(2)?;
/// assert_eq!(2, sortition::num_threads());
/// # Ok::<(), sortition::Error>(())
/// ```
#[must_use]
pub fn num_threads() -> usize {
    // Asking the system reads files.
    static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get));
    match LIMIT.load(Ordering::Relaxed) {
        0 => *CORES,
        limit => limit,
    }
}

/// Bounds the threads, from the next call on.
///
/// # Errors
///
/// [`Error::Range`] unless `threads` is in [1, 1024].
pub fn set_num_threads(threads: usize) -> Result<(), Error> {
    if !(1..=1024).contains(&threads) {
        return Err(Error::Range { name: "threads", range: "in [1, 1024]", value: threads.to_string() });
    }
    LIMIT.store(threads, Ordering::Relaxed);
    Ok(())
}

/// The results of `work` on every item, in order; in parallel if that is worth it. The work on an item takes about as long
/// as reading `effort` scores.
pub(crate) fn map<I: Send, T: Send>(
    items: impl ExactSizeIterator<Item = I>,
    effort: impl Fn(&I) -> usize,
    work: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    let threads = num_threads();
    let most = items.len().min(threads).saturating_sub(1);
    if most == 0 {
        return items.map(work).collect();
    }
    let items: Vec<_> = items.map(|item| (effort(&item), item)).collect();
    let wanted = most.min(items.iter().map(|(effort, _)| effort).sum::<usize>() / WORTH_WAKING);
    match if wanted == 0 { None } else { helpers(threads - 1) } {
        Some(helpers) => share(items, &work, &helpers, wanted),
        None => items.into_iter().map(|(_, item)| work(item)).collect(),
    }
}

/// Serves the items together with at most `wanted` helpers.
fn share<I: Send, T: Send>(
    items: Vec<(usize, I)>,
    work: &(impl Fn(I) -> T + Sync),
    helpers: &Helpers,
    wanted: usize,
) -> Vec<T> {
    let mut results: Vec<Option<T>> = items.iter().map(|_| None).collect();
    let mut queue: Vec<_> = items.into_iter().zip(&mut results).collect();
    queue.sort_by_key(|&((effort, _), _)| Reverse(effort));
    let queue = Mutex::new(queue.into_iter());
    let serve = || {
        while let Some(((_, item), result)) = next(&queue) {
            *result = Some(work(item));
        }
    };
    let places = Places::new(&helpers.free, wanted);
    gate::lend(&serve, places.count, |helper| helpers.pool.spawn(helper));
    drop(places);
    results.into_iter().flatten().collect()
}

/// The next item; the queue is free again before the work on it begins.
fn next<I>(queue: &Mutex<impl Iterator<Item = I>>) -> Option<I> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// Helpers that no other call has, given back when this is dropped.
struct Places<'h> {
    free: &'h AtomicUsize,
    count: usize,
}

impl<'h> Places<'h> {
    /// As many as are wanted, or all that are free.
    fn new(free: &'h AtomicUsize, wanted: usize) -> Self {
        let taken = free.fetch_update(Ordering::Acquire, Ordering::Relaxed, |free| Some(free - free.min(wanted)));
        Self { free, count: taken.map_or(0, |free| free.min(wanted)) }
    }
}

impl Drop for Places<'_> {
    fn drop(&mut self) {
        self.free.fetch_add(self.count, Ordering::Release);
    }
}

/// So many helpers of this process; `None` to a helper, and if the system has no thread left to give.
fn helpers(count: usize) -> Option<Arc<Helpers>> {
    if rayon::current_thread_index().is_some() {
        return None;
    }
    let process = std::process::id();
    let mut current = HELPERS.lock().unwrap_or_else(PoisonError::into_inner);
    match &*current {
        Some(helpers) if helpers.process == process && helpers.pool.current_num_threads() == count => {
            Some(Arc::clone(helpers))
        }
        other => {
            // Dropping a pool wakes its threads, which a forked child does not have, by locks that they may have held.
            if let Some(helpers) = other
                && helpers.process != process
            {
                std::mem::forget(Arc::clone(helpers));
            }
            let pool = ThreadPoolBuilder::new().num_threads(count).build().ok()?;
            let helpers = Arc::new(Helpers { process, pool, free: AtomicUsize::new(count) });
            *current = Some(Arc::clone(&helpers));
            Some(helpers)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        for effort in [0, 7, WORTH_WAKING] {
            let doubled = map(0..100_usize, |item| item % effort.max(1), |item| 2 * item);
            assert_eq!((0..100).map(|item| 2 * item).collect::<Vec<_>>(), doubled);
        }
    }

    #[test]
    fn no_more_helpers_are_reserved_than_there_are() {
        let free = AtomicUsize::new(2);
        let places = [1, 5, 5].map(|wanted| Places::new(&free, wanted));
        assert_eq!([1, 1, 0], places.each_ref().map(|places| places.count));
        drop(places);
        assert_eq!(2, free.into_inner());
    }

    #[test]
    fn the_number_is_checked() {
        assert_eq!("threads must be in [1, 1024], got 0", set_num_threads(0).unwrap_err().to_string());
    }
}
