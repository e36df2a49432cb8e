//! `haft --list-models`: the models of local servers, those of `models.json`, and the known ones.

use std::collections::HashMap;

use haft_config::{MachineWithKeys, Settings};
use haft_core::model::{ModelFacts, ThinkingLevel, TokenPrices};
use haft_protocol::rpc;
use haft_providers::{is_usable, local_servers, model_catalog};
use serde_json::{Value, json};

use crate::console::print;
use crate::exit::Exit;
use crate::setup::RunSetup;

/// The sources of models that no server listed.
const BUILT_IN: &str = "built-in";
const MODELS_FILE: &str = "models.json";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelListFormat {
    /// Columns for people: as wide as the terminal, or one line per model without a terminal.
    Table(Option<usize>),
    /// One JSON object per line.
    Json,
}

#[derive(Debug, Clone, PartialEq)]
struct ListedModel {
    provider: String,
    model: String,
    facts: ModelFacts,
    /// The source: `port N`, `models.json`, `built-in`.
    source: String,
    deprecated: bool,
}

/// Prints the models whose name contains `pattern`, ignoring case.
pub(super) async fn print_model_list(
    setup: &RunSetup,
    pattern: Option<&str>,
    form: ModelListFormat,
) -> anyhow::Result<Exit> {
    let Settings { provider, model, .. } = setup.settings();
    // A provider prefix in a model name does not restrict the list.
    let carried = |origin| model.as_ref().is_some_and(|model| model.origin == origin);
    let only = provider.as_ref().filter(|set| !carried(set.origin.clone())).map(|set| set.value.as_str());
    let pattern = pattern.unwrap_or_default().to_lowercase();
    let mut models = gather_models(setup).await;
    models.retain(|listed| {
        only.is_none_or(|only| only == listed.provider)
            && listed.matches_pattern(&pattern)
            && !listed.deprecated
    });
    let rows = match form {
        ModelListFormat::Json => models.iter().map(|listed| listed.to_json().to_string()).collect(),
        ModelListFormat::Table(width) => render_table(&models, width),
    };
    for row in rows {
        print(&row)?;
    }
    if models.is_empty() {
        return Exit::Failure
            .fail("no known model matches; if a provider offers it, use --provider and --model");
    }
    Ok(Exit::Ok)
}

/// Returns all models for clients, except deprecated ones.
pub(crate) async fn for_clients(setup: &RunSetup) -> Vec<rpc::ModelInfo> {
    let machine = MachineWithKeys::new(&setup.auth);
    let listed = gather_models(setup).await;
    let is_served = |provider: &str| {
        listed.iter().any(|listed| {
            listed.provider == provider && ![BUILT_IN, MODELS_FILE].contains(&listed.source.as_str())
        })
    };
    let mut available = HashMap::new();
    let mut infos = Vec::new();
    for model in listed.iter().filter(|listed| !listed.deprecated) {
        let is_available = *available.entry(model.provider.as_str()).or_insert_with(|| {
            is_usable(&model.provider, &setup.models, &machine) || is_served(&model.provider)
        });
        let info = model.clone().into_model_info();
        infos.push(rpc::ModelInfo { available: (!is_available).then_some(false), ..info });
    }
    infos
}

/// Returns the ids of all models of a provider.
pub(super) async fn model_ids(setup: &RunSetup, provider: &str) -> Vec<String> {
    let listed = gather_models(setup).await.into_iter();
    listed.filter(|listed| listed.provider == provider).map(|listed| listed.model).collect()
}

/// Returns all models. An entry of `models.json` replaces other entries of the same model.
async fn gather_models(setup: &RunSetup) -> Vec<ListedModel> {
    let own = setup.models.models().map(|own| ListedModel {
        provider: own.provider,
        model: own.model,
        facts: own.facts,
        source: MODELS_FILE.to_owned(),
        deprecated: false,
    });
    let own: Vec<ListedModel> = own.collect();
    let served = local_servers(&setup.models, &MachineWithKeys::new(&setup.auth)).await.into_iter().flat_map(
        |server| {
            let source = server.location();
            server.models.into_iter().map(move |model| ListedModel {
                provider: server.preset.name.to_owned(),
                model,
                facts: ModelFacts::default(),
                source: source.clone(),
                deprecated: false,
            })
        },
    );
    let known = model_catalog().into_iter().map(|known| ListedModel {
        provider: known.provider.to_owned(),
        model: known.model,
        facts: known.facts,
        source: BUILT_IN.to_owned(),
        deprecated: known.deprecated,
    });
    let others: Vec<ListedModel> =
        served.chain(known).filter(|listed| !own.iter().any(|own| own.is_same_model(listed))).collect();
    own.into_iter().chain(others).collect()
}

impl ListedModel {
    fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    fn is_same_model(&self, other: &Self) -> bool {
        self.provider == other.provider && self.model == other.model
    }

    fn matches_pattern(&self, pattern: &str) -> bool {
        let names = [Some(self.name()), self.facts.name.clone()];
        names.into_iter().flatten().any(|name| name.to_lowercase().contains(pattern))
    }

    fn to_json(&self) -> Value {
        let facts = &self.facts;
        json!({
            "provider": self.provider,
            "model": self.model,
            "name": facts.name,
            "window": facts.window,
            "max_output": facts.max_output,
            "thinking": facts.thinking,
            "images": facts.images,
            "prices": facts.prices.map(|prices| json!({
                "input": prices.input,
                "output": prices.output,
                "cache_read": prices.cache_read,
                "cache_write": prices.cache_write,
            })),
            "source": self.source,
        })
    }

    fn into_model_info(self) -> rpc::ModelInfo {
        let ModelFacts { name, window, max_output, thinking, images, prices, .. } = self.facts;
        let prices = prices.map(|TokenPrices { input, output, .. }| rpc::ModelPrices { input, output });
        rpc::ModelInfo {
            id: self.model,
            provider: self.provider,
            context_window: window.unwrap_or_default(),
            max_output: max_output.unwrap_or_default(),
            reasoning: thinking.iter().flatten().any(|level| *level > ThinkingLevel::Off),
            name,
            thinking,
            images,
            prices,
            available: None,
        }
    }

    /// Returns the columns after the name: window, output, thinking, prices, source.
    fn columns(&self) -> [String; 5] {
        let facts = &self.facts;
        let size = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), short_token_count);
        let prices = facts.prices.map_or_else(|| "?".to_owned(), price_text);
        [
            size(facts.window),
            size(facts.max_output),
            thinking_range(facts.thinking.as_deref()),
            prices,
            self.source.clone(),
        ]
    }
}

/// The headings of the columns after the name.
const HEADS: [&str; 5] = ["WINDOW", "OUTPUT", "THINKING", "$/M IN/OUT", "FROM"];

/// Renders rows for people. On a terminal, a name that is too long has a row of its own.
fn render_table(models: &[ListedModel], width: Option<usize>) -> Vec<String> {
    /// The maximum width on a wide terminal, in columns.
    const WIDEST: usize = 120;
    if models.is_empty() {
        return Vec::new();
    }
    let cells: Vec<[String; 5]> = models.iter().map(ListedModel::columns).collect();
    let mut widths = [0; 5];
    let heads = HEADS.map(str::to_owned);
    for row in cells.iter().chain([&heads]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let rest: usize = widths.iter().map(|width| width + 2).sum();
    let longest = models.iter().map(|listed| listed.name().chars().count()).max().unwrap_or_default();
    let room = width.map_or(longest, |width| longest.min(width.min(WIDEST).saturating_sub(rest + 1)).max(5));
    let line = |name: &str, row: &[String; 5]| {
        let mut line = format!("{name:<room$}");
        for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Numbers are aligned to the right.
            line += &if index < 2 { format!("  {cell:>width$}") } else { format!("  {cell:<width$}") };
        }
        line.trim_end().to_owned()
    };
    let heads = line("MODEL", &heads);
    let rows = models.iter().zip(&cells).flat_map(|(listed, row)| {
        let name = listed.name();
        if name.chars().count() <= room { vec![line(&name, row)] } else { vec![name, line("", row)] }
    });
    [heads].into_iter().chain(rows).collect()
}

/// Formats a number of tokens.
fn short_token_count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ if (tokens / 100_000).is_multiple_of(10) => format!("{}M", tokens / 1_000_000),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens / 100_000 % 10),
    }
}

/// Formats the lowest and the highest thinking level.
fn thinking_range(levels: Option<&[ThinkingLevel]>) -> String {
    match levels {
        None => "?".to_owned(),
        Some([least, .., most]) => format!("{least}–{most}"),
        Some([only]) if *only > ThinkingLevel::Off => only.to_string(),
        Some(_) => "–".to_owned(),
    }
}

fn price_text(prices: TokenPrices) -> String {
    if prices.input == 0.0 && prices.output == 0.0 {
        return "free".to_owned();
    }
    format!("{}/{}", dollar_text(prices.input), dollar_text(prices.output))
}

/// Formats dollars without trailing zeros.
fn dollar_text(price: f64) -> String {
    let text = format!("{price:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(model: &str, facts: ModelFacts) -> ListedModel {
        ListedModel {
            provider: "p".into(),
            model: model.into(),
            facts,
            source: "built-in".into(),
            deprecated: false,
        }
    }

    fn facts() -> ModelFacts {
        ModelFacts::default()
            .with_window(1_050_000)
            .with_max_output(64_000)
            .with_thinking(vec![ThinkingLevel::Off, ThinkingLevel::High])
            .with_prices(TokenPrices::new(0.075, 15.0))
    }

    #[test]
    fn lists_models_for_clients() {
        let known = listed("m", facts()).into_model_info();
        assert_eq!((known.provider.as_str(), known.id.as_str()), ("p", "m"));
        assert_eq!((known.context_window, known.max_output, known.reasoning), (1_050_000, 64_000, true));
        let unknown = listed("m", ModelFacts::default()).into_model_info();
        assert_eq!((unknown.context_window, unknown.max_output, unknown.reasoning), (0, 0, false));
        assert_eq!((unknown.name, unknown.thinking, unknown.images), (None, None, None));
        let off = ModelFacts::default().with_thinking(vec![ThinkingLevel::Off]);
        assert!(!listed("m", off).into_model_info().reasoning);
    }

    #[test]
    fn keeps_columns_of_unknown_values() {
        let models = [listed("short", facts()), listed("a-longer-one", ModelFacts::default())];
        insta::assert_snapshot!(render_table(&models, None).join("\n"), @r"
        MODEL           WINDOW  OUTPUT  THINKING  $/M IN/OUT  FROM
        p/short             1M     64k  off–high  0.075/15    built-in
        p/a-longer-one       ?       ?  ?         ?           built-in
        ");
        insta::assert_snapshot!(render_table(&models, Some(58)).join("\n"), @r"
        MODEL      WINDOW  OUTPUT  THINKING  $/M IN/OUT  FROM
        p/short        1M     64k  off–high  0.075/15    built-in
        p/a-longer-one
                        ?       ?  ?         ?           built-in
        ");
    }

    #[test]
    fn fits_rows_into_terminal() {
        let long = "x".repeat(60);
        let rows = render_table(&[listed(&long, facts()), listed("m", facts())], Some(80));
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().all(|row| row.chars().count() <= 80), "{rows:#?}");
    }

    #[test]
    fn shortens_numbers() {
        for (tokens, expect) in
            [(999, "999"), (8_192, "8k"), (200_000, "200k"), (1_000_000, "1M"), (1_048_576, "1M")]
        {
            assert_eq!(short_token_count(tokens), expect);
        }
        assert_eq!(
            (short_token_count(1_500_000).as_str(), dollar_text(3.0).as_str(), dollar_text(0.3).as_str()),
            ("1.5M", "3", "0.3")
        );
        let free = TokenPrices::new(0.0, 0.0);
        assert_eq!(price_text(free), "free");
        assert_eq!(
            (thinking_range(Some(&[ThinkingLevel::Off])), thinking_range(Some(&[]))),
            ("–".to_owned(), "–".to_owned())
        );
    }
}
