//! The providers that haft knows by name.

use crate::config::ApiDialect;

/// One provider: its address, its API, and the location of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderPreset {
    /// The value of `--provider`.
    pub name: &'static str,
    /// The API.
    pub dialect: ApiDialect,
    /// The API's address; [`None`] requires `--base-url`.
    pub base_url: Option<&'static str>,
    /// The environment variable of the key.
    pub key_env: Option<&'static str>,
    /// The environment variable that overrides the address.
    pub base_url_env: Option<&'static str>,
    /// The default model.
    pub default_model: Option<&'static str>,
    /// The default port of a server on this machine; such a server needs no key.
    pub local_port: Option<u16>,
    pub(crate) catalog: Option<&'static str>,
}

impl ProviderPreset {
    const fn hosted(
        name: &'static str,
        dialect: ApiDialect,
        base_url: &'static str,
        key: &'static str,
    ) -> Self {
        Self {
            name,
            dialect,
            base_url: Some(base_url),
            key_env: Some(key),
            base_url_env: None,
            default_model: None,
            local_port: None,
            catalog: Some(name),
        }
    }

    const fn local(name: &'static str, base_url: &'static str, port: u16, key: &'static str) -> Self {
        Self {
            local_port: Some(port),
            catalog: None,
            ..Self::hosted(name, ApiDialect::OpenAiChat, base_url, key)
        }
    }
}

/// All presets, in the order in which environment keys and local servers are tried.
pub const PRESETS: &[ProviderPreset] = &[
    ProviderPreset {
        base_url_env: Some("ANTHROPIC_BASE_URL"),
        default_model: Some("claude-sonnet-5-5"),
        ..ProviderPreset::hosted(
            "anthropic",
            ApiDialect::AnthropicMessages,
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
        )
    },
    ProviderPreset {
        base_url_env: Some("OPENAI_BASE_URL"),
        default_model: Some("gpt-5.6"),
        ..ProviderPreset::hosted(
            "openai",
            ApiDialect::OpenAiResponses,
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
        )
    },
    ProviderPreset {
        base_url_env: Some("OPENAI_BASE_URL"),
        default_model: Some("gpt-5.6"),
        catalog: Some("openai"),
        ..ProviderPreset::hosted(
            "openai-chat",
            ApiDialect::OpenAiChat,
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
        )
    },
    ProviderPreset {
        base_url_env: Some("GEMINI_BASE_URL"),
        default_model: Some("gemini-3.8-flash"),
        ..ProviderPreset::hosted(
            "gemini",
            ApiDialect::Gemini,
            "https://generativelanguage.googleapis.com",
            "GEMINI_API_KEY",
        )
    },
    ProviderPreset::hosted(
        "openrouter",
        ApiDialect::OpenAiChat,
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
    ),
    ProviderPreset::hosted(
        "deepseek",
        ApiDialect::OpenAiChat,
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
    ),
    ProviderPreset::hosted("groq", ApiDialect::OpenAiChat, "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    ProviderPreset::hosted("mistral", ApiDialect::OpenAiChat, "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    ProviderPreset {
        dialect: ApiDialect::Ollama,
        base_url_env: Some("OLLAMA_BASE_URL"),
        ..ProviderPreset::local("ollama", "http://127.0.0.1:11434", 11434, "OLLAMA_API_KEY")
    },
    ProviderPreset::local("llama.cpp", "http://127.0.0.1:8080/v1", 8080, "LLAMA_API_KEY"),
    ProviderPreset::local("vllm", "http://127.0.0.1:8000/v1", 8000, "VLLM_API_KEY"),
    ProviderPreset::local("lmstudio", "http://127.0.0.1:1234/v1", 1234, "LM_API_TOKEN"),
    ProviderPreset {
        name: "compatible",
        dialect: ApiDialect::OpenAiChat,
        base_url: None,
        key_env: Some("HAFT_API_KEY"),
        base_url_env: None,
        default_model: None,
        local_port: None,
        catalog: None,
    },
];

/// Returns the preset of this name.
pub fn find_preset(name: &str) -> Option<&'static ProviderPreset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::find_model;

    #[test]
    fn default_models_are_in_the_catalog_and_not_deprecated() {
        for preset in PRESETS {
            let Some(model) = preset.default_model else { continue };
            let known =
                find_model(preset.name, model).unwrap_or_else(|| panic!("{model} is not in the catalog"));
            assert!(!known.deprecated, "{model} is deprecated");
        }
    }

    #[test]
    fn names_are_unique_and_ports_match_addresses() {
        for (index, preset) in PRESETS.iter().enumerate() {
            assert!(PRESETS.iter().skip(index + 1).all(|other| other.name != preset.name));
            if let (Some(port), Some(url)) = (preset.local_port, preset.base_url) {
                assert!(format!("{url}/").contains(&format!("127.0.0.1:{port}/")), "{url}");
            }
        }
    }
}
