//! A model that carries its provider: `provider/model`.

use super::Layer;

/// Takes a model's name apart, given the provider that is named beside it: its provider and its id there. Nothing where
/// the name begins with no provider, and where that is another one than the one beside it, whose models may have such
/// names.
pub type TakeApart<'a> = &'a dyn Fn(&str, Option<&str>) -> Option<(String, String)>;

/// Has every layer whose model carries its provider name that provider, so that it is stronger than one which a weaker
/// layer names, and that one's address is not its own.
pub(super) fn take_apart(layers: &mut [Layer], apart: TakeApart<'_>) {
    // An address without a provider is that of a server which is asked for any model, whatever it is called.
    let server =
        layers.iter().any(|layer| layer.values.base_url.is_some() && layer.values.provider.is_none());
    for layer in layers {
        let values = &layer.values;
        if server && values.provider.is_none() {
            continue;
        }
        let named = values.model.as_deref().and_then(|model| apart(model, values.provider.as_deref()));
        let Some((provider, model)) = named else { continue };
        if values.provider.is_none() {
            layer.origins.insert("provider", layer.origin("model"));
        }
        (layer.values.provider, layer.values.model) = (Some(provider), Some(model));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::super::tests::{check_apart, in_file, layer};

    #[test]
    fn a_models_own_provider_beats_a_weaker_ones_and_its_address() {
        let file = || layer(in_file(), Some("lab"), Some("big"), Some("http://lab"));
        let flags = |model| layer(Place::Flags, None, Some(model), None);
        check_apart(vec![flags("dn/x"), file()], ["dn (--model)", "x (--model)", "-"]);
        let lab = ["lab (--model)", "tiny (--model)", "http://lab (config.toml:3)"];
        check_apart(vec![flags("lab/tiny"), file()], lab);
        check_apart(vec![flags("x/y"), file()], ["lab (config.toml:1)", "x/y (--model)", lab[2]]);
        let variables = layer(Place::Env, None, Some("dn/x"), None);
        check_apart(
            vec![layer(Place::Flags, None, None, None), variables, file()],
            ["dn (HAFT_MODEL)", "x (HAFT_MODEL)", "-"],
        );
        let in_file = layer(in_file(), None, Some("dn/x"), None);
        check_apart(vec![in_file.clone()], ["dn (config.toml:2)", "x (config.toml:2)", "-"]);
        check_apart(
            vec![layer(Place::Flags, Some("lab"), None, None), in_file],
            ["lab (--provider)", "-", "-"],
        );
    }

    #[test]
    fn beside_a_provider_only_its_own_name_is_taken_off() {
        let beside = |provider, model, url| layer(Place::Flags, Some(provider), Some(model), Some(url));
        check_apart(
            vec![beside("lab", "lab/tiny", "u")],
            ["lab (--provider)", "tiny (--model)", "u (--base-url)"],
        );
        check_apart(
            vec![beside("lab", "dn/x", "u")],
            ["lab (--provider)", "dn/x (--model)", "u (--base-url)"],
        );
        let variables = layer(Place::Env, None, Some("lab/tiny"), None);
        check_apart(
            vec![layer(Place::Flags, Some("lab"), None, None), variables],
            ["lab (--provider)", "tiny (HAFT_MODEL)", "-"],
        );
    }

    #[test]
    fn a_server_without_a_name_is_asked_for_any_model() {
        let flags = layer(Place::Flags, None, Some("dn/x"), None);
        let variables = layer(Place::Env, None, None, Some("http://vllm"));
        let all = ["-", "dn/x (--model)", "http://vllm (HAFT_BASE_URL)"];
        check_apart(vec![flags.clone(), variables.clone()], all);
        let file = layer(in_file(), Some("lab"), None, None);
        check_apart(vec![flags, variables, file], ["lab (config.toml:1)", all[1], all[2]]);
    }
}
