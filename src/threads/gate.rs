//! Work that is lent to helpers for as long as its lender is at it.
//!
//! A helper that comes late finds the gate closed and the lender gone: nobody waits for a thread to wake, which takes
//! 0.1 ms where cores are virtual and sleep, and as long as a time slice where they are busy. A lender waits only for
//! helpers that are inside.

#![expect(unsafe_code, reason = "helpers outlive what they borrow, and may come when it is gone")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;

/// The bit of [`Gate::state`] that says that nobody may enter any more. The others count those inside.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// How often a lender looks before it sleeps: some microseconds, in which most helpers are done.
const LOOKS: usize = 200;

/// Does `work` here, and at the same time in those of so many helpers that come before it is done here; `spawn` sends for
/// one. Returns when the last is done.
///
/// # Panics
///
/// If the work panics, wherever it does.
pub(super) fn lend<W: Fn() + Sync>(work: &W, helpers: usize, spawn: impl Fn(Box<dyn FnOnce() + Send>)) {
    let gate = Arc::new(Gate {
        work: std::ptr::from_ref(work).cast(),
        call: call::<W>,
        state: AtomicUsize::new(0),
        panic: Mutex::new(None),
        lender: std::thread::current(),
    });
    let closing = Closing(&gate);
    for _ in 0..helpers {
        let gate = Arc::clone(&gate);
        spawn(Box::new(move || gate.help()));
    }
    work();
    drop(closing);
    let panic = gate.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

struct Gate {
    /// There as long as somebody is inside, or the gate is open.
    work: *const (),
    /// Does the work.
    ///
    /// Safety: `work` is still there.
    call: unsafe fn(*const ()),
    /// Whether it is closed, and how many helpers are inside.
    state: AtomicUsize,
    /// What the first helper that panicked did so with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    lender: Thread,
}

// SAFETY: only the pointer keeps the gate from being so by itself. Threads share what it points to, which is `Sync`: `lend`
// demands it.
unsafe impl Send for Gate {}
// SAFETY: as above.
unsafe impl Sync for Gate {}

/// Does work of this type.
///
/// # Safety
///
/// The pointer is to a `W` that is there until the call returns.
unsafe fn call<W: Fn()>(work: *const ()) {
    // SAFETY: the caller promises it.
    unsafe { (*work.cast::<W>())() }
}

impl Gate {
    /// What a helper does: nothing if it is late.
    fn help(&self) {
        let open = |state| (state & CLOSED == 0).then_some(state + 1);
        if self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, open).is_err() {
            return;
        }
        let work = AssertUnwindSafe(|| {
            // SAFETY: this helper is inside, and came while the gate was open. It is closed before the work is gone, by
            // `Closing`, which then waits until nobody is inside.
            unsafe { (self.call)(self.work) }
        });
        if let Err(panic) = catch_unwind(work) {
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            if first.is_none() {
                *first = Some(panic);
            } else {
                std::mem::forget(panic); // to drop it may panic, and the lender would wait for ever
            }
        }
        // Released, so that the lender sees what was done here.
        if self.state.fetch_sub(1, Ordering::Release) == CLOSED + 1 {
            self.lender.unpark();
        }
    }
}

/// Closes a gate when it is dropped, also by a panic, and waits for those inside.
struct Closing<'g>(&'g Gate);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_or(CLOSED, Ordering::Relaxed);
        let mut looks = 0;
        while self.0.state.load(Ordering::Acquire) != CLOSED {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::park() }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::thread::JoinHandle;

    use super::*;

    /// Threads of their own, joined by [`lent`].
    fn lent(work: &(impl Fn() + Sync), helpers: usize) -> Result<(), Box<dyn Any + Send>> {
        let threads: RefCell<Vec<JoinHandle<()>>> = RefCell::default();
        let result = catch_unwind(AssertUnwindSafe(|| {
            lend(work, helpers, |helper| threads.borrow_mut().push(std::thread::spawn(helper)));
        }));
        for thread in threads.into_inner() {
            thread.join().expect("helpers do not panic");
        }
        result
    }

    #[test]
    fn what_helpers_did_is_seen() {
        for _ in 0..if cfg!(miri) { 3 } else { 500 } {
            let next = AtomicUsize::new(0);
            let done: Vec<_> = (0..8).map(|_| Mutex::new(0)).collect();
            let work = || {
                while let Some(mine) = done.get(next.fetch_add(1, Ordering::Relaxed)) {
                    *mine.lock().expect("nobody panics") += 1;
                }
            };
            lent(&work, 3).expect("nobody panics");
            assert!(done.into_iter().all(|times| times.into_inner().is_ok_and(|times| times == 1)));
        }
    }

    #[test]
    fn who_comes_late_does_nothing() {
        let late = RefCell::new(Vec::new());
        let times = AtomicUsize::new(0);
        let work = || {
            times.fetch_add(1, Ordering::Relaxed);
        };
        lend(&work, 2, |helper| late.borrow_mut().push(helper));
        for helper in late.take() {
            helper();
        }
        assert_eq!(1, times.into_inner());
    }

    #[test]
    fn a_panic_reaches_the_lender_when_all_are_done() {
        let lender = std::thread::current().id();
        let entered = AtomicUsize::new(0);
        let here = |wanted: bool| (std::thread::current().id() == lender) == wanted;
        for panics_here in [false, true] {
            entered.store(0, Ordering::Relaxed);
            let work = || {
                entered.fetch_add(1, Ordering::Relaxed);
                while entered.load(Ordering::Relaxed) < 2 {
                    std::thread::yield_now();
                }
                assert!(!here(panics_here), "as it should");
            };
            let panic = lent(&work, 1).expect_err("one panics");
            assert_eq!(Some(&"as it should"), panic.downcast_ref::<&str>());
        }
    }
}
