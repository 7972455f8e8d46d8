//! A seeded generator, so that a failing case can be named by a number.

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014):
/// a counter with an odd increment, put through a 64-bit mixing function.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A generator whose whole sequence follows from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number in `0..bound`, by the high half of a 64×64-bit product (bias below `bound`/2^64).
    ///
    /// # Panics
    /// If `bound` is 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a random number below 0 was asked for");
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// A number in `low..=high`.
    ///
    /// # Panics
    /// If `low` is above `high`.
    pub const fn between(&mut self, low: usize, high: usize) -> usize {
        assert!(low <= high, "an empty interval was asked for");
        low + self.below((high - low) as u64 + 1) as usize
    }

    /// A number in `0.0..1.0`, a multiple of 2^-53.
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of the elements of `choices`.
    ///
    /// # Panics
    /// If `choices` is empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// The mixing function of SplitMix64: a bijection of the 64-bit numbers.
pub(crate) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_numbers_of_seed_0_are_the_published_ones() {
        let mut rng = Rng::new(0);
        assert_eq!(rng.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(rng.next_u64(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut rng = Rng::new(3);
        let mut seen = [0u32; 5];
        for _ in 0..500 {
            seen[rng.between(3, 7) - 3] += 1;
            assert!((0.0..1.0).contains(&rng.unit()));
        }
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }
}
