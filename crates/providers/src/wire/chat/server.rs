//! Differences between the servers that offer Chat Completions, and between their models.

use super::super::ThinkingOption;

/// A server, by the name of its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChatServer {
    name: &'static str,
    /// True if `stream_options` asks for the usage. Other servers send it anyway, and some reject the option.
    pub(super) usage_option: bool,
    /// True if the result of a tool can have images.
    pub(super) result_images: bool,
    thinking: ThinkingStyle,
}

/// The fields of a request that control thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingStyle {
    /// `reasoning_effort`, with `none` to turn thinking off; all levels if the list is empty.
    Effort(&'static [&'static str]),
    /// `reasoning_effort`; thinking cannot be turned off.
    OnlyEffort(&'static [&'static str]),
    /// `reasoning: {"effort": …}` or `{"max_tokens": …}`.
    Reasoning,
    /// `thinking: {"type": …}`, and `reasoning_effort` with one of these levels.
    Toggle(&'static [&'static str]),
    /// `reasoning: {"enabled": …}`, and `reasoning_effort` with one of these levels.
    Enabled(&'static [&'static str]),
}

const ALL: &[&str] = &[];
const THREE: &[&str] = &["low", "high", "max"];

/// A server with OpenAI's fields, for rows of the table and for unknown servers.
const COMPATIBLE: ChatServer =
    ChatServer { name: "", usage_option: true, result_images: false, thinking: ThinkingStyle::Effort(ALL) };

const SERVERS: &[ChatServer] = &[
    ChatServer { name: "openai", ..COMPATIBLE },
    ChatServer { name: "openai-chat", ..COMPATIBLE },
    ChatServer { name: "openrouter", usage_option: false, thinking: ThinkingStyle::Reasoning, ..COMPATIBLE },
    ChatServer { name: "deepseek", thinking: ThinkingStyle::Toggle(THREE), ..COMPATIBLE },
    ChatServer { name: "groq", ..COMPATIBLE },
    ChatServer { name: "mistral", usage_option: false, ..COMPATIBLE },
    ChatServer { name: "ollama", ..COMPATIBLE },
    ChatServer { name: "llama.cpp", result_images: true, ..COMPATIBLE },
    ChatServer { name: "llamacpp", result_images: true, ..COMPATIBLE },
    ChatServer {
        name: "xai",
        thinking: ThinkingStyle::OnlyEffort(&["low", "medium", "high", "xhigh"]),
        ..COMPATIBLE
    },
    ChatServer {
        name: "together",
        thinking: ThinkingStyle::Enabled(&["low", "medium", "high"]),
        ..COMPATIBLE
    },
    ChatServer { name: "moonshot", thinking: ThinkingStyle::Toggle(THREE), ..COMPATIBLE },
    ChatServer { name: "zai", thinking: ThinkingStyle::Toggle(THREE), ..COMPATIBLE },
    ChatServer { name: "xiaomimimo", thinking: ThinkingStyle::Toggle(&["none"]), ..COMPATIBLE },
    ChatServer { name: "venice", ..COMPATIBLE },
    ChatServer { name: "cohere", thinking: ThinkingStyle::Effort(&["high"]), ..COMPATIBLE },
];

impl ChatServer {
    /// Returns the server of a provider; one with OpenAI's fields if it is unknown.
    pub(super) fn by_provider(provider: &str) -> Self {
        SERVERS.iter().find(|server| server.name == provider).copied().unwrap_or(COMPATIBLE)
    }

    /// True if the server is in the table. An unknown one may reject thinking options.
    pub(super) fn is_known(&self) -> bool {
        *self != COMPATIBLE
    }

    /// True if the server takes the schema of an answer. Local servers cannot follow it and call tools.
    pub(super) fn takes_schemas(&self, has_tools: bool) -> bool {
        match self.name {
            "openai" | "openai-chat" => true,
            "ollama" | "llama.cpp" | "llamacpp" => !has_tools,
            _ => false,
        }
    }

    pub(super) fn is_openai(&self) -> bool {
        matches!(self.name, "openai" | "openai-chat")
    }

    /// Returns the fields that control thinking; none if the model does not have the option.
    pub(super) fn thinking_fields(&self, option: ThinkingOption, model: &str) -> ThinkingFields {
        let fields = ThinkingFields::default();
        let effort = |levels: &[&str]| match option {
            ThinkingOption::Effort(level) if levels.is_empty() || levels.contains(&level) => Some(level),
            ThinkingOption::Effort(_) | ThinkingOption::Off | ThinkingOption::Budget(_) => None,
        };
        let off = option == ThinkingOption::Off && !self.always_thinks(model);
        match self.thinking {
            ThinkingStyle::Effort(levels) => {
                ThinkingFields { reasoning_effort: effort(levels).or(off.then_some("none")), ..fields }
            }
            ThinkingStyle::OnlyEffort(levels) => {
                ThinkingFields { reasoning_effort: effort(levels), ..fields }
            }
            ThinkingStyle::Reasoning => {
                ThinkingFields { reasoning: openrouter_reasoning(option, model), ..fields }
            }
            ThinkingStyle::Toggle(levels) => {
                let level = effort(levels).filter(|_| self.takes_levels(model));
                let kind = off
                    .then_some("disabled")
                    .or(level.filter(|_| self.name != "moonshot").map(|_| "enabled"));
                ThinkingFields {
                    reasoning_effort: level,
                    thinking: kind.map(|kind| ThinkingSwitch { kind }),
                    ..fields
                }
            }
            ThinkingStyle::Enabled(levels) => {
                let level = effort(levels);
                let enabled = off.then_some(false).or(level.map(|_| true));
                let reasoning = enabled.map(|enabled| ReasoningOptions {
                    enabled: Some(enabled),
                    ..ReasoningOptions::default()
                });
                ThinkingFields { reasoning_effort: level, reasoning, ..fields }
            }
        }
    }

    /// True for a model whose thinking cannot be turned off, by its name. The catalog knows this of its own models.
    fn always_thinks(&self, model: &str) -> bool {
        match self.name {
            "openai" | "openai-chat" => openai_always_thinks(model),
            "groq" => model.contains("gpt-oss"),
            "moonshot" => !model.contains("kimi-k2.6"),
            _ => false,
        }
    }

    /// True for a model that has levels of thinking, by its name.
    fn takes_levels(&self, model: &str) -> bool {
        match self.name {
            "zai" => !model.starts_with("glm-4"),
            "moonshot" => model.contains("kimi-k3"),
            _ => true,
        }
    }

    /// True if a model that the catalog does not know reads images, by its name.
    pub(super) fn reads_images(&self, model: &str) -> bool {
        match (self.name, model.split_once('/')) {
            ("openrouter", Some((vendor, model))) => vendor_reads_images(vendor, model),
            ("openrouter", None) => true,
            (name, _) => vendor_reads_images(name, model),
        }
    }

    /// True if the server rejects images for every model.
    pub(super) fn only_text(&self) -> bool {
        self.name == "deepseek"
    }
}

/// The fields of a request that control thinking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ThinkingFields {
    pub(super) reasoning_effort: Option<&'static str>,
    pub(super) thinking: Option<ThinkingSwitch>,
    pub(super) reasoning: Option<ReasoningOptions>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(super) struct ThinkingSwitch {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct ReasoningOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
}

fn openrouter_reasoning(option: ThinkingOption, model: &str) -> Option<ReasoningOptions> {
    // These models have levels and no budgets.
    let no_budget = model.starts_with("openai/") || model.starts_with("x-ai/");
    match option {
        ThinkingOption::Off => Some(ReasoningOptions { effort: Some("none"), ..ReasoningOptions::default() }),
        ThinkingOption::Effort(effort) => {
            Some(ReasoningOptions { effort: Some(effort), ..ReasoningOptions::default() })
        }
        ThinkingOption::Budget(_) if no_budget => None,
        ThinkingOption::Budget(tokens) => {
            Some(ReasoningOptions { max_tokens: Some(tokens), ..ReasoningOptions::default() })
        }
    }
}

fn vendor_reads_images(vendor: &str, model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
    match vendor {
        "deepseek" => false,
        "groq" => model.contains("llama-4"),
        "mistral" | "mistralai" => !begins(&["codestral", "devstral"]),
        "openai" | "openai-chat" => {
            const TEXT: [&str; 9] = [
                "gpt-3.5",
                "gpt-4-32k",
                "gpt-4-0125-preview",
                "gpt-4-1106-preview",
                "gpt-4-turbo-preview",
                "o1-mini",
                "o1-preview",
                "o3-mini",
                "gpt-5.3-codex-spark",
            ];
            !begins(&TEXT) && !["gpt-4", "gpt-4-0613", "gpt-4-0314"].contains(&model.as_str())
        }
        "xai" | "x-ai" => {
            !begins(&["grok-3", "grok-code"]) && (!begins(&["grok-2"]) || model.contains("vision"))
        }
        "cohere" => model.contains("vision"),
        "zai" | "z-ai" => model.strip_prefix("glm-").is_some_and(|rest| {
            rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').starts_with('v')
        }),
        "moonshot" | "moonshotai" => {
            model != "kimi-k2"
                && !begins(&["kimi-k2-"])
                && (!begins(&["moonshot-v1"]) || model.contains("vision"))
        }
        "minimax" => !begins(&["minimax-m2"]),
        "xiaomimimo" | "xiaomi" => {
            !begins(&["mimo-v2.5-pro"]) && (!begins(&["mimo-v2-"]) || model.contains("omni"))
        }
        _ => true,
    }
}

/// Returns true for a model of OpenAI that thinks, by its name; `None` for the name of a deployment or of a fine-tuned
/// model.
pub(super) fn openai_thinks(model: &str) -> Option<bool> {
    let name = model.rsplit('/').next().unwrap_or(model);
    if is_o_series(name) {
        return Some(true);
    }
    let version = name.strip_prefix("gpt-")?;
    let major = version.split(|c: char| !c.is_ascii_digit()).next()?;
    // `gpt-35-turbo` is a name of GPT-3.5.
    major.parse().ok().map(|generation: u32| major.len() == 1 && generation >= 5)
}

fn openai_always_thinks(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    is_o_series(name)
        || name.ends_with("-pro")
        || name.contains("-pro-")
        || name == "gpt-5"
        || name.starts_with("gpt-5-")
}

/// True for `o3`, `o4-mini` and the like.
fn is_o_series(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next() == Some('o')
        && chars.next().is_some_and(|digit| digit.is_ascii_digit())
        && chars.next().is_none_or(|next| next == '-' || next.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(provider: &str, model: &str, option: ThinkingOption, expect: &str) {
        let ThinkingFields { reasoning_effort, thinking, reasoning } =
            ChatServer::by_provider(provider).thinking_fields(option, model);
        let fields = [
            reasoning_effort.map(str::to_owned),
            thinking.map(|thinking| serde_json::to_string(&thinking).unwrap()),
            reasoning.map(|reasoning| serde_json::to_string(&reasoning).unwrap()),
        ];
        let said: Vec<String> = fields.into_iter().flatten().collect();
        assert_eq!(said.join(" "), expect, "{provider} {model} {option:?}");
    }

    #[test]
    fn thinking_takes_each_servers_form() {
        use ThinkingOption::{Budget, Effort, Off};
        check("openai-chat", "gpt-5.6", Effort("max"), "max");
        check("openai-chat", "gpt-5.6", Off, "none");
        check("openai-chat", "o3", Off, "");
        check("openai-chat", "gpt-5.6", Budget(1), "");
        check("mistral", "mistral-medium", Effort("high"), "high");
        check("groq", "qwen3", Off, "none");
        check("groq", "openai/gpt-oss-20b", Off, "");
        check("llama.cpp", "qwen3", Off, "none");
        check("ollama", "qwen3", Effort("low"), "low");
        check("vllm", "qwen3", Effort("minimal"), "minimal");
        check("openrouter", "a/b", Off, r#"{"effort":"none"}"#);
        check("openrouter", "a/b", Effort("high"), r#"{"effort":"high"}"#);
        check("openrouter", "a/b", Budget(1_024), r#"{"max_tokens":1024}"#);
        check("openrouter", "openai/o3", Budget(1_024), "");
        check("deepseek", "deepseek-chat", Off, r#"{"type":"disabled"}"#);
        check("deepseek", "deepseek-chat", Effort("high"), r#"high {"type":"enabled"}"#);
        check("deepseek", "deepseek-chat", Effort("medium"), "");
        check("zai", "glm-5", Effort("max"), r#"max {"type":"enabled"}"#);
        check("zai", "glm-4.6", Effort("max"), "");
        check("moonshot", "kimi-k3", Effort("low"), "low");
        check("moonshot", "kimi-k3", Off, "");
        check("moonshot", "kimi-k2.6", Off, r#"{"type":"disabled"}"#);
        check("xiaomimimo", "mimo-v2.5", Off, r#"{"type":"disabled"}"#);
        check("xiaomimimo", "mimo-v2.5", Effort("high"), "");
        check("together", "qwen3", Off, r#"{"enabled":false}"#);
        check("together", "qwen3", Effort("low"), r#"low {"enabled":true}"#);
        check("xai", "grok-4", Effort("minimal"), "");
        check("xai", "grok-4", Off, "");
        check("cohere", "command-a", Effort("high"), "high");
    }

    #[test]
    fn knows_models_that_read_images() {
        for (provider, model, expect) in [
            ("openai-chat", "gpt-4", false),
            ("openai-chat", "gpt-4-turbo", true),
            ("groq", "meta-llama/llama-4-scout", true),
            ("groq", "qwen/qwen3-32b", false),
            ("mistral", "devstral-small", false),
            ("mistral", "mistral-medium", true),
            ("openrouter", "z-ai/glm-4.6", false),
            ("openrouter", "z-ai/glm-4.5v", true),
            ("openrouter", "xiaomi/mimo-v2-flash", false),
            ("openrouter", "moonshotai/kimi-k2-0905", false),
            ("openrouter", "minimax/minimax-m2", false),
            ("openrouter", "deepseek/deepseek-chat-v3.1", false),
            ("vllm", "any", true),
        ] {
            assert_eq!(ChatServer::by_provider(provider).reads_images(model), expect, "{provider} {model}");
        }
    }

    #[test]
    fn knows_models_of_openai_that_think() {
        for (model, expect) in [
            ("gpt-5", Some(true)),
            ("gpt-6-sol", Some(true)),
            ("o4-mini", Some(true)),
            ("gpt-4.1", Some(false)),
            ("gpt-35-turbo", Some(false)),
            ("ollama", None),
            ("my-deployment", None),
        ] {
            assert_eq!(openai_thinks(model), expect, "{model}");
        }
    }
}
