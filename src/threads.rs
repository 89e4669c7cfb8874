//! Rows in parallel, on as many threads as are allowed.
//!
//! A row's result does not depend on which thread computes it, nor on how many there are. No thread is woken for work that
//! takes less than the waking.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Error;

/// Below so many scores in all, one thread is quicker.
const WORTH_WAKING: usize = 32_768;

/// The number set by [`set_num_threads`]; zero when none was.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// The threads, and the process that they belong to: a forked child has a copy of the pool, but none of its threads.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

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

/// `work` on every item, of about `scores` scores each, in parallel if that is worth it. Results are in order; of several
/// errors it is that of the first item.
pub(crate) fn map<I: Send, T: Send>(
    items: Vec<I>,
    scores: usize,
    work: impl Fn(usize, I) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    if items.len() > 1
        && items.len() * scores >= WORTH_WAKING
        && num_threads() > 1
        && let Some(pool) = pool(num_threads())
    {
        let results: Vec<_> =
            pool.install(|| items.into_par_iter().enumerate().map(|(at, item)| work(at, item)).collect());
        return results.into_iter().collect();
    }
    items.into_iter().enumerate().map(|(at, item)| work(at, item)).collect()
}

/// The pool of this process with so many threads; `None` if the system has no thread left to give.
fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    let process = std::process::id();
    let mut current = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match &*current {
        Some((owner, pool)) if *owner == process && pool.current_num_threads() == threads => Some(Arc::clone(pool)),
        other => {
            // Dropping a pool waits for its threads, which a forked child does not have.
            if let Some((owner, pool)) = other
                && *owner != process
            {
                std::mem::forget(Arc::clone(pool));
            }
            let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().ok()?);
            *current = Some((process, Arc::clone(&pool)));
            Some(pool)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_the_first_error_wins() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = map(items.clone(), 1000, |_, item| Ok(2 * item));
        assert_eq!(Ok((0..100).map(|item| 2 * item).collect()), doubled);
        let failed = map(items, 1000, |at, _| {
            if at % 40 == 7 { Err(Error::NoCandidate { row: Some(at), stage: None }) } else { Ok(()) }
        });
        assert_eq!(Err(Error::NoCandidate { row: Some(7), stage: None }), failed);
    }

    #[test]
    fn the_number_is_checked() {
        assert_eq!("threads must be in [1, 1024], got 0", set_num_threads(0).unwrap_err().to_string());
    }
}
