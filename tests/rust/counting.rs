//! An allocator that counts, by thread, as the test harness has threads of its own.

#![expect(unsafe_code, reason = "an allocator is unsafe by its signature")]
#![allow(dead_code, reason = "no test asks for all of it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

fn tick(bytes: usize) {
    // At the very end of a thread there is no counter left, and nothing to count.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    let _ = BYTES.try_with(|sum| sum.set(sum.get().saturating_add(bytes)));
}

// SAFETY: every call goes on to the system's allocator unchanged; the counters are plain numbers and allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        tick(layout.size());
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        tick(size);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many allocations `work` makes on this thread.
pub(crate) fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

/// How many bytes `work` asks for on this thread, all told.
pub(crate) fn bytes(work: impl FnOnce()) -> usize {
    let before = BYTES.get();
    work();
    BYTES.get() - before
}
