//! Pseudo-random numbers that are the same in every run.

/// A generator with a fixed seed (xorshift).
pub(crate) struct RandomNumbers(u64);

impl RandomNumbers {
    /// Creates a generator. Every seed gives other numbers.
    pub(crate) const fn new(seed: u64) -> Self {
        // The state must not be zero.
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// Returns a number below the bound, which must not be zero.
    pub(crate) fn random_below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap_or_default()
    }

    /// Returns one of the values.
    pub(crate) fn choose_from<'a, T>(&mut self, values: &'a [T]) -> Option<&'a T> {
        values.get(self.random_below(values.len().max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_only_on_seed() {
        let numbers = |seed| {
            let mut random = RandomNumbers::new(seed);
            (0..50).map(|_| random.random_below(10)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        assert!((0..10).all(|number| numbers(0).contains(&number)));
    }
}
