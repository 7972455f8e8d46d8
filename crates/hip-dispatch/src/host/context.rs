//! Which context is current on a thread.

use std::cell::RefCell;
use std::mem::ManuallyDrop;

/// (backend, ordinal). Several [`super::Host`]s may be in a process, each of which sees its own
/// entries only.
type Entry = (usize, u32);

/// Entries that need no heap: who pushes more has guards within guards within guards.
const INLINE: usize = 8;

/// What was pushed, last pushed last.
///
/// Without a destructor, so that it is there as long as the thread is: objects that a thread keeps
/// in its locals are dropped when other locals are gone already, and need a context for that.
struct Stack {
    few: [Entry; INLINE],
    /// Entries in `few`.
    len: usize,
    /// What does not fit; gives its memory back when it is empty.
    more: ManuallyDrop<Vec<Entry>>,
}

thread_local! {
    static STACK: RefCell<Stack> = const {
        RefCell::new(Stack { few: [(0, 0); INLINE], len: 0, more: ManuallyDrop::new(Vec::new()) })
    };
}

impl Stack {
    fn push(&mut self, entry: Entry) {
        if self.len < INLINE {
            self.few[self.len] = entry;
            self.len += 1;
        } else {
            self.more.push(entry);
        }
    }

    /// Takes out the last entry of `backend`; `false` if there is none.
    fn pop(&mut self, backend: usize) -> bool {
        if let Some(index) = self.more.iter().rposition(|entry| entry.0 == backend) {
            self.more.remove(index);
        } else if let Some(index) = self.few().iter().rposition(|entry| entry.0 == backend) {
            self.few.copy_within(index + 1..self.len, index);
            self.len -= 1;
            if !self.more.is_empty() {
                self.few[self.len] = self.more.remove(0);
                self.len += 1;
            }
        } else {
            return false;
        }
        if self.more.is_empty() && self.more.capacity() > 0 {
            *self.more = Vec::new();
        }
        true
    }

    fn few(&self) -> &[Entry] {
        &self.few[..self.len]
    }

    fn current(&self, backend: usize) -> Option<u32> {
        let mut last_first = self.more.iter().rev().chain(self.few().iter().rev());
        let entry = last_first.find(|entry| entry.0 == backend)?;
        Some(entry.1)
    }
}

/// Makes a device of `backend` current.
pub(super) fn push(backend: usize, ordinal: u32) {
    STACK.with_borrow_mut(|stack| stack.push((backend, ordinal)));
}

/// Undoes the backend's last [`push`]; gives `false` if there was none.
pub(super) fn pop(backend: usize) -> bool {
    STACK.with_borrow_mut(|stack| stack.pop(backend))
}

/// The current device's ordinal.
pub(super) fn current(backend: usize) -> Option<u32> {
    STACK.with_borrow(|stack| stack.current(backend))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_backend_has_a_stack_of_its_own() {
        let (a, b) = (usize::MAX, usize::MAX - 1);
        assert!(!pop(a) && current(a).is_none());
        for depth in 0..3 * INLINE as u32 {
            push(a, depth);
            push(b, 100 + depth);
        }
        for depth in (0..3 * INLINE as u32).rev() {
            assert_eq!((current(a), current(b)), (Some(depth), Some(123)));
            assert!(pop(a));
        }
        assert_eq!((current(a), current(b)), (None, Some(123)));
        for depth in (0..3 * INLINE as u32).rev() {
            assert_eq!(current(b), Some(100 + depth));
            assert!(pop(b));
        }
        assert!(!pop(b));
        STACK.with_borrow(|stack| assert_eq!((stack.len, stack.more.capacity()), (0, 0)));
    }
}
