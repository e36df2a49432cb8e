//! Requests for the models of a server, in each API.

use reqwest::Url;
use serde::Deserialize;

use crate::config::ApiDialect;

/// Returns the address of a server's list of models, limited to `most` models if the API supports a limit.
pub(super) fn list_address(dialect: ApiDialect, base: &Url, most: u32) -> String {
    let base = base.as_str().trim_end_matches('/');
    match dialect {
        ApiDialect::AnthropicMessages => {
            format!("{}/v1/models?limit={most}", base.strip_suffix("/v1").unwrap_or(base))
        }
        ApiDialect::OpenAiChat | ApiDialect::OpenAiResponses => format!("{base}/models"),
        ApiDialect::Gemini => format!("{base}/v1beta/models?pageSize={most}"),
        ApiDialect::Ollama => format!("{base}/api/tags"),
    }
}

/// Returns the ids in an answer; an empty list if it is not a list of models.
pub(super) fn model_ids(dialect: ApiDialect, body: &str) -> Vec<String> {
    match dialect {
        ApiDialect::AnthropicMessages | ApiDialect::OpenAiChat | ApiDialect::OpenAiResponses => {
            let list: ModelIdList = serde_json::from_str(body).unwrap_or_default();
            list.data.into_iter().map(|model| model.id).collect()
        }
        ApiDialect::Gemini | ApiDialect::Ollama => {
            let list: ModelNameList = serde_json::from_str(body).unwrap_or_default();
            let names = list.models.into_iter().map(|model| model.name);
            // Requests to Gemini add the prefix `models/` themselves.
            names.map(|name| name.strip_prefix("models/").map(str::to_owned).unwrap_or(name)).collect()
        }
    }
}

#[derive(Default, Deserialize)]
struct ModelIdList {
    data: Vec<ModelIdItem>,
}

#[derive(Deserialize)]
struct ModelIdItem {
    id: String,
}

#[derive(Default, Deserialize)]
struct ModelNameList {
    models: Vec<ModelNameItem>,
}

#[derive(Deserialize)]
struct ModelNameItem {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dialect: ApiDialect, base: &str, expect: &str, body: &str) {
        assert_eq!(list_address(dialect, &base.parse().unwrap(), 9), expect);
        assert_eq!(model_ids(dialect, body), ["a", "b"]);
        assert_eq!(model_ids(dialect, "<html>"), Vec::<String>::new());
    }

    #[test]
    fn builds_list_address_of_each_api() {
        let data = r#"{"object":"list","data":[{"id":"a","x":1},{"id":"b"}],"models":[{"name":"other"}]}"#;
        check(ApiDialect::OpenAiChat, "http://h/v1", "http://h/v1/models", data);
        check(ApiDialect::AnthropicMessages, "http://h", "http://h/v1/models?limit=9", data);
        check(ApiDialect::AnthropicMessages, "http://h/v1", "http://h/v1/models?limit=9", data);
        let names = r#"{"models":[{"name":"models/a"},{"name":"b","model":"b"}]}"#;
        check(ApiDialect::Gemini, "http://h", "http://h/v1beta/models?pageSize=9", names);
        check(ApiDialect::Ollama, "http://h:1", "http://h:1/api/tags", names);
    }
}
