//! The answer to an extension's hello. The common part is encoded once.

use std::sync::Arc;

use haft_packages::Permissions;
use haft_protocol::ext::{ExtensionConfig, HelloAck, HostFrame};
use haft_protocol::{RawJson, codec};
use serde::Serialize;

/// The encoded common part of a `hello_ack`, without the fields of one extension, or the reason why it cannot
/// be encoded.
pub(crate) type CommonHelloAck = Arc<Result<String, String>>;

#[derive(Debug, Clone)]
pub(crate) struct PreparedHelloAck {
    common: CommonHelloAck,
    places: HelloAckFields,
}

/// The fields of a `hello_ack` that differ between extensions. The user's settings may contain a key.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct HelloAckFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) extension_dir: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_dir: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<ExtensionConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) granted: Option<Permissions>,
}

impl PreparedHelloAck {
    pub(crate) fn new(common: CommonHelloAck, places: HelloAckFields) -> Self {
        Self { common, places }
    }

    /// Encodes the common part of a hello. `ack` must not have fields of one extension.
    pub(crate) fn encode_common(ack: HelloAck) -> CommonHelloAck {
        let line = codec::encode(&HostFrame::HelloAck(ack));
        Arc::new(line.map_err(|error| format!("the message cannot be encoded as JSON: {error}")))
    }

    pub(crate) fn line(&self) -> Result<String, String> {
        let common = self.common.as_ref().as_ref().map_err(Clone::clone)?;
        let places = RawJson::from_value(&self.places)
            .map_err(|error| format!("the directories cannot be encoded as JSON: {error}"))?;
        // Both are objects, and the first is not empty: it has a type.
        match (common.strip_suffix("}\n"), places.as_str().strip_prefix('{')) {
            (Some(begin), Some(rest)) if rest != "}" => Ok(format!("{begin},{rest}\n")),
            _ => Ok(common.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_protocol::ext::PROTOCOL_VERSION;

    #[track_caller]
    fn check(
        extension_dir: Option<&str>,
        data_dir: Option<&str>,
        config: Option<&str>,
        sandbox: Option<&str>,
        granted: Option<&str>,
    ) {
        let ack = HelloAck {
            protocol_version: PROTOCOL_VERSION,
            zot_version: "0.1.0".into(),
            haft_version: None,
            provider: "p".into(),
            model: "m".into(),
            cwd: "/work\u{2028}".into(),
            extension_dir: None,
            data_dir: None,
            capabilities: vec!["ping".into()],
            limits: None,
            mode: None,
            config: None,
            sandbox: None,
            granted: None,
        };
        let config = config.and_then(|config| ExtensionConfig::new(RawJson::parse(config).unwrap()));
        let (extension_dir, data_dir) = (extension_dir.map(str::to_owned), data_dir.map(str::to_owned));
        let sandbox = sandbox.map(str::to_owned);
        let places = HelloAckFields {
            extension_dir: extension_dir.clone(),
            data_dir: data_dir.clone(),
            config: config.clone(),
            sandbox: sandbox.clone(),
            granted: granted.map(|granted| serde_json::from_str(granted).unwrap()),
        };
        let line =
            PreparedHelloAck::new(PreparedHelloAck::encode_common(ack.clone()), places).line().unwrap();
        assert!(line.ends_with('\n') && line.lines().count() == 1, "{line:?}");
        let read: HelloAck = serde_json::from_str(&line).unwrap();
        let granted = granted.map(|granted| RawJson::parse(granted).unwrap());
        assert_eq!(read, HelloAck { extension_dir, data_dir, config, sandbox, granted, ..ack });
    }

    #[test]
    fn joined_parts_equal_whole_frame() {
        check(None, None, None, None, None);
        check(None, None, None, None, Some(r#"{"net":"none","exec":"own"}"#));
        check(Some("/ext"), None, None, None, None);
        check(None, None, Some(r#"{"units":{"wind":"kn"},"since":1.50}"#), None, None);
        check(None, Some("/data \"x\"\n\u{2028}"), Some("{}"), Some("strict"), None);
        check(Some("/ext}"), Some("{}"), Some(r#"{"a":"}"}"#), None, None);
    }
}
