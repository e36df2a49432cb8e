//! Addresses that are given apart from their links: `[name]: address`.

use pulldown_cmark::{BrokenLink, CowStr, Parser};

use super::OPTIONS;

/// Those of a text, with the block in or before which each is given.
#[derive(Debug, Clone, Default)]
pub(super) struct Links(Vec<Given>);

#[derive(Debug, Clone)]
struct Given {
    block: usize,
    name: String,
    address: String,
}

impl Links {
    pub(super) fn learn(&mut self, source: &str, block: usize) {
        if !source.contains("]:") {
            return;
        }
        let parser = Parser::new_ext(source, OPTIONS);
        let mut given: Vec<Given> = parser
            .reference_definitions()
            .iter()
            .map(|(name, link)| Given { block, name: folded(name), address: link.dest.to_string() })
            .collect();
        given.sort_by(|a, b| a.name.cmp(&b.name));
        self.0.extend(given);
    }

    /// What answers for links that a block does not explain itself: what was given in earlier blocks, the first first.
    pub(super) fn before(
        &self,
        block: usize,
    ) -> impl FnMut(BrokenLink<'_>) -> Option<(CowStr<'static>, CowStr<'static>)> {
        move |link| {
            let name = folded(&link.reference);
            let given =
                self.0.iter().take_while(|given| given.block < block).find(|given| given.name == name)?;
            Some((given.address.clone().into(), CowStr::Borrowed("")))
        }
    }
}

/// Names are the same whatever their case and blanks.
fn folded(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
