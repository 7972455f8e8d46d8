//! The happens-before checker: was every access to memory ordered after those that it conflicts
//! with?
//!
//! Actors are streams and host threads, each with a vector clock. Work takes over what the thread
//! that enqueues it knows; waits for events, and calls that block, pass knowledge on. What threads
//! tell each other outside the library (a mutex, a channel, a join) cannot be seen, so there are
//! two verdicts: a *race* is an access that no thread at all had seen finished; an access that
//! some other thread had seen finished is *unproven*: right if the threads speak to each other.
//!
//! Freeing memory waits for all work on both vendors; no program should count on that, so it passes
//! no knowledge on here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::clock::{Actor, Clock, Epoch, Timeline};

/// Bytes in memory: `rows` rows of `width` bytes, `stride` apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// Address of the first byte.
    pub start: u64,
    /// Bytes from row to row; not 0.
    pub stride: u64,
    /// Bytes of a row; at most the stride where there is more than one row, not 0.
    pub width: u64,
    /// Rows; not 0.
    pub rows: u64,
}

impl Area {
    /// Bytes in a row.
    pub fn linear(start: u64, bytes: u64) -> Area {
        Area {
            start,
            stride: bytes.max(1),
            width: bytes,
            rows: 1,
        }
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.start + self.stride * (self.rows - 1) + self.width
    }

    fn is_linear(&self) -> bool {
        self.rows == 1 || self.stride == self.width
    }

    /// Whether the two share a byte.
    pub fn overlaps(&self, other: &Area) -> bool {
        if self.start >= other.end() || other.start >= self.end() {
            return false;
        }
        if self.is_linear() && other.is_linear() {
            return true;
        }
        // Rows of one picture share no byte if their columns do not. A row may run over the end
        // of the picture's line, into the next: then nothing is known.
        let strides = [self, other].map(|area| if area.rows > 1 { area.stride } else { 0 });
        let stride = strides[0].max(strides[1]);
        if strides.iter().any(|own| *own != 0 && *own != stride) {
            return true;
        }
        let base = self.start.min(other.start);
        let columns = [self, other].map(|area| {
            let left = (area.start - base) % stride;
            (left, left + area.width)
        });
        if columns.iter().any(|(_, right)| *right > stride) {
            return true;
        }
        columns[0].0 < columns[1].1 && columns[1].0 < columns[0].1
    }

    /// Whether every byte of `other` is one of this.
    fn covers(&self, other: &Area) -> bool {
        self == other || self.is_linear() && self.start <= other.start && other.end() <= self.end()
    }
}

/// An access that was made.
#[derive(Debug, Clone)]
pub struct Access {
    /// Where.
    pub area: Area,
    /// Whether it writes.
    pub write: bool,
    /// When.
    pub epoch: Epoch,
    /// The call, and for a launch the kernel.
    pub what: Arc<str>,
    /// Where it runs and who asked for it, for people.
    pub on: Arc<str>,
}

/// What is remembered of the accesses to a block of memory.
#[derive(Debug, Clone, Default)]
pub struct History(Vec<Access>);

/// An access that was not ordered after an earlier one.
#[derive(Debug)]
pub struct Finding {
    /// Some thread had seen the earlier one finished.
    pub unproven: bool,
    /// In words.
    pub text: String,
}

impl History {
    /// Adds an access by somebody who knows `clock`; `hosts` is what any thread knows.
    pub fn add(&mut self, access: Access, clock: &Clock, hosts: &Clock) -> Vec<Finding> {
        let conflicts = self.0.iter().filter(|earlier| {
            (earlier.write || access.write)
                && !clock.knows(earlier.epoch)
                && earlier.area.overlaps(&access.area)
        });
        let findings = conflicts
            .map(|earlier| {
                let unproven = hosts.knows(earlier.epoch);
                let verdict = if unproven { "unproven order" } else { "race" };
                let text = format!("{verdict}: {access}, not ordered after: {earlier}");
                Finding { unproven, text }
            })
            .collect();
        self.0.retain(|earlier| {
            // A write stands for all that it follows; an actor's later read for its earlier one.
            let replaced =
                access.write || !earlier.write && earlier.epoch.actor == access.epoch.actor;
            !(replaced && access.area.covers(&earlier.area))
        });
        self.0.push(access);
        findings
    }

    /// Whose accesses are remembered.
    pub fn actors(&self) -> impl Iterator<Item = Actor> {
        self.0.iter().map(|access| access.epoch.actor)
    }
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (verb, area) = (if self.write { "writes" } else { "reads" }, &self.area);
        let (what, on) = (&self.what, &self.on);
        write!(
            f,
            "{what} on {on} {verb} {:#x}..{:#x}",
            area.start,
            area.end()
        )
    }
}

/// The actors.
#[derive(Debug, Default)]
pub struct Order {
    last_actor: Actor,
    threads: HashMap<u64, Timeline>,
    /// What any thread knows, or has done.
    hosts: Clock,
    /// Actors made since clocks were last swept.
    unswept: u32,
}

/// New actors after which clocks are swept.
const SWEEP: u32 = 256;

impl Order {
    /// A new actor that knows what `clock` knows.
    pub fn actor(&mut self, clock: Clock) -> Timeline {
        self.last_actor += 1;
        self.unswept += 1;
        Timeline::new(self.last_actor, clock)
    }

    /// A thread's timeline. A thread seen for the first time knows what any other knows: whoever
    /// started it may have told it.
    pub fn thread(&mut self, thread: u64) -> &mut Timeline {
        if !self.threads.contains_key(&thread) {
            let timeline = self.actor(self.hosts.clone());
            self.threads.insert(thread, timeline);
        }
        match self.threads.get_mut(&thread) {
            Some(timeline) => timeline,
            None => unreachable!("inserted above"),
        }
    }

    /// The thread saw that everything `clock` knows is over.
    pub fn host_learns(&mut self, thread: u64, clock: &Clock) {
        self.thread(thread).clock.join(clock);
        self.hosts.join(clock);
    }

    /// The thread's next moment, for an access of its own.
    pub fn host_acts(&mut self, thread: u64) -> (Epoch, Clock) {
        let timeline = self.thread(thread);
        let epoch = timeline.tick();
        let clock = timeline.clock.clone();
        self.hosts.learn(epoch);
        (epoch, clock)
    }

    /// The thread ended.
    pub fn forget_thread(&mut self, thread: u64) {
        self.threads.remove(&thread);
    }

    /// What any thread knows.
    pub fn hosts(&self) -> &Clock {
        &self.hosts
    }

    /// Whether it is time for [`Order::sweep`].
    pub fn is_cluttered(&self) -> bool {
        self.unswept >= SWEEP
    }

    /// Drops actors from the threads' clocks that are gone and that no access is remembered of;
    /// `named` are those that something else refers to. Gives the actors to keep.
    pub fn sweep(&mut self, mut named: HashSet<Actor>) -> HashSet<Actor> {
        named.extend(self.threads.values().map(|timeline| timeline.actor));
        self.unswept = 0;
        self.hosts.retain(|actor| named.contains(&actor));
        for timeline in self.threads.values_mut() {
            timeline.clock.retain(|actor| named.contains(&actor));
        }
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(start: u64, stride: u64, width: u64, rows: u64) -> Area {
        Area {
            start,
            stride,
            width,
            rows,
        }
    }

    #[test]
    fn areas_overlap_where_bytes_do() {
        let brute = |a: &Area, b: &Area| {
            let bytes = |area: &Area| -> HashSet<u64> {
                let area = *area;
                let row = |row| (0..area.width).map(move |x| area.start + row * area.stride + x);
                (0..area.rows).flat_map(row).collect()
            };
            !bytes(a).is_disjoint(&bytes(b))
        };
        let mut checked = 0;
        for start in 0..24 {
            for width in 1..=8 {
                for (other, exact) in [
                    (rows(8, 8, 3, 2), true),
                    (rows(8, 8, 8, 2), true),
                    (rows(12, 4, 4, 1), true),
                    (rows(9, 5, 2, 2), false),
                ] {
                    for mine in [rows(start, 8, width, 2), Area::linear(start, width)] {
                        let (found, expected) = (mine.overlaps(&other), brute(&mine, &other));
                        assert!(found || !expected, "{mine:?} {other:?} missed");
                        assert_eq!(found, other.overlaps(&mine), "{mine:?} {other:?}");
                        // Rows that run over a line's end are the one thing guessed at.
                        let wraps = [&mine, &other].iter().any(|area| {
                            let base = mine.start.min(other.start);
                            (area.start - base) % 8 + area.width > 8
                        });
                        if exact && !wraps {
                            assert_eq!(found, expected, "{mine:?} {other:?}");
                            checked += 1;
                        }
                    }
                }
            }
        }
        assert!(checked > 300, "{checked}");
    }

    fn access(epoch: Epoch, area: Area, write: bool) -> Access {
        let (what, on) = ("copy".into(), "a stream".into());
        Access {
            area,
            write,
            epoch,
            what,
            on,
        }
    }

    #[test]
    fn conflicts_that_are_not_ordered_are_found() {
        let mut order = Order::default();
        let mut streams = [0; 2].map(|_| order.actor(Clock::default()));
        let mut history = History::default();
        let area = Area::linear(100, 10);
        let first = streams[0].tick();
        let clock = streams[0].clock.clone();
        assert!(
            history
                .add(access(first, area, true), &clock, order.hosts())
                .is_empty()
        );
        // Another stream reads elsewhere, then the same without and with a wait.
        for (start, wait, races) in [(110, false, 0), (105, false, 1), (105, true, 0)] {
            if wait {
                streams[1].clock.join(&clock);
            }
            let epoch = streams[1].tick();
            let read = access(epoch, Area::linear(start, 10), false);
            let found = history.clone().add(read, &streams[1].clock, order.hosts());
            assert_eq!(found.len(), races, "{start} {wait}");
            assert!(found.iter().all(|finding| !finding.unproven));
        }
        // Reads do not conflict; a write over them does.
        let second = streams[0].tick();
        let write = access(second, area, true);
        let read = access(streams[1].tick(), area, false);
        assert!(
            history
                .add(read, &streams[1].clock, order.hosts())
                .is_empty()
        );
        assert_eq!(
            history.add(write, &streams[0].clock, order.hosts()).len(),
            1
        );
        assert_eq!(
            history.actors().count(),
            1,
            "a write stands for what it covers"
        );
    }

    #[test]
    fn what_another_thread_saw_is_unproven() {
        let mut order = Order::default();
        let mut stream = order.actor(Clock::default());
        order.thread(2);
        let write = access(stream.tick(), Area::linear(0, 4), true);
        let mut history = History::default();
        history.add(write, &stream.clock, order.hosts());
        order.host_learns(1, &stream.clock);
        let (epoch, clock) = order.host_acts(2);
        let read = access(epoch, Area::linear(0, 4), false);
        let found = history.clone().add(read, &clock, order.hosts());
        assert!(
            matches!(&found[..], [Finding { unproven: true, .. }]),
            "{found:?}"
        );
        let (epoch, clock) = order.host_acts(1);
        let read = access(epoch, Area::linear(0, 4), false);
        assert!(history.add(read, &clock, order.hosts()).is_empty());
    }

    #[test]
    fn a_sweep_forgets_only_what_nobody_asks_about() {
        let mut order = Order::default();
        let mut gone = order.actor(Clock::default());
        let mut kept = order.actor(Clock::default());
        let epochs = [gone.tick(), kept.tick()];
        order.host_learns(1, &gone.clock);
        order.host_learns(1, &kept.clock);
        let named = order.sweep(HashSet::from([kept.actor]));
        assert!(named.contains(&kept.actor) && !named.contains(&gone.actor));
        assert_eq!(
            epochs.map(|epoch| order.hosts().knows(epoch)),
            [false, true]
        );
    }
}
