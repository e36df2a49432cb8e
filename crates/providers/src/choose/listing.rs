//! The models that a server lists, in each API.

use reqwest::Url;
use serde::Deserialize;

use crate::config::Dialect;

/// Where a server lists its models, at most so many of them where it can be told.
pub(super) fn address(dialect: Dialect, base: &Url, most: u32) -> String {
    let base = base.as_str().trim_end_matches('/');
    match dialect {
        Dialect::AnthropicMessages => {
            format!("{}/v1/models?limit={most}", base.strip_suffix("/v1").unwrap_or(base))
        }
        Dialect::OpenAiChat | Dialect::OpenAiResponses => format!("{base}/models"),
        Dialect::Gemini => format!("{base}/v1beta/models?pageSize={most}"),
        Dialect::Ollama => format!("{base}/api/tags"),
    }
}

/// The ids in an answer; none where it is no list of models.
pub(super) fn ids(dialect: Dialect, body: &str) -> Vec<String> {
    match dialect {
        Dialect::AnthropicMessages | Dialect::OpenAiChat | Dialect::OpenAiResponses => {
            let list: ById = serde_json::from_str(body).unwrap_or_default();
            list.data.into_iter().map(|model| model.id).collect()
        }
        Dialect::Gemini | Dialect::Ollama => {
            let list: ByName = serde_json::from_str(body).unwrap_or_default();
            let names = list.models.into_iter().map(|model| model.name);
            // Gemini's requests put the `models/` before it themselves.
            names.map(|name| name.strip_prefix("models/").map(str::to_owned).unwrap_or(name)).collect()
        }
    }
}

#[derive(Default, Deserialize)]
struct ById {
    data: Vec<Id>,
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

#[derive(Default, Deserialize)]
struct ByName {
    models: Vec<Name>,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, base: &str, expect: &str, body: &str) {
        assert_eq!(address(dialect, &base.parse().unwrap(), 9), expect);
        assert_eq!(ids(dialect, body), ["a", "b"]);
        assert_eq!(ids(dialect, "<html>"), Vec::<String>::new());
    }

    #[test]
    fn each_api_lists_in_its_way() {
        let data = r#"{"object":"list","data":[{"id":"a","x":1},{"id":"b"}],"models":[{"name":"other"}]}"#;
        check(Dialect::OpenAiChat, "http://h/v1", "http://h/v1/models", data);
        check(Dialect::AnthropicMessages, "http://h", "http://h/v1/models?limit=9", data);
        check(Dialect::AnthropicMessages, "http://h/v1", "http://h/v1/models?limit=9", data);
        let names = r#"{"models":[{"name":"models/a"},{"name":"b","model":"b"}]}"#;
        check(Dialect::Gemini, "http://h", "http://h/v1beta/models?pageSize=9", names);
        check(Dialect::Ollama, "http://h:1", "http://h:1/api/tags", names);
    }
}
