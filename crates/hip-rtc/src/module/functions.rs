//! The kernels of a module that were looked up, found again by name without a lock.

use std::sync::{Arc, OnceLock};

use super::function::State;

/// A list that only grows, in the order in which kernels were first asked for: a module has few
/// kernels (our largest about 40), and most programs ask for one or two. Comparing a name costs
/// 2 ns, where a hash map behind a lock took 70 ns of a launch.
#[derive(Default)]
pub(super) struct Functions {
    first: OnceLock<Box<Node>>,
}

struct Node {
    state: Arc<State>,
    next: OnceLock<Box<Node>>,
}

impl Functions {
    /// The kernel of that name, if it was looked up before.
    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<&Arc<State>> {
        let mut slot = &self.first;
        while let Some(node) = slot.get() {
            if node.state.name() == name {
                return Some(&node.state);
            }
            slot = &node.next;
        }
        None
    }

    /// Keeps a kernel; gives the one of that name that another thread has kept meanwhile, if there
    /// is one.
    pub(super) fn keep(&self, state: State) -> &Arc<State> {
        let state = Arc::new(state);
        let mut slot = &self.first;
        loop {
            let node = slot.get_or_init(|| {
                Box::new(Node {
                    state: state.clone(),
                    next: OnceLock::new(),
                })
            });
            // This one's own, or another thread's.
            if node.state.name() == state.name() {
                return &node.state;
            }
            slot = &node.next;
        }
    }
}

impl Drop for Functions {
    fn drop(&mut self) {
        // One by one: a long list would use up the stack, each node dropping the next.
        let mut next = self.first.take();
        while let Some(mut node) = next {
            next = node.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use hip_dispatch::FunctionHandle;

    use super::*;

    fn state(name: &str) -> State {
        State::new(name, FunctionHandle::from_raw(std::ptr::null_mut()), None)
    }

    #[test]
    fn a_kernel_is_found_by_its_whole_name() {
        let functions = Functions::default();
        assert!(functions.get("scale").is_none());
        for name in ["scale", "scaled", "scal", ""] {
            functions.keep(state(name));
        }
        for name in ["scale", "scaled", "scal", ""] {
            assert_eq!(functions.get(name).unwrap().name(), name);
        }
        assert!(functions.get("scales").is_none() && functions.get("Scale").is_none());
    }

    #[test]
    fn the_first_of_a_name_stays() {
        let functions = Functions::default();
        let first = Arc::as_ptr(functions.keep(state("k")));
        functions.keep(state("other"));
        assert_eq!(Arc::as_ptr(functions.keep(state("k"))), first);
        assert_eq!(Arc::as_ptr(functions.get("k").unwrap()), first);
    }

    #[test]
    fn threads_that_look_up_at_once_get_the_same() {
        const THREADS: usize = 4;
        let names: Vec<String> = (0..32).map(|number| format!("k{number}")).collect();
        let (functions, start) = (Functions::default(), Barrier::new(THREADS));
        let look_up = |thread: usize| {
            start.wait();
            // Each begins elsewhere, so that every slot is fought over.
            let order = (0..names.len()).map(|index| (index + 8 * thread) % names.len());
            let mut found: Vec<(usize, usize)> = order
                .map(|index| {
                    let name = &names[index];
                    let kept = functions
                        .get(name)
                        .unwrap_or_else(|| functions.keep(state(name)));
                    assert_eq!(kept.name(), name);
                    (index, Arc::as_ptr(kept).addr())
                })
                .collect();
            found.sort();
            found
        };
        let found = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| scope.spawn(move || look_up(thread)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect::<Vec<_>>()
        });
        assert!(found.iter().all(|other| *other == found[0]));
    }

    #[test]
    #[cfg_attr(miri, ignore = "so many kernels take an interpreter too long")]
    fn a_long_list_goes_without_recursion() {
        let functions = Functions::default();
        // Appended by hand: `keep` would walk the list for each.
        let mut slot = &functions.first;
        for number in 0..200_000 {
            let node = slot.get_or_init(|| {
                Box::new(Node {
                    state: Arc::new(state(&number.to_string())),
                    next: OnceLock::new(),
                })
            });
            slot = &node.next;
        }
        drop(functions);
    }
}
