//! Which context is current on a thread.

use std::cell::RefCell;

thread_local! {
    /// (backend, ordinal), last pushed last. Several [`super::Host`]s may be in a process, each
    /// of which sees its own entries only.
    static STACK: RefCell<Vec<(usize, u32)>> = const { RefCell::new(Vec::new()) };
}

/// Makes a device of `backend` current.
pub(super) fn push(backend: usize, ordinal: u32) {
    STACK.with_borrow_mut(|stack| stack.push((backend, ordinal)));
}

/// Undoes the backend's last [`push`]; gives `false` if there was none.
pub(super) fn pop(backend: usize) -> bool {
    STACK.with_borrow_mut(
        |stack| match stack.iter().rposition(|(owner, _)| *owner == backend) {
            Some(index) => {
                stack.remove(index);
                true
            }
            None => false,
        },
    )
}

/// The current device's ordinal. A thread whose locals are gone already has none.
pub(super) fn current(backend: usize) -> Option<u32> {
    STACK
        .try_with(|stack| {
            let stack = stack.borrow();
            stack
                .iter()
                .rev()
                .find(|(owner, _)| *owner == backend)
                .map(|(_, ordinal)| *ordinal)
        })
        .ok()
        .flatten()
}
