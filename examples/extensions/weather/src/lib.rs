//! Example extension `weather`: a tool for the model. The weather is invented, but always the same
//! for a city.

use haft_sdk::{Extension, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

/// The arguments of the tool. The doc comments become the descriptions in the schema.
#[derive(Debug, Deserialize, JsonSchema)]
struct CityLocation {
    /// Name of the city, for example `Berlin`.
    city: String,
}

/// The user's settings in `[extension.weather]` of `config.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    units: Units,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Units {
    #[default]
    Celsius,
    Fahrenheit,
}

/// The extension: one tool, `weather`.
pub fn extension() -> Extension {
    Extension::new("weather", "1.0.0")
        .tool("weather", "Get the current weather for a city.", |location: CityLocation, host| async move {
            let city = location.city.trim();
            if city.is_empty() {
                return ToolResult::error("city must not be empty");
            }
            match host.config::<Settings>().await {
                Ok(settings) => ToolResult::text(report(city, settings.units)),
                Err(error) => ToolResult::error(error.to_string()),
            }
        })
        .guideline("weather", "Call `weather` for the weather of a city instead of guessing it.")
}

fn report(city: &str, units: Units) -> String {
    const SKIES: [&str; 6] = ["sunny", "cloudy", "fog", "light rain", "thunderstorms", "snow"];
    let seed = hash(&city.to_lowercase()) >> 32;
    let degrees = i64::try_from(seed % 36).unwrap_or_default() - 10;
    let sky = SKIES.iter().cycle().nth((seed % 6) as usize).copied().unwrap_or("sunny");
    match units {
        Units::Celsius => format!("{city}: {degrees}°C, {sky}"),
        Units::Fahrenheit => format!("{city}: {}°F, {sky}", degrees * 9 / 5 + 32),
    }
}

/// Computes FNV-1a, which gives the same number on every machine, unlike the standard library's
/// hashers.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
