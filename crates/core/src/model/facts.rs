//! Facts about a model that are known before a request: limits, prices, thinking levels.

use haft_protocol::message::TokenUsage;
use haft_protocol::thinking::ThinkingLevel;

/// The known facts of a model; `None` for unknown values.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelFacts {
    /// The display name.
    pub name: Option<String>,
    /// The context window in tokens.
    pub window: Option<u64>,
    /// The maximum length of an answer in tokens.
    pub max_output: Option<u64>,
    /// The supported thinking levels, lowest first. They include [`ThinkingLevel::Off`] if thinking can be disabled. A
    /// model that cannot think has only [`ThinkingLevel::Off`].
    pub thinking: Option<Vec<ThinkingLevel>>,
    /// True if the model accepts images.
    pub images: Option<bool>,
    /// The prices of its tokens.
    pub prices: Option<TokenPrices>,
}

/// The prices per million tokens, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TokenPrices {
    /// Uncached input.
    pub input: f64,
    /// Output, including thinking.
    pub output: f64,
    /// Input read from the provider's cache; defaults to [`TokenPrices::input`].
    pub cache_read: Option<f64>,
    /// Input written to the provider's cache; defaults to [`TokenPrices::input`].
    pub cache_write: Option<f64>,
}

impl ModelFacts {
    /// Returns these facts, with unknown values filled from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            name: self.name.or(other.name),
            window: self.window.or(other.window),
            max_output: self.max_output.or(other.max_output),
            thinking: self.thinking.or(other.thinking),
            images: self.images.or(other.images),
            prices: self.prices.or(other.prices),
        }
    }

    /// Returns the supported level nearest to `wanted`; `wanted` itself if the levels are unknown.
    pub fn clamp_thinking(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        self.thinking.as_ref().map_or(wanted, |levels| wanted.clamp_to(levels))
    }

    /// Sets [`name`](Self::name).
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Sets [`window`](Self::window).
    #[must_use]
    pub fn with_window(self, window: impl Into<Option<u64>>) -> Self {
        Self { window: window.into(), ..self }
    }

    /// Sets [`max_output`](Self::max_output).
    #[must_use]
    pub fn with_max_output(self, max_output: impl Into<Option<u64>>) -> Self {
        Self { max_output: max_output.into(), ..self }
    }

    /// Sets [`thinking`](Self::thinking).
    #[must_use]
    pub fn with_thinking(self, thinking: impl Into<Option<Vec<ThinkingLevel>>>) -> Self {
        Self { thinking: thinking.into(), ..self }
    }

    /// Sets [`images`](Self::images).
    #[must_use]
    pub fn with_images(self, images: impl Into<Option<bool>>) -> Self {
        Self { images: images.into(), ..self }
    }

    /// Sets [`prices`](Self::prices).
    #[must_use]
    pub fn with_prices(self, prices: impl Into<Option<TokenPrices>>) -> Self {
        Self { prices: prices.into(), ..self }
    }
}

impl TokenPrices {
    /// Creates prices; cached input costs as much as other input.
    pub fn new(input: f64, output: f64) -> Self {
        Self { input, output, cache_read: None, cache_write: None }
    }

    /// Returns the cost of these tokens in US dollars, ignoring the cost field of `usage`.
    pub fn cost(&self, usage: &TokenUsage) -> f64 {
        let priced = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read.unwrap_or(self.input)),
            (usage.cache_write, self.cache_write.unwrap_or(self.input)),
        ];
        // Token counts stay far below 2^53, so no precision is lost.
        priced.into_iter().map(|(tokens, price)| tokens as f64 * price / 1e6).sum()
    }

    /// Sets [`cache_read`](Self::cache_read).
    #[must_use]
    pub fn with_cache_read(self, cache_read: impl Into<Option<f64>>) -> Self {
        Self { cache_read: cache_read.into(), ..self }
    }

    /// Sets [`cache_write`](Self::cache_write).
    #[must_use]
    pub fn with_cache_write(self, cache_write: impl Into<Option<f64>>) -> Self {
        Self { cache_write: cache_write.into(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_price() {
        let usage = TokenUsage::default()
            .with_input(1_000_000)
            .with_output(100_000)
            .with_cache_read(500_000)
            .with_cache_write(10_000)
            .with_cost_usd(9.0);
        let prices = TokenPrices { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75) };
        assert!((prices.cost(&usage) - (3.0 + 1.5 + 0.15 + 0.0375)).abs() < 1e-9);
        let plain = TokenPrices { cache_read: None, cache_write: None, ..prices };
        assert!((plain.cost(&usage) - (3.0 + 1.5 + 1.5 + 0.03)).abs() < 1e-9);
        assert_eq!(prices.cost(&TokenUsage::default()), 0.0);
    }

    #[test]
    fn the_first_facts_win() {
        let own = ModelFacts { window: Some(1), ..ModelFacts::default() };
        let other = ModelFacts { window: Some(2), max_output: Some(3), ..ModelFacts::default() };
        assert_eq!(
            own.or(other),
            ModelFacts { window: Some(1), max_output: Some(3), ..ModelFacts::default() }
        );
    }

    #[test]
    fn unknown_levels_are_not_clamped() {
        let levels = vec![ThinkingLevel::Off, ThinkingLevel::Low];
        let known = ModelFacts { thinking: Some(levels), ..ModelFacts::default() };
        assert_eq!(known.clamp_thinking(ThinkingLevel::XHigh), ThinkingLevel::Low);
        assert_eq!(ModelFacts::default().clamp_thinking(ThinkingLevel::XHigh), ThinkingLevel::XHigh);
    }
}
