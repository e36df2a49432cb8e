//! Events, in both of PicoClaw's forms.

use crate::wire::{Call, HookEventKind, HookEventPayload, LegacyEvent, Method, RuntimeEvent, TurnMeta};
use haft_protocol::RawJson;

/// An event for a hook.
///
/// ```
/// use haft_adapter_picoclaw::author::{Hook, HookEventPayload};
///
/// let hook = Hook::new().on_event(|event| async move {
///     if let Some(HookEventPayload::ToolExecEnd(end)) = event.payload {
///         haft_sdk::log!("{} took {} ms", end.tool, end.duration / 1_000_000);
///     }
/// });
/// # drop(hook);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HookEvent {
    /// The name since PicoClaw 0.2.9, such as `agent.tool.exec_end`, in both forms.
    pub name: String,
    /// The time, RFC 3339.
    pub time: String,
    /// The turn.
    pub meta: TurnMeta,
    /// The payload; `None` for an event that [`HookEventKind`] does not know.
    pub payload: Option<HookEventPayload>,
    /// The raw params.
    pub params: RawJson,
}

impl HookEvent {
    /// Returns the kind; `None` for an unknown event, such as `gateway.ready`.
    pub fn kind(&self) -> Option<HookEventKind> {
        HookEventKind::from_name(&self.name)
    }

    pub(super) fn read(method: Method, params: RawJson) -> Result<Self, String> {
        match Call::read(method, &params)? {
            Call::Event(event) => Ok(Self::from_legacy(event, params)),
            Call::RuntimeEvent(event) => Ok(Self::from_runtime(event, params)),
            Call::Hello(_)
            | Call::BeforeLlm(_)
            | Call::AfterLlm(_)
            | Call::BeforeTool(_)
            | Call::AfterTool(_)
            | Call::ApproveTool(_) => Err("no event".to_owned()),
        }
    }

    fn from_legacy(event: LegacyEvent, params: RawJson) -> Self {
        let kind = event.kind.kind();
        Self {
            name: kind.name().to_owned(),
            time: event.time,
            meta: event.meta,
            payload: read_payload(Some(kind), event.payload),
            params,
        }
    }

    fn from_runtime(event: RuntimeEvent, params: RawJson) -> Self {
        let RuntimeEvent { kind: name, time, scope, correlation, payload, attrs, .. } = event;
        let attrs = attrs.unwrap_or_default();
        let meta = TurnMeta {
            agent_id: scope.agent_id,
            turn_id: scope.turn_id,
            parent_turn_id: correlation.parent_turn_id,
            session_key: scope.session_key,
            iteration: attrs.iteration,
            trace_path: correlation.trace_id,
            source: attrs.agent_source,
        };
        let payload = read_payload(HookEventKind::from_name(&name), payload);
        Self { name, time, meta, payload, params }
    }
}

fn read_payload(kind: Option<HookEventKind>, payload: Option<RawJson>) -> Option<HookEventPayload> {
    HookEventPayload::read(kind?, &payload.unwrap_or_else(RawJson::empty_object)).ok()
}
