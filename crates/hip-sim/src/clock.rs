//! Vector clocks.

/// One who does things in an order of its own: a stream or a host thread. Never used twice.
pub type Actor = u32;

/// A moment of one actor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    /// Whose.
    pub actor: Actor,
    /// Counts from 1.
    pub time: u64,
}

/// What somebody knows to be over: for each actor, the last moment of it. Sorted by actor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clock(Vec<(Actor, u64)>);

impl Clock {
    /// The last moment of `actor` that is over, 0 if none is.
    pub fn get(&self, actor: Actor) -> u64 {
        match self.0.binary_search_by_key(&actor, |(actor, _)| *actor) {
            Ok(index) => self.0[index].1,
            Err(_) => 0,
        }
    }

    /// Whether the moment is over.
    pub fn knows(&self, epoch: Epoch) -> bool {
        self.get(epoch.actor) >= epoch.time
    }

    /// Makes a moment of an actor, and all before it, over.
    pub fn learn(&mut self, epoch: Epoch) {
        match self
            .0
            .binary_search_by_key(&epoch.actor, |(actor, _)| *actor)
        {
            Ok(index) => self.0[index].1 = self.0[index].1.max(epoch.time),
            Err(index) => self.0.insert(index, (epoch.actor, epoch.time)),
        }
    }

    /// Learns everything that `other` knows.
    pub fn join(&mut self, other: &Clock) {
        for &(actor, time) in &other.0 {
            self.learn(Epoch { actor, time });
        }
    }

    /// Forgets actors that nobody will ask about.
    pub fn retain(&mut self, keep: impl Fn(Actor) -> bool) {
        self.0.retain(|(actor, _)| keep(*actor));
    }
}

/// An actor and what it knows.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// Who.
    pub actor: Actor,
    /// What it knows, its own last moment included.
    pub clock: Clock,
}

impl Timeline {
    /// An actor that starts with what `clock` knows.
    pub fn new(actor: Actor, clock: Clock) -> Timeline {
        Timeline { actor, clock }
    }

    /// The next moment.
    pub fn tick(&mut self) -> Epoch {
        let epoch = Epoch {
            actor: self.actor,
            time: self.clock.get(self.actor) + 1,
        };
        self.clock.learn(epoch);
        epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_is_passed_on_and_nothing_else() {
        let mut a = Timeline::new(1, Clock::default());
        let mut b = Timeline::new(2, Clock::default());
        let (first, second) = (a.tick(), a.tick());
        let snapshot = a.clock.clone();
        let third = a.tick();
        b.tick();
        b.clock.join(&snapshot);
        let known = [first, second, third].map(|epoch| b.clock.knows(epoch));
        assert_eq!(known, [true, true, false]);
        assert_eq!((b.clock.get(2), a.clock.get(2), third.time), (1, 0, 3));
        b.clock.retain(|actor| actor == 2);
        assert_eq!((b.clock.get(1), b.clock.get(2)), (0, 1));
    }
}
